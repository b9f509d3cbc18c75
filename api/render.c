/* api/render.c - from a view to bytes: keys, rows, writer, gzip, cache. */
#include "api/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/draw.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"

#define RENDER_MS 60000

struct renders {
    pthread_mutex_t lock; /* guards the map and the waiters of what is in it */
    struct map running;   /* key -> struct render */
};

struct result {
    struct blob *body, *gzip;
    int64_t modified_at;
    bool is_private, is_doubtful, is_empty;
};

struct waiter {
    struct loop *loop;
    uint64_t serial;
    struct call *call;
    struct reply *reply; /* in the call's arena: only the loop looks at it */
    struct waiter *next;
    enum rc rc; /* what came of it, like the next two */
    struct err err;
    struct result result;
};

struct render {
    struct arena arena;
    struct api *api;
    const struct api_cfg *cfg;
    struct str key;
    struct render_spec spec;
    struct waiter *waiters; /* under renders->lock while in the map */
};

struct renders *renders_new(void)
{
    struct renders *r = NEW(struct renders);

    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void renders_free(struct renders **rp)
{
    if (*rp == NULL)
        return;
    map_release(&(*rp)->running, NULL);
    pthread_mutex_destroy(&(*rp)->lock);
    mem_free(*rp);
    *rp = NULL;
}

static void put_place(struct buf *key, const struct place *p)
{
    buf_printf(key, "%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu32 " %.*s %.*s\n", (int)p->kind,
               p->seq, p->from_us, p->offset, p->check, STR_ARG(p->id), STR_ARG(p->text));
}

/* Everything the document depends on. The program's version is part of it: another one may write
 * other bytes. A settled document depends on no version of its feeds: who has its name knows that
 * it will stay. */
static struct str key_of(struct arena *a, struct store *s, const struct render_spec *spec,
                         int64_t version)
{
    AUTO(buf_release) struct buf key = BUF_INIT(BUF_ANY);

    buf_printf(&key, "view\n" FEEDMILL_VERSION "\n%.*s\n%" PRId64 "\n%d %d %zu %zu\n",
               STR_ARG(store_log_id(s)), version, (int)spec->view.format, (int)spec->merged,
               spec->view.len, spec->view.skip);
    buf_printf(&key, "%d %d %" PRId64 " %zu %zu\n", (int)spec->view.form, (int)spec->complete,
               spec->page, spec->page_rows, spec->page_size);
    buf_printf(&key, "%zu %" PRId64 "\n%.*s\n%.*s\n", spec->page_no, spec->view.after_seq,
               STR_ARG(spec->origin), STR_ARG(spec->hub));
    if (spec->view.form == FORM_STREAM) {
        put_place(&key, &spec->since);
        put_place(&key, &spec->until);
        buf_printf(&key, "%.*s\n",
                   STR_ARG(spec->until.given)); /* as the link to the next page has it */
        buf_printf(&key, "%d %.*s\n", (int)spec->view.order, STR_ARG(spec->callback));
    }
    for (size_t i = 0; i < spec->view.n_feeds; i++)
        buf_printf(&key, "%" PRId64 ",", spec->view.feed_ids[i]);
    buf_printf(&key, "\n%.*s\n%.*s\n%.*s", STR_ARG(spec->self), STR_ARG(spec->id),
               STR_ARG(spec->title));
    return str_dup(a, buf_view(&key));
}

/* The tag of a document of newest entries tells what it is, its version, and the newest revision it
 * knows: so a client's tag says from where on it lacks news. */
static struct str tag_of(struct call *c, const struct render_spec *spec, int64_t version)
{
    struct store *s = c->api->store;
    struct str name = reply_etag(c->arena, key_of(c->arena, s, spec, 0));

    return str_printf(c->arena, "%.*s-%" PRIx64 "-%" PRIx64, 16, name.ptr, version,
                      store_seq_of(s, spec->view.feed_ids, spec->view.n_feeds));
}

/* ---- on the reader thread ---- */

/* What a request gets; the holder of references. */
static void result_release(struct result *res)
{
    blob_unref(&res->body);
    blob_unref(&res->gzip);
}

static enum rc render(struct render *job, struct reader *r, struct result *res, struct err *err)
{
    struct buf out = BUF_INIT(DRAW_MAX);
    struct drawn drawn;
    enum rc rc = draw_document(&job->spec, job->cfg, job->api->store, r, &out, &drawn, err);

    if (rc == RC_OK) {
        struct cached_doc doc = {0};
        size_t len;
        char *bytes = buf_detach(&out, &len);

        res->modified_at = drawn.modified_at;
        res->is_private = drawn.is_private;
        res->is_doubtful = drawn.is_doubtful;
        res->is_empty = drawn.is_empty;
        res->body = blob_new(bytes, len);
        res->gzip = reply_gzip(blob_bytes(res->body));
        doc.meta = str_printf(&job->arena, "%" PRId64 " %c%c%c", res->modified_at,
                              res->is_private ? 'p' : '-', res->is_doubtful ? 'd' : '-',
                              res->is_empty ? 'e' : '-');
        doc.body = res->body;
        doc.gzip = res->gzip;
        cache_put(r, job->key, &doc);
    }
    buf_release(&out);
    return rc;
}

/* Take over what the cache gave. */
static void take_cached(struct result *res, struct cached_doc *doc)
{
    struct str rest = doc->meta;

    res->body = blob_ref(doc->body);
    res->gzip = blob_ref(doc->gzip);
    if (!str_to_i64(str_split(&rest, ' '), &res->modified_at))
        res->modified_at = TIME_UNKNOWN;
    res->is_private = str_starts(rest, STR("p"));
    res->is_doubtful = str_chr(rest, 'd') >= 0;
    res->is_empty = str_ends(rest, STR("e"));
    cached_doc_release(doc);
}

/* ---- back on the loop ---- */

static void reply_result(struct call *c, struct reply *r, const struct result *res)
{
    if (res->is_empty && r->on_empty != NULL && r->on_empty(c, r))
        return;
    r->modified_at = res->modified_at;
    r->is_doubtful = res->is_doubtful;
    if (res->is_private && r->private_cache != NULL)
        r->cache = r->private_cache;
    r->body = res->body;
    r->gzip = res->gzip;
    if (r->media_type == NULL)
        r->media_type = feed_format_media_type((enum feed_format)r->format);
    reply_send(c, r);
}

static void on_rendered(void *ctx)
{
    struct waiter *w = ctx;
    struct call *c = call_find(w->loop, w->serial, w->call);

    if (c != NULL && w->rc == RC_OK) {
        reply_result(c, w->reply, &w->result);
    } else if (c != NULL) {
        struct problem p;

        problem_of_err(&p, c->arena, w->rc, &w->err);
        if (w->rc == RC_LIMIT)
            p.status = 422; /* it is the answer that is too large, not the request */
        reply_problem(c, &p);
    }
    result_release(&w->result);
    mem_free(w);
}

static void on_reader(void *ctx, struct reader *r)
{
    struct render *job = ctx;
    struct renders *all = job->api->renders;
    struct result res = {.modified_at = TIME_UNKNOWN};
    struct cached_doc doc = {0};
    struct err err = ERR_INIT;
    enum rc rc = RC_OK;
    struct waiter *w;

    if (cache_get_far(r, job->key, &doc))
        take_cached(&res, &doc);
    else
        rc = render(job, r, &res, &err);
    if (rc != RC_OK && rc != RC_NOT_FOUND && rc != RC_LIMIT)
        log_error("api", "render_failed", "rc=%s error=%s", rc_name(rc),
                  log_quote(str_from(err.text)));
    pthread_mutex_lock(&all->lock);
    map_del(&all->running, job->key);
    w = job->waiters;
    pthread_mutex_unlock(&all->lock);
    while (w != NULL) {
        struct waiter *next = w->next;

        w->rc = rc;
        w->err = err;
        w->result = (struct result){.body = blob_ref(res.body),
                                    .gzip = blob_ref(res.gzip),
                                    .modified_at = res.modified_at,
                                    .is_private = res.is_private,
                                    .is_doubtful = res.is_doubtful,
                                    .is_empty = res.is_empty};
        loop_post(w->loop, on_rendered, w);
        w = next;
    }
    result_release(&res);
    arena_release(&job->arena);
    mem_free(job);
}

/* ---- the call's loop ---- */

static struct render *render_new(struct call *c, struct str key, const struct render_spec *spec)
{
    struct render *job = NEW(struct render);
    struct arena *a = &job->arena;

    job->api = c->api;
    job->cfg = c->cfg;
    job->key = str_dup(a, key);
    job->spec = *spec;
    job->spec.key = job->key;
    job->spec.view.feed_ids = (const int64_t *)(const void *)arena_copy(
        a, spec->view.feed_ids, spec->view.n_feeds * sizeof(*spec->view.feed_ids));
    job->spec.self = str_dup(a, spec->self);
    job->spec.next = str_dup(a, spec->next);
    job->spec.id = str_dup(a, spec->id);
    job->spec.title = str_dup(a, spec->title);
    job->spec.origin = str_dup(a, spec->origin);
    job->spec.hub = str_is_null(spec->hub) ? STR_NULL : str_dup(a, spec->hub);
    job->spec.callback = str_dup(a, spec->callback);
    job->spec.since.id = str_dup(a, spec->since.id);
    job->spec.since.text = str_dup(a, spec->since.text);
    job->spec.until.id = str_dup(a, spec->until.id);
    job->spec.until.text = str_dup(a, spec->until.text);
    job->spec.until.given = str_dup(a, spec->until.given);
    return job;
}

void render_name(struct call *c, struct render_spec *spec)
{
    struct store *s = c->api->store;

    spec->key =
        key_of(c->arena, s, spec,
               spec->is_settled ? 0 : store_version(s, spec->view.feed_ids, spec->view.n_feeds));
}

bool render_unmodified(struct call *c, struct render_spec *spec, struct reply *r)
{
    struct store *s = c->api->store;
    int64_t version =
        spec->is_settled ? 0 : store_version(s, spec->view.feed_ids, spec->view.n_feeds);

    spec->key = key_of(c->arena, s, spec, version);
    r->etag =
        spec->view.form == FORM_NEWEST ? tag_of(c, spec, version) : reply_etag(c->arena, spec->key);
    return reply_unmodified(c, r);
}

int64_t render_base(struct call *c, const struct render_spec *spec)
{
    struct str rest = http_request_field(c->req, "if-none-match");
    struct str name =
        str_slice(reply_etag(c->arena, key_of(c->arena, c->api->store, spec, 0)), 0, 16);
    int64_t best = 0;

    while (!str_is_null(rest)) {
        struct str tag = str_trim(str_split(&rest, ',')), seq;

        if (str_starts(tag, STR("W/")))
            tag = str_slice(tag, 2, tag.len);
        if (tag.len < 2 || tag.ptr[0] != '"' || tag.ptr[tag.len - 1] != '"')
            continue;
        tag = str_slice(tag, 1, tag.len - 1);
        if (!str_eq(str_split(&tag, '-'), name) || str_is_null(tag))
            continue;
        (void)str_split(&tag, '-');
        seq = str_is_null(tag) ? STR_NULL : str_split(&tag, '-');
        if (!str_is_null(seq) && seq.len > 0 && seq.len <= 15) {
            int64_t n = strtoll(str_z(c->arena, seq), NULL, 16);

            best = n > best ? n : best;
        }
    }
    return best;
}

bool render_from_cache(struct call *c, const struct render_spec *spec, struct reply *r)
{
    struct result res = {.modified_at = TIME_UNKNOWN};
    struct cached_doc doc = {0};

    if (!cache_get(c->api->store, spec->key, &doc))
        return false;
    r->format = (int)spec->view.format;
    take_cached(&res, &doc);
    reply_result(c, r, &res);
    result_release(&res);
    return true;
}

void render_reply(struct call *c, const struct render_spec *spec, struct reply *r)
{
    struct renders *all = c->api->renders;
    struct str key = spec->key;
    struct render *job;
    struct waiter *w;
    enum rc rc = RC_OK;

    if (render_from_cache(c, spec, r))
        return;
    r->format = (int)spec->view.format;
    call_hold(c, RENDER_MS);
    w = NEW(struct waiter);
    w->loop = http_request_loop(c->req);
    w->serial = c->serial;
    w->call = c;
    w->reply = r;
    pthread_mutex_lock(&all->lock);
    job = map_get(&all->running, key);
    if (job == NULL) {
        job = render_new(c, key, spec);
        job->waiters = w;
        rc = store_read(c->api->store, on_reader, job);
        if (rc == RC_OK)
            map_put(&all->running, job->key, job); /* it cannot end before we unlock */
    } else {
        w->next = job->waiters;
        job->waiters = w;
    }
    pthread_mutex_unlock(&all->lock);
    if (rc != RC_OK) {
        struct problem p;

        arena_release(&job->arena);
        mem_free(job);
        mem_free(w);
        problem_of_err(&p, c->arena, rc, NULL);
        reply_problem(c, &p);
    }
}
