/* api/views/documents.c - see documents.h. Shares drawings, makes the gzip variants, and uses both
 * caches. */
#include "api/views/documents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/http/negotiate.h"
#include "api/http/task.h"
#include "api/views/draw.h"
#include "api/views/history.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/mirrors.h"

#define DRAW_MS 60000
#define USUAL ((size_t)128 * 1024) /* bytes of most documents: room that need not grow */
#define STEP 1024                  /* rows that a drawing judges at a time: some 50 ms */

struct documents {
    pthread_mutex_t lock; /* guards the map and the waiters of its jobs */
    struct map running;   /* key -> struct draw_job */
};

struct result {
    struct blob *body, *gzip;
    char content[REPLY_CONTENT_TEXT];
    int64_t modified_at;
    bool is_private, is_doubtful, is_empty;
    bool is_zipped; /* there is a gzip variant, or cannot be one */
};

struct document_waiter {
    struct ticket ticket;
    struct reply *reply; /* in the request's arena; only the loop may use it */
    struct document_waiter *next;
    bool wants_gzip;
    enum rc rc; /* result, like the next two */
    struct err err;
    struct result result;
    int64_t gone_to; /* RC_GONE: what was taken away, and the edition of the views */
    char edition[CURSOR_EDITION_LEN + 1];
};

struct draw_job {
    struct arena arena;
    struct api *api;
    struct str key;
    struct str request; /* the id of the first of those that wait for it */
    struct document_spec spec;
    struct document_waiter *waiters; /* under documents->lock while in the map */
    struct result result;
    enum rc rc;
    struct err err;
    struct hunts *hunts;    /* of what it has to judge */
    struct long_work turns; /* if that is much */
};

struct documents *documents_new(void)
{
    struct documents *r = NEW(struct documents);

    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void documents_free(struct documents **rp)
{
    if (*rp == NULL)
        return;
    map_release(&(*rp)->running, NULL);
    pthread_mutex_destroy(&(*rp)->lock);
    mem_free(*rp);
    *rp = NULL;
}

static struct str key_at(struct ask *ask, const struct document_spec *spec, int64_t version)
{
    return document_key(ask->arena, store_log_id(ask->api->store), spec, version);
}

/* A settled document does not depend on the versions of its feeds, because it never changes unless
 * rows are lost. Versions are times, so none of them is the number of a fork. What names mirrored
 * files changes with these: neither number ever falls, so their sum stands for both. */
static int64_t version_of(struct ask *ask, const struct document_spec *spec)
{
    struct store *s = ask->api->store;

    if (spec->is_settled)
        return store_fork(s);
    return store_version(s, spec->view.feed_ids, spec->view.n_feeds) +
           (str_is_null(spec->view.mirror) ? 0 : store_mirror_edition(s));
}

/* Returns the part of the document's tags that is the same at all versions. */
static struct str tag_name(struct ask *ask, const struct document_spec *spec)
{
    return str_slice(reply_etag(ask->arena, key_at(ask, spec, 0)), 0, 16);
}

/* Returns the tag of a document of newest entries: its name, its version, and the newest revision
 * of its feeds. So a client's tag tells up to where it has everything. */
static struct str tag_of(struct ask *ask, const struct document_spec *spec, int64_t version)
{
    return str_printf(ask->arena, "%.*s-%" PRIx64 "-%" PRIx64, STR_ARG(tag_name(ask, spec)),
                      version,
                      store_seq_of(ask->api->store, spec->view.feed_ids, spec->view.n_feeds));
}

/* ---- on the reader thread ---- */

/* The result of a request. It holds references. */
static void result_release(struct result *res)
{
    blob_unref(&res->body);
    blob_unref(&res->gzip);
}

static void keep(struct draw_job *job, struct reader *r, const struct result *res)
{
    struct cached_doc doc = {.body = res->body, .gzip = res->gzip};

    doc.meta = str_printf(&job->arena, "%" PRId64 " %s %c%c%c%c", res->modified_at, res->content,
                          res->is_private ? 'p' : '-', res->is_doubtful ? 'd' : '-',
                          res->is_empty ? 'e' : '-', res->is_zipped ? 'z' : '-');
    cache_put(r, job->key, &doc);
}

/* RC_TIMEOUT: it is to be called again. */
static enum rc draw(struct draw_job *job, struct reader *r, struct result *res, struct err *err)
{
    struct buf out = BUF_INIT(DRAW_MAX);
    struct drawn drawn;
    enum rc rc;

    (void)buf_reserve(&out, USUAL);
    reader_by_steps(r, job->hunts);
    rc = draw_document(&job->spec, job->api->store, r, &out, &drawn, err);
    reader_by_steps(r, NULL);
    if (rc == RC_OK) {
        size_t len;
        char *bytes = buf_detach(&out, &len);

        bytes = mem_realloc(bytes, len + 1); /* the cache keeps it */
        res->modified_at = drawn.modified_at;
        res->is_private = drawn.is_private;
        res->is_doubtful = drawn.is_doubtful;
        res->is_empty = drawn.is_empty;
        res->body = blob_new(bytes, len);
        reply_content(blob_bytes(res->body), (int)job->spec.view.format, res->content);
        res->is_zipped = false;
        keep(job, r, res);
    }
    buf_release(&out);
    return rc;
}

/* Take over a document from the cache. */
static void take_cached(struct result *res, struct cached_doc *doc)
{
    struct str rest = doc->meta, content;

    res->body = blob_ref(doc->body);
    res->gzip = blob_ref(doc->gzip);
    if (!str_to_i64(str_split(&rest, ' '), &res->modified_at))
        res->modified_at = TIME_UNKNOWN;
    content = str_split(&rest, ' ');
    if (content.len == sizeof res->content - 1)
        memcpy(res->content, content.ptr, content.len);
    else /* an older program of this version kept it */
        rest = content;
    res->is_private = str_starts(rest, STR("p"));
    res->is_doubtful = str_chr(rest, 'd') >= 0;
    res->is_empty = str_chr(rest, 'e') >= 0;
    res->is_zipped = res->gzip != NULL || str_chr(rest, 'z') >= 0;
    cached_doc_release(doc);
}

/* ---- back on the loop ---- */

static void reply_result(struct request *req, struct reply *r, const struct result *res)
{
    if (res->is_empty && r->on_empty != NULL && r->on_empty(req, r))
        return;
    r->modified_at = r->is_undated ? TIME_UNKNOWN : res->modified_at;
    r->is_doubtful = res->is_doubtful;
    if (res->is_private && r->private_cache != NULL)
        r->cache = r->private_cache;
    if (r->tags_content && r->status == 0) /* the tag of a part is that of the whole */
        memcpy(r->content, res->content, sizeof r->content);
    r->body = res->body;
    r->gzip = res->gzip;
    if (r->media_type == NULL)
        r->media_type = format_media_type((enum feed_format)r->format);
    reply_send(req, r);
}

static void on_drawn(struct request *req, void *work)
{
    struct document_waiter *w = work;

    if (req != NULL && w->rc == RC_OK) {
        reply_result(req, w->reply, &w->result);
    } else if (req != NULL) {
        struct problem p;

        problem_of_err(&p, req->ask.arena, w->rc, &w->err);
        if (w->rc == RC_GONE)
            history_put(&req->ask, w->gone_to, str_from(w->edition), &p);
        if (w->rc == RC_LIMIT)
            p.status = 422; /* the answer is too large, not the request */
        if (w->rc == RC_TIMEOUT) {
            problem_set(&p, req->ask.arena, PROBLEM_BUSY,
                        "So few entries match that more had to be looked at than there is time "
                        "for. Ask for fewer feeds or entries, or also for something that the "
                        "entries have: a word, an author, a category.");
            p.retry_after_s = 60;
        }
        reply_problem(req, &p);
    }
    result_release(&w->result);
    mem_free(w);
}

/* To compress a document takes longer than to draw a small one, so it is done when the first client
 * wants it. */
static void zip_if_wanted(struct draw_job *job, struct reader *r,
                          const struct document_waiter *waiters, struct result *res)
{
    const struct document_waiter *w = waiters;

    while (w != NULL && !w->wants_gzip)
        w = w->next;
    if (w == NULL || res->body == NULL || res->is_zipped)
        return;
    res->gzip = reply_gzip(blob_bytes(res->body));
    res->is_zipped = true;
    keep(job, r, res);
}

/* The document without its gzip variant may be in memory already. */
static bool find_cached(struct draw_job *job, struct reader *r, struct result *res)
{
    struct cached_doc doc = {0};

    if (!cache_get(job->api->store, job->key, &doc) && !cache_get_far(r, job->key, &doc))
        return false;
    take_cached(res, &doc);
    return true;
}

static void job_free(struct draw_job *job)
{
    result_release(&job->result);
    hunts_free(&job->hunts);
    arena_release(&job->arena);
    mem_free(job);
}

static void note_gone(const struct draw_job *job, struct document_waiter *w)
{
    const struct view *v = &job->spec.view;

    w->gone_to = store_horizon(job->api->store, v->feed_ids, v->n_feeds, v->all_feeds);
    snprintf(w->edition, sizeof w->edition, "%.*s", STR_ARG(job->spec.edition));
}

/* Give everybody the answer. */
static void finish(struct draw_job *job, struct reader *r)
{
    struct documents *all = job->api->documents;
    struct document_waiter *w;
    struct result *res = &job->result;

    pthread_mutex_lock(&all->lock);
    map_del(&all->running, job->key);
    w = job->waiters;
    pthread_mutex_unlock(&all->lock);
    zip_if_wanted(job, r, w, res);
    while (w != NULL) {
        struct document_waiter *next = w->next;

        w->rc = job->rc;
        w->err = job->err;
        if (job->rc == RC_GONE)
            note_gone(job, w);
        w->result = (struct result){.body = blob_ref(res->body),
                                    .gzip = blob_ref(res->gzip),
                                    .modified_at = res->modified_at,
                                    .is_private = res->is_private,
                                    .is_doubtful = res->is_doubtful,
                                    .is_empty = res->is_empty};
        memcpy(w->result.content, res->content, sizeof res->content);
        ticket_post(&w->ticket, on_drawn, w);
        w = next;
    }
    job_free(job);
}

/* Draw, or do a part of what must be judged before. */
static enum task_step step(struct draw_job *job, struct reader *r)
{
    log_set_request(job->request);
    job->err = (struct err)ERR_INIT;
    job->rc = draw(job, r, &job->result, &job->err);
    if (job->rc != RC_OK && job->rc != RC_NOT_FOUND && job->rc != RC_LIMIT && job->rc != RC_TIMEOUT &&
        job->rc != RC_GONE)
        log_error("api", "draw_failed", "rc=%s error=%s", rc_name(job->rc),
                  log_quote(str_from(job->err.text)));
    log_set_request(STR_NULL);
    return job->rc == RC_TIMEOUT ? TASK_YIELDS : TASK_ENDS;
}

static struct draw_job *job_of(struct long_work *w)
{
    return CONTAINER_OF(w, struct draw_job, turns);
}

static enum task_step step_again(struct long_work *w, struct reader *r)
{
    return step(job_of(w), r);
}

static void end_long(struct long_work *w, struct reader *r)
{
    finish(job_of(w), r);
}

static void on_reader(void *ctx, struct reader *r)
{
    struct draw_job *job = ctx;
    enum rc rc;

    if (!find_cached(job, r, &job->result) && step(job, r) == TASK_YIELDS) {
        job->turns = (struct long_work){.step = step_again, .end = end_long};
        rc = long_work_start(job->api, &job->turns);
        if (rc == RC_OK)
            return; /* another thread may have it by now */
        job->rc = rc;
        job->err = (struct err)ERR_INIT;
    }
    finish(job, r);
}

/* ---- the request's loop ---- */

static struct draw_job *job_new(struct request *req, struct str key,
                                const struct document_spec *spec)
{
    struct draw_job *job = NEW(struct draw_job);

    job->api = req->ask.api;
    job->result.modified_at = TIME_UNKNOWN;
    job->hunts = hunts_new(STEP);
    job->key = str_dup(&job->arena, key);
    job->request = str_dup(&job->arena, http_request_id(req->http));
    document_copy(&job->arena, spec, &job->spec);
    return job;
}

void document_name(struct ask *ask, struct document_spec *spec)
{
    spec->key = key_at(ask, spec, version_of(ask, spec));
}

void document_tag(struct ask *ask, struct document_spec *spec, struct reply *r)
{
    int64_t version = version_of(ask, spec);

    spec->key = key_at(ask, spec, version);
    /* the state of the feeds also changes with what a filter leaves out */
    r->tags_content = spec->view.form == FORM_NEWEST && spec->view.filter != NULL;
    r->etag = spec->view.form == FORM_NEWEST ? tag_of(ask, spec, version)
                                             : reply_etag(ask->arena, spec->key);
}

bool document_unmodified(struct request *req, struct document_spec *spec, struct reply *r)
{
    document_tag(&req->ask, spec, r);
    return reply_unmodified(req, r);
}

int64_t document_base(struct request *req, const struct document_spec *spec)
{
    struct str rest = http_request_field(req->http, "if-none-match");
    struct str name = tag_name(&req->ask, spec);
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
            int64_t n = strtoll(str_z(req->ask.arena, seq), NULL, 16);

            best = n > best ? n : best;
        }
    }
    return best;
}

static bool wants_gzip(struct request *req)
{
    return negotiate_gzip(http_request_field(req->http, "accept-encoding"));
}

bool document_from_cache(struct request *req, const struct document_spec *spec, struct reply *r)
{
    struct result res = {.modified_at = TIME_UNKNOWN};
    struct cached_doc doc = {0};
    bool is_ready;

    if (!cache_get(req->ask.api->store, spec->key, &doc))
        return false;
    r->format = (int)spec->view.format;
    take_cached(&res, &doc);
    is_ready = res.is_zipped || !wants_gzip(req);
    if (is_ready)
        reply_result(req, r, &res);
    result_release(&res);
    return is_ready;
}

void document_reply(struct request *req, const struct document_spec *spec, struct reply *r)
{
    struct documents *all = req->ask.api->documents;
    struct str key = spec->key;
    struct draw_job *job;
    struct document_waiter *w;
    enum rc rc = RC_OK;

    if (document_from_cache(req, spec, r))
        return;
    r->format = (int)spec->view.format;
    w = NEW(struct document_waiter);
    w->ticket = ticket_take(req, DRAW_MS);
    w->reply = r;
    w->wants_gzip = wants_gzip(req);
    pthread_mutex_lock(&all->lock);
    job = map_get(&all->running, key);
    if (job == NULL) {
        job = job_new(req, key, spec);
        job->waiters = w;
        rc = store_read(req->ask.api->store, on_reader, job);
        if (rc == RC_OK)
            map_put(&all->running, job->key, job); /* the job cannot end before the unlock */
    } else {
        w->next = job->waiters;
        job->waiters = w;
    }
    pthread_mutex_unlock(&all->lock);
    if (rc != RC_OK) {
        struct problem p;

        job_free(job);
        mem_free(w);
        problem_of_err(&p, req->ask.arena, rc, NULL);
        reply_problem(req, &p);
    }
}
