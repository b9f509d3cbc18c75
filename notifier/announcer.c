/* notifier/announcer.c - see announcer.h. Commit notices are collected into a batch, which is read
 * on a reader thread. Then each feed is announced to each server with one POST. */
#include "notifier/announcer.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/media_types.h"
#include "model/value.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/url.h"
#include "net/xmlrpc.h"

#define CALLS_AT_ONCE 8
#define CALLS_MAX 5000 /* calls that wait or are under way */
#define NEWS_MAX 10000 /* feeds that wait for a reader */
#define CALL_MAX (64 * 1024)
#define ANSWER_MAX (64 * 1024)
#define HEADER_MAX (16 * 1024)
/* the specification's limit is in characters; this one is in bytes, so it is stricter */
#define NAME_MAX_LEN 1024

struct announcer {
    struct announcer_cfg cfg; /* its strings are in `texts`; belongs to the loop while it runs */
    struct arena *texts;
    struct http_client *client; /* belongs to the loop; NULL: the loop is stopping */
    bool is_started;

    pthread_mutex_t lock; /* guards the rest */
    struct loop *loop;    /* NULL: there are no servers */
    bool is_posted;
    struct fresh {
        int64_t feed_id, first_seq;
    } * fresh; /* feeds with new revisions */
    size_t n_fresh, cap_fresh;
};

/* ---- calls (the loop) ------------------------------------------------------------------------ */

struct announcement {
    struct buf body;
    struct str server;
    struct arena arena;
};

static void announcement_free(struct announcement *s)
{
    buf_release(&s->body);
    arena_release(&s->arena);
    mem_free(s);
}

/* Returns true when the server accepted the ping. An answer that is not XML-RPC counts as yes,
 * because many servers send one line of text. */
static bool is_taken(struct arena *a, const struct http_answer *answer)
{
    struct value *result = NULL;
    struct str text;
    const struct value *error;
    int code;

    if (answer->status < 200 || answer->status > 299)
        return false;
    switch (rpc_read_answer(a, answer->body, &result, &code, &text)) {
    case RPC_RESULT:
        error = value_get(result, STR("flerror"));
        return error == NULL || error->kind != VAL_BOOL || !error->b;
    case RPC_FAULT:
        return false;
    default:
        return true;
    }
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct announcement *s = ctx;
    struct arena *a = answer->arena;

    stats_inc(STAT_announcements_total);
    if (rc != RC_OK || !is_taken(a, answer)) {
        stats_inc(STAT_announcements_failed_total);
        if (rc != RC_CLOSED)
            log_info("announcer", "refused", "server=%s status=%d error=%s",
                     log_quote(url_public(a, s->server)), answer->status,
                     log_quote(str_from(rc == RC_OK ? "the ping was not taken" : err->text)));
    }
    announcement_free(s);
    arena_free(&a);
}

/* Returns the URL of our view of the feed. */
static struct str own_url(const struct announcer *n, struct arena *a, struct str url)
{
    struct str base = n->cfg.base_url;

    while (str_ends(base, STR("/")))
        base.len--;
    return str_printf(a, "%.*s/feed?url=%.*s", STR_ARG(base), STR_ARG(url_encode(a, url)));
}

static void send_one(struct announcer *n, struct str server, const struct feed *feed)
{
    struct http_field type = {STR("Content-Type"), STR(MEDIA_XML)};
    struct announcement *s = NEW(struct announcement);
    struct http_call call = {.method = STR("POST"),
                             .fields = &type,
                             .n_fields = 1,
                             .max_body = ANSWER_MAX,
                             .max_header = HEADER_MAX,
                             .timeout_ms = n->cfg.timeout_ms};
    bool is_ours = n->cfg.base_url.len > 0;
    struct str name = feed->title.len > 0 ? feed->title : feed->url;
    const struct value *params[3];
    struct url_parts parts;

    name.len = name.len < NAME_MAX_LEN ? name.len : str_utf8_valid(str_of(name.ptr, NAME_MAX_LEN));
    params[0] = value_text(&s->arena, name);
    params[1] = value_text(&s->arena, is_ours ? own_url(n, &s->arena, feed->url) : feed->url);
    params[2] = value_text(&s->arena, feed->url);
    s->body = (struct buf)BUF_INIT(CALL_MAX);
    s->server = str_dup(&s->arena, server);
    if (http_client_busy(n->client) >= CALLS_MAX ||
        url_parse(&s->arena, server, &parts, NULL) != RC_OK ||
        rpc_write_call(&s->body, STR("weblogUpdates.ping"), params, is_ours ? 3 : 2, NULL) !=
            RC_OK) {
        stats_inc(STAT_announcements_failed_total);
        announcement_free(s);
        return;
    }
    call.url = parts.url;
    call.credential = parts.credential;
    call.body = buf_view(&s->body);
    http_client_start(n->client, &call, on_answer, s);
}

/* ---- feeds (a reader thread) ----------------------------------------------------------------- */

struct batch {
    struct announcer *n;
    struct loop *loop;
    struct fresh *fresh;
    size_t n_fresh;
    struct arena *arena;
    struct feed **feeds; /* to announce */
    size_t n_feeds;
};

static void batch_free(struct batch *b)
{
    arena_free(&b->arena);
    mem_free(b->fresh);
    mem_free(b);
}

static void on_read(void *ctx)
{
    struct batch *b = ctx;
    struct announcer *n = b->n;

    for (size_t i = 0; i < b->n_feeds && n->client != NULL; i++)
        for (size_t k = 0; k < n->cfg.n_servers; k++)
            send_one(n, n->cfg.servers[k], b->feeds[i]);
    batch_free(b);
}

/* Returns the feed; NULL: it must not be announced. */
static struct feed *read_one(struct reader *r, const struct fresh *fresh, struct arena *a)
{
    struct view first = {.feed_ids = &fresh->feed_id,
                         .n_feeds = 1,
                         .order = VIEW_LOG,
                         .after_seq = fresh->first_seq - 1,
                         .before_seq = INT64_MAX,
                         .len = 1,
                         .with_deleted = true};
    struct feed *feed;
    struct revision *rows;
    struct err err = ERR_INIT;
    size_t n_rows = 0;

    if (reader_rows(r, &first, a, &rows, &n_rows, &err) == RC_OK && n_rows == 1 &&
        !rows[0].initial && reader_feed(r, fresh->feed_id, a, &feed, &err) == RC_OK &&
        str_is_null(feed->credential) && str_is_null(feed->secrets))
        return feed;
    if (err.rc != RC_OK && err.rc != RC_NOT_FOUND)
        log_warn("announcer", "unread", "feed=%lld error=%s", (long long)fresh->feed_id,
                 log_quote(str_from(err.text)));
    return NULL;
}

static void read_batch(void *ctx, struct reader *r)
{
    struct batch *b = ctx;

    b->feeds = ARENA_ARRAY(b->arena, struct feed *, b->n_fresh + 1);
    for (size_t i = 0; i < b->n_fresh; i++) {
        struct feed *feed = read_one(r, &b->fresh[i], b->arena);

        if (feed != NULL)
            b->feeds[b->n_feeds++] = feed;
    }
    loop_post(b->loop, on_read, b);
}

/* ---- commit notices -------------------------------------------------------------------------- */

static void on_news(void *ctx)
{
    struct announcer *n = ctx;
    struct batch *b = NEW(struct batch);

    b->n = n;
    b->arena = arena_new();
    pthread_mutex_lock(&n->lock);
    n->is_posted = false;
    b->loop = n->loop;
    b->fresh = n->fresh;
    b->n_fresh = n->n_fresh;
    n->fresh = NULL;
    n->n_fresh = n->cap_fresh = 0;
    pthread_mutex_unlock(&n->lock);
    if (n->client == NULL || store_read(n->cfg.store, read_batch, b) != RC_OK)
        batch_free(b);
}

/* On the thread of the storer, or of what follows other nodes. */
static void on_commit(void *ctx, const struct commit_notice *notice)
{
    struct announcer *n = ctx;

    if (notice->is_foreign) /* the node that has committed it announces it */
        return;
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < notice->n_feeds && n->loop != NULL; i++) {
        const struct feed_notice *f = &notice->feeds[i];

        if (f->merged_into != 0 || f->first_seq == 0 || n->n_fresh >= NEWS_MAX)
            continue;
        n->fresh = mem_grow(n->fresh, &n->cap_fresh, n->n_fresh + 1, sizeof *n->fresh);
        n->fresh[n->n_fresh++] = (struct fresh){f->feed_id, f->first_seq};
    }
    if (n->n_fresh > 0 && !n->is_posted) {
        n->is_posted = true;
        loop_post(n->loop, on_news, n);
    }
    pthread_mutex_unlock(&n->lock);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static void take_settings(struct announcer *n, const struct announcer_cfg *cfg)
{
    struct arena *texts = arena_new();
    struct str *servers = ARENA_ARRAY(texts, struct str, cfg->n_servers + 1);

    for (size_t i = 0; i < cfg->n_servers; i++)
        servers[i] = str_dup(texts, cfg->servers[i]);
    n->cfg.servers = servers;
    n->cfg.n_servers = cfg->n_servers;
    n->cfg.base_url = cfg->base_url.len > 0 ? str_dup(texts, cfg->base_url) : STR_NULL;
    n->cfg.timeout_ms = cfg->timeout_ms;
    arena_free(&n->texts);
    n->texts = texts;
}

struct announcer *announcer_new(const struct announcer_cfg *cfg)
{
    struct announcer *n = NEW(struct announcer);

    n->cfg = *cfg;
    take_settings(n, cfg);
    pthread_mutex_init(&n->lock, NULL);
    store_listen(cfg->store, on_commit, n);
    return n;
}

static void on_start(void *ctx)
{
    struct announcer *n = ctx;
    struct http_client_cfg cfg = {
        .guard = n->cfg.guard, .user_agent = n->cfg.user_agent, .max_total = CALLS_AT_ONCE};

    n->client = http_client_new(n->loop, &cfg);
}

/* The loop is made when the first server is set, and is kept from then on. */
static void start_if_needed(struct announcer *n)
{
    struct loop *loop;

    if (!n->is_started || n->loop != NULL || n->cfg.n_servers == 0)
        return;
    loop = loop_new("announce");
    pthread_mutex_lock(&n->lock);
    n->loop = loop;
    pthread_mutex_unlock(&n->lock);
    loop_call(loop, on_start, n);
}

void announcer_start(struct announcer *n)
{
    n->is_started = true;
    start_if_needed(n);
}

static void on_stop(void *ctx)
{
    struct announcer *n = ctx;

    http_client_free(&n->client);
}

void announcer_stop(struct announcer *n)
{
    if (!n->is_started || n->loop == NULL)
        return;
    n->is_started = false;
    loop_call(n->loop, on_stop, n);
}

void announcer_free(struct announcer **np)
{
    struct announcer *n = *np;

    *np = NULL;
    if (n == NULL)
        return;
    announcer_stop(n);
    if (n->loop != NULL)
        loop_stop(n->loop);
    loop_free(&n->loop); /* frees the batches that came too late */
    mem_free(n->fresh);
    arena_free(&n->texts);
    pthread_mutex_destroy(&n->lock);
    mem_free(n);
}

struct new_announcer_cfg {
    struct announcer *n;
    const struct announcer_cfg *cfg;
};

static void on_reload(void *ctx)
{
    struct new_announcer_cfg *r = ctx;

    take_settings(r->n, r->cfg);
}

void announcer_reload(struct announcer *n, const struct announcer_cfg *cfg)
{
    struct new_announcer_cfg r = {n, cfg};

    if (n->loop != NULL)
        loop_call(n->loop, on_reload, &r);
    else
        on_reload(&r);
    start_if_needed(n);
}
