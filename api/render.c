/* api/render.c - from a view to bytes: keys, rows, writer, gzip, cache. */
#include "api/render.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/selflink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/json.h"

#define DOCUMENT_MAX ((size_t)256 * 1024 * 1024)
#define RENDER_MS 60000

struct renders {
    pthread_mutex_t lock; /* guards the map and the waiters of what is in it */
    struct map running;   /* key -> struct render */
};

struct result {
    struct blob *body, *gzip;
    int64_t modified_at;
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

/* Everything the document depends on. The program's version is part of it: another one may write
 * other bytes. */
static struct str key_of(struct arena *a, struct store *s, const struct render_spec *spec)
{
    AUTO(buf_release) struct buf key = BUF_INIT(BUF_ANY);

    buf_printf(&key, "view\n" FEEDMILL_VERSION "\n%.*s\n%" PRId64 "\n%s %d %zu %zu\n",
               STR_ARG(store_log_id(s)), store_version(s, spec->ids, spec->n_ids),
               feed_format_name(spec->format), (int)spec->merged, spec->len, spec->skip);
    buf_printf(&key, "%d\n", (int)spec->format);
    for (size_t i = 0; i < spec->n_ids; i++)
        buf_printf(&key, "%" PRId64 ",", spec->ids[i]);
    buf_printf(&key, "\n%.*s\n%.*s\n%.*s", STR_ARG(spec->self), STR_ARG(spec->id),
               STR_ARG(spec->title));
    return str_dup(a, buf_view(&key));
}

/* ---- on the reader thread ---- */

struct drawn { /* what the writer is given, in the making */
    struct render *job;
    struct arena arena;
    struct feed_record *records;
    size_t n_records;
    struct revision *rows;
    size_t n_rows;
    struct out_feed *feeds;
    struct out_entry *entries;
};

static struct str access_key(void *ctx, int64_t feed_id)
{
    const struct drawn *d = ctx;

    for (size_t i = 0; i < d->n_records; i++)
        if (d->records[i].id == feed_id)
            return d->records[i].access_key;
    return STR_NULL;
}

/* The stored head: {"feed": {...}, facts...} -> the dict of the head and the facts beside it. */
static void read_head(struct arena *a, const struct feed_record *rec, struct out_feed *out)
{
    struct value *head = NULL;

    if (rec->head.len == 0 || json_read(a, rec->head, &head, NULL) != RC_OK)
        head = value_dict(a);
    out->obj = value_getz(head, "feed");
    if (out->obj == NULL || out->obj->kind != VAL_DICT)
        out->obj = value_dict(a);
    value_del(head, STR("feed"));
    if (value_getz(head, "href") == NULL)
        value_set_textz(a, head, "href", rec->url);
    out->meta = head;
    out->url = rec->url;
    out->ext = rec->ext;
    out->updated_at = rec->last_change_at;
}

static const struct out_feed *feed_of(const struct drawn *d, int64_t feed_id)
{
    size_t lo = 0, hi = d->n_records;

    while (lo < hi) { /* the ids of a view are sorted */
        size_t mid = (lo + hi) / 2;

        if (d->records[mid].id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n_records && d->records[lo].id == feed_id ? &d->feeds[lo] : NULL;
}

static size_t make_entries(struct drawn *d, enum feed_format format)
{
    bool copies = format == FORMAT_JSON || format == FORMAT_JSON_OBJ;
    size_t n = 0;

    for (size_t i = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        struct out_entry *e = &d->entries[n];

        *e = (struct out_entry){.feed = feed_of(d, row->feed_id),
                                .json = row->doc,
                                .ext = row->ext,
                                .uid = row->uid,
                                .published_at = row->published_at,
                                .updated_at = row->updated_at,
                                .received_at = row->at_us / 1000000,
                                .sort_at = row->sort_at};
        if (e->feed == NULL)
            continue; /* its record left between the two queries */
        if (!copies && json_read(&d->arena, row->doc, &e->obj, NULL) != RC_OK)
            e->obj = value_dict(&d->arena);
        n++;
    }
    return n;
}

static enum rc draw(struct drawn *d, struct reader *r, struct buf *out, int64_t *modified_at,
                    struct err *err)
{
    const struct render_spec *spec = &d->job->spec;
    /* one row more tells whether another page follows */
    struct view view =
        params_view(spec->ids, spec->n_ids, spec->len == 0 ? 0 : spec->len + 1, spec->skip);
    struct out_doc doc = {0};
    enum rc rc = RC_OK;
    bool more;

    if (spec->len > 0 && spec->n_ids > 0)
        rc = reader_rows(r, &view, &d->arena, &d->rows, &d->n_rows, err);
    if (rc == RC_OK && spec->n_ids > 0)
        rc = reader_feeds(r, spec->ids, spec->n_ids, &d->arena, &d->records, &d->n_records, err);
    if (rc != RC_OK)
        return rc;
    if (!spec->merged && d->n_records == 0)
        return err_set(err, RC_NOT_FOUND, "The feed has just been removed.");
    more = d->n_rows > spec->len;
    if (more)
        d->n_rows = spec->len;
    d->feeds = ARENA_ARRAY(&d->arena, struct out_feed, d->n_records + 1);
    d->entries = ARENA_ARRAY(&d->arena, struct out_entry, d->n_rows + 1);
    *modified_at = TIME_UNKNOWN;
    for (size_t i = 0; i < d->n_records; i++) {
        read_head(&d->arena, &d->records[i], &d->feeds[i]);
        if (d->records[i].last_change_at > *modified_at)
            *modified_at = d->records[i].last_change_at;
    }
    doc.merged = spec->merged;
    doc.self_url = selflink_fill(&d->arena, spec->self, access_key, d);
    doc.id = spec->merged ? spec->id : STR_NULL;
    doc.title = spec->title;
    doc.feeds = d->feeds;
    doc.n_feeds = d->n_records;
    doc.entries = d->entries;
    doc.n_entries = make_entries(d, spec->format);
    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].at_us / 1000000 > *modified_at)
            *modified_at = d->rows[i].at_us / 1000000;
    doc.updated_at = *modified_at != TIME_UNKNOWN ? *modified_at : 0;
    if (!spec->merged && d->records[0].level >= 0)
        doc.ttl_s = d->job->cfg->level_period_s[d->records[0].level];
    else if (!spec->merged)
        doc.ttl_s = d->records[0].period_s;
    if (more && !str_is_null(spec->next))
        doc.next_url = selflink_fill(&d->arena, spec->next, access_key, d);
    feed_write(out, spec->format, &doc);
    if (!buf_ok(out))
        return err_set(err, RC_LIMIT,
                       "The document would pass %zu bytes; ask for fewer entries with `len`.",
                       DOCUMENT_MAX);
    return RC_OK;
}

/* What a request gets; the holder of references. */
static void result_release(struct result *res)
{
    blob_unref(&res->body);
    blob_unref(&res->gzip);
}

static enum rc render(struct render *job, struct reader *r, struct result *res, struct err *err)
{
    struct buf out = BUF_INIT(DOCUMENT_MAX);
    struct drawn d = {.job = job};
    enum rc rc = draw(&d, r, &out, &res->modified_at, err);

    if (rc == RC_OK) {
        struct cached_doc doc = {0};
        size_t len;
        char *bytes = buf_detach(&out, &len);

        res->body = blob_new(bytes, len);
        res->gzip = reply_gzip(blob_bytes(res->body));
        doc.meta = str_printf(&job->arena, "%" PRId64, res->modified_at);
        doc.body = res->body;
        doc.gzip = res->gzip;
        cache_put(r, job->key, &doc);
    }
    arena_release(&d.arena);
    buf_release(&out);
    return rc;
}

/* Take over what the cache gave. */
static void take_cached(struct result *res, struct cached_doc *doc)
{
    res->body = blob_ref(doc->body);
    res->gzip = blob_ref(doc->gzip);
    if (!str_to_i64(doc->meta, &res->modified_at))
        res->modified_at = TIME_UNKNOWN;
    cached_doc_release(doc);
}

/* ---- back on the loop ---- */

static void reply_result(struct call *c, struct reply *r, const struct result *res)
{
    r->modified_at = res->modified_at;
    r->body = res->body;
    r->gzip = res->gzip;
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
        w->result = (struct result){
            .body = blob_ref(res.body), .gzip = blob_ref(res.gzip), .modified_at = res.modified_at};
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
    job->spec.ids =
        (const int64_t *)(const void *)arena_copy(a, spec->ids, spec->n_ids * sizeof(*spec->ids));
    job->spec.self = str_dup(a, spec->self);
    job->spec.next = str_dup(a, spec->next);
    job->spec.id = str_dup(a, spec->id);
    job->spec.title = str_dup(a, spec->title);
    return job;
}

bool render_unmodified(struct call *c, struct render_spec *spec, struct reply *r)
{
    spec->key = key_of(c->arena, c->api->store, spec);
    r->etag = reply_etag(c->arena, spec->key);
    return reply_unmodified(c, r);
}

void render_reply(struct call *c, const struct render_spec *spec, struct reply *r)
{
    struct renders *all = c->api->renders;
    struct str key = spec->key;
    struct result res = {.modified_at = TIME_UNKNOWN};
    struct cached_doc doc = {0};
    struct render *job;
    struct waiter *w;
    enum rc rc = RC_OK;

    r->format = (int)spec->format;
    if (cache_get(c->api->store, key, &doc)) {
        take_cached(&res, &doc);
        reply_result(c, r, &res);
        result_release(&res);
        return;
    }
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
