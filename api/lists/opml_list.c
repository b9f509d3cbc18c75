/* api/lists/opml_list.c - see opml_list.h. The lists are found by URL and credential, under one
 * lock.
 *
 * Life of a list: it is requested -> ports.get_document -> its bytes are copied (any thread) -> it
 * is parsed on the list thread -> the lists that it includes are fetched and parsed (list_tree.h)
 * -> it is kept, and each waiting request gets a copy of its URLs. */
#include "api/lists/opml_list.h"

#include "api/http/first_fetches.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "api/lists/list_thread.h"
#include "api/lists/list_tree.h"
#include "base/blob.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

#define LISTS_MAX 256   /* kept at most; then the oldest is dropped */
#define MARGIN_MS 60000 /* time for what follows, after fetch_wait_ms */
/* While a copy is kept, a publisher that failed is not asked again within this time */
#define RETRY_MS 10000

struct parsed_list { /* a parsed list; immutable, with a count of holders */
    atomic_int holders;
    struct arena arena;
    struct feed_list list;
};

struct list_waiter {
    struct ticket ticket;
    opml_list_fn *done;
    void *ctx;
    struct list_waiter *next;
    struct parsed_list *parsed; /* the result; NULL: it failed, and the next members say why */
    enum rc rc;
    int status;
    int64_t rest_s;
    bool not_opml;
    char *text;
};

struct cached_list {
    struct parsed_list *parsed; /* NULL: none yet */
    int64_t asked_ms;           /* monotonic, like the next */
    int64_t good_until_ms;
    bool fetching;
    struct list_waiter *waiters;
};

struct opml_lists {
    pthread_mutex_t lock; /* guards all slots */
    struct map slots;
};

/* A fetch that is under way. */
struct list_fetch {
    struct api *api;
    const struct api_cfg *cfg; /* of the request that has an unknown list fetched; else NULL */
    struct caller caller;
    int64_t ttl_ms;
    struct arena arena;
    struct str key, text, content_type;
    enum rc rc;
    int status;
    int64_t rest_s;
    bool not_opml;
    struct blob *body;
    struct wanted_url url;
    struct str base; /* its URL after redirects */
    struct list_tree *tree;
};

static struct parsed_list *parsed_ref(struct parsed_list *k)
{
    atomic_fetch_add(&k->holders, 1);
    return k;
}

static void parsed_unref(struct parsed_list **kp)
{
    if (*kp != NULL && atomic_fetch_sub(&(*kp)->holders, 1) == 1) {
        arena_release(&(*kp)->arena);
        mem_free(*kp);
    }
    *kp = NULL;
}

struct opml_lists *opml_lists_new(void)
{
    struct opml_lists *l = NEW(struct opml_lists);

    pthread_mutex_init(&l->lock, NULL);
    return l;
}

static void slot_free(void *value)
{
    struct cached_list *s = value;

    parsed_unref(&s->parsed);
    mem_free(s);
}

void opml_lists_free(struct opml_lists **lp)
{
    if (*lp == NULL)
        return;
    map_release(&(*lp)->slots, slot_free);
    pthread_mutex_destroy(&(*lp)->lock);
    mem_free(*lp);
    *lp = NULL;
}

/* Take the feeds of a list and of the lists that it includes. */
static void take_feeds(struct arena *a, const struct list_tree *tree,
                       const struct list_contents *in, struct feed_list *out)
{
    AUTO(map_forget) struct map seen = MAP_INIT;

    *out = (struct feed_list){.title = list_tree_root(tree)->opml.title,
                              .urls = ARENA_ARRAY(a, struct wanted_url, in->n_feeds + 1)};
    for (size_t i = 0; i < in->n_feeds; i++) {
        struct wanted_url *u = &out->urls[out->n];
        struct str key;
        struct problem p;

        if (!wanted_url_read(a, "xmlUrl", in->feeds[i].feed->xml_url, u, &p))
            continue; /* ftp: or not a URL; the other feeds of the list are used */
        key = str_printf(a, "%.*s %.*s", STR_ARG(u->url), STR_ARG(u->credential));
        if (map_put(&seen, key, u) == NULL)
            out->n++;
    }
}

static void copy_list(struct arena *a, const struct feed_list *from, struct feed_list *to)
{
    to->title = str_dup(a, from->title);
    to->urls = ARENA_ARRAY(a, struct wanted_url, from->n + 1);
    to->n = from->n;
    for (size_t i = 0; i < from->n; i++)
        to->urls[i] = (struct wanted_url){.url = str_dup(a, from->urls[i].url),
                                          .credential = str_dup(a, from->urls[i].credential),
                                          .shown = str_dup(a, from->urls[i].shown)};
}

/* ---- back on the loop ---- */

/* Give the request its own copy of the list. */
static void answer(struct request *req, const struct parsed_list *parsed, opml_list_fn *done,
                   void *ctx)
{
    struct feed_list list;

    copy_list(req->ask.arena, &parsed->list, &list);
    done(req, &list, NULL, ctx);
}

static void on_answered(struct request *req, void *work)
{
    struct list_waiter *w = work;

    if (req != NULL)
        req->on_gone = NULL;
    if (req != NULL && w->parsed != NULL) {
        answer(req, w->parsed, w->done, w->ctx);
    } else if (req != NULL) {
        struct list_failure failure = {.rc = w->rc,
                                       .status = w->status,
                                       .rest_s = w->rest_s,
                                       .text = str_dup(req->ask.arena, str_from(w->text)),
                                       .not_opml = w->not_opml};

        w->done(req, NULL, &failure, w->ctx);
    }
    parsed_unref(&w->parsed);
    mem_free(w->text);
    mem_free(w);
}

/* ---- the fetch, on other threads ---- */

/* Tell all waiting requests. `kept` is given; NULL: there is no list. */
static void settle(struct list_fetch *f, struct parsed_list *parsed)
{
    struct opml_lists *lists = f->api->lists;
    int64_t now = clock_mono_ms();
    struct list_waiter *w;
    struct cached_list *slot;

    pthread_mutex_lock(&lists->lock);
    /* it is there, because a slot with a fetch is not dropped */
    slot = map_get(&lists->slots, f->key);
    slot->fetching = false;
    if (parsed != NULL) {
        parsed_unref(&slot->parsed);
        slot->parsed = parsed_ref(parsed);
        slot->good_until_ms = now + f->ttl_ms;
    } else if (slot->parsed != NULL) {
        parsed = parsed_ref(slot->parsed);
        slot->good_until_ms = now + RETRY_MS;
    }
    w = slot->waiters;
    slot->waiters = NULL;
    pthread_mutex_unlock(&lists->lock);
    while (w != NULL) {
        struct list_waiter *next = w->next;

        if (parsed != NULL)
            w->parsed = parsed_ref(parsed);
        w->rc = f->rc;
        w->status = f->status;
        w->rest_s = f->rest_s;
        w->not_opml = f->not_opml;
        w->text = mem_strndup(f->text.len > 0 ? f->text.ptr : "", f->text.len);
        ticket_post(&w->ticket, on_answered, w);
        w = next;
    }
    parsed_unref(&parsed);
    list_tree_free(&f->tree);
    blob_unref(&f->body);
    arena_release(&f->arena);
    mem_free(f);
}

/* Any thread. The documents are dropped, and only the feeds that they name are kept. */
static void on_followed(void *ctx)
{
    struct list_fetch *f = ctx;
    struct parsed_list *parsed = NEW(struct parsed_list);
    struct list_contents all = list_tree_contents(&f->arena, f->tree);
    struct feed_list list;

    if (all.n_failures > 0)
        log_warn("api", "list_left_out", "list=%s why=%s", log_quote(all.failures[0]->url.shown),
                 log_quote(all.failures[0]->why));
    take_feeds(&f->arena, f->tree, &all, &list);
    atomic_init(&parsed->holders, 1);
    copy_list(&parsed->arena, &list, &parsed->list);
    settle(f, parsed);
}

/* The list thread. */
static void on_list_thread(void *ctx)
{
    struct list_fetch *f = ctx;
    struct err err = ERR_INIT;

    f->tree = list_tree_new();
    if (f->cfg != NULL)
        list_tree_charge(f->tree, f->api, f->cfg, &f->caller);
    f->rc = list_tree_read(f->tree, &f->url, f->base, blob_bytes(f->body), f->content_type, &err);
    blob_unref(&f->body);
    if (f->rc != RC_OK) {
        f->not_opml = true;
        f->text = str_dup(&f->arena, str_from(err.text));
        settle(f, NULL);
    } else if (list_tree_follow(f->tree, f->api, on_followed, f)) {
        on_followed(f);
    }
}

/* Any thread. */
static void on_document(void *ctx, const struct document_result *res)
{
    struct list_fetch *f = ctx;
    enum rc rc;

    f->rc = res->rc;
    f->status = res->status;
    f->rest_s = res->rest_s;
    f->text = str_dup(&f->arena, res->text);
    if (f->rc == RC_OK && f->status >= 300) {
        f->rc = RC_PEER;
        f->text = str_printf(&f->arena, "the publisher answered %d", f->status);
    }
    if (f->rc == RC_OK) {
        f->content_type = str_dup(&f->arena, res->content_type);
        f->base = str_is_null(res->url) ? STR_NULL : str_dup(&f->arena, res->url);
        f->body = blob_copy(res->body);
        rc = list_thread_run(f->api->list_thread, on_list_thread, f);
        if (rc == RC_OK)
            return; /* it belongs to the list thread, and may be freed already */
        f->rc = rc;
    }
    settle(f, NULL);
}

/* ---- the request's loop ---- */

/* Make room for one more slot. */
static void evict_locked(struct opml_lists *lists)
{
    struct cached_list *oldest = NULL;
    struct str oldest_key = STR_NULL, key;
    void *it = NULL, *value;

    if (map_count(&lists->slots) < LISTS_MAX)
        return;
    while (map_next(&lists->slots, &it, &key, &value)) {
        struct cached_list *s = value;

        if (!s->fetching && (oldest == NULL || s->asked_ms < oldest->asked_ms)) {
            oldest = s;
            oldest_key = key;
        }
    }
    if (oldest != NULL) {
        map_del(&lists->slots, oldest_key);
        slot_free(oldest);
    }
}

static struct list_waiter *waiter_new(struct request *req, opml_list_fn *done, void *ctx)
{
    struct list_waiter *w = NEW(struct list_waiter);

    w->ticket = ticket_take(req, req->ask.cfg->fetch_wait_ms + MARGIN_MS);
    req->on_gone = request_leave_nothing;
    w->done = done;
    w->ctx = ctx;
    return w;
}

static void start_fetch(struct request *req, struct str key, const struct wanted_url *url,
                        bool is_unknown)
{
    struct list_fetch *f = NEW(struct list_fetch);

    f->api = req->ask.api;
    f->cfg = is_unknown ? req->ask.cfg : NULL;
    f->caller = req->ask.caller;
    f->caller.source = str_dup(&f->arena, req->ask.caller.source);
    f->ttl_ms = req->ask.cfg->list_ttl_s * 1000;
    f->key = str_dup(&f->arena, key);
    f->url = (struct wanted_url){str_dup(&f->arena, url->url),
                                 str_is_null(url->credential) ? STR_NULL
                                                              : str_dup(&f->arena, url->credential),
                                 str_dup(&f->arena, url->shown)};
    req->ask.api->ports.get_document(req->ask.api->ports.ctx, url->url, url->credential,
                                     on_document, f);
}

/* Is there a copy that may still be used? */
static bool is_good(struct opml_lists *lists, struct str key, int64_t now)
{
    struct cached_list *slot;
    bool is;

    pthread_mutex_lock(&lists->lock);
    slot = map_get(&lists->slots, key);
    is = slot != NULL && slot->parsed != NULL && now < slot->good_until_ms;
    pthread_mutex_unlock(&lists->lock);
    return is;
}

void opml_list_get(struct request *req, const struct wanted_url *url, opml_list_fn *done, void *ctx)
{
    struct opml_lists *lists = req->ask.api->lists;
    struct str key =
        str_printf(req->ask.arena, "%.*s\n%.*s", STR_ARG(url->url), STR_ARG(url->credential));
    int64_t now = clock_mono_ms();
    struct parsed_list *parsed = NULL;
    bool start = false, is_unknown;
    struct cached_list *slot;
    struct problem p;

    if (!is_good(lists, key, now) && request_refuse_at_end(req))
        return;
    pthread_mutex_lock(&lists->lock);
    slot = map_get(&lists->slots, key);
    is_unknown = slot == NULL || (slot->parsed == NULL && !slot->fetching);
    if (is_unknown && !first_fetches_let(req, "list", &p)) {
        pthread_mutex_unlock(&lists->lock); /* an answer may begin the connection's next request */
        reply_problem(req, &p);
        return;
    }
    if (slot == NULL) {
        evict_locked(lists);
        slot = NEW(struct cached_list);
        map_put(&lists->slots, key, slot);
    }
    slot->asked_ms = now;
    if (slot->parsed != NULL && now < slot->good_until_ms) {
        parsed = parsed_ref(slot->parsed);
    } else {
        struct list_waiter *w = waiter_new(req, done, ctx);

        w->next = slot->waiters;
        slot->waiters = w;
        start = !slot->fetching;
        slot->fetching = true;
    }
    pthread_mutex_unlock(&lists->lock);
    if (parsed != NULL) {
        answer(req, parsed, done, ctx);
        parsed_unref(&parsed);
    } else if (start) {
        start_fetch(req, key, url, is_unknown);
    }
}
