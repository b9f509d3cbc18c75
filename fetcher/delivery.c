/* fetcher/delivery.c - see delivery.h. */
#include "fetcher/delivery.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/parse_job.h"
#include "net/decode.h"

#define HELD_MOST ((int64_t)64 * 1024 * 1024) /* bytes of deliveries that wait; beyond it 503 */

struct delivery {
    struct job job; /* first: the queue carries it */
    struct fetcher *f;
    struct str signature, secret, coding;
    int64_t n_bytes;
    hub_done_fn *done;
    void *ctx;
};

static void end(struct delivery *d, int status)
{
    struct job *job = &d->job;

    atomic_fetch_sub(&d->f->delivered_bytes, d->n_bytes);
    d->done(d->ctx, status);
    job_free(&job);
}

int delivery_take(struct fetcher *f, const struct hub_delivery *in, hub_done_fn *done, void *ctx)
{
    struct delivery *d = NEW(struct delivery);
    struct job *job = &d->job;
    struct upstream_key key = {0};
    int status;

    job->arena = arena_new();
    status = subscriber_admit(f->subscriber, in->token, job->arena, &key);
    if (status == 0 && str_trim(in->signature).len == 0)
        status = 403; /* a secret was given with every subscription (WebSub §7.1.2) */
    if (status != 0)
        stats_inc(STAT_hub_deliveries_refused_total);
    d->n_bytes = (int64_t)in->body.len;
    if (status == 0 && atomic_fetch_add(&f->delivered_bytes, d->n_bytes) > HELD_MOST) {
        atomic_fetch_sub(&f->delivered_bytes, d->n_bytes);
        status = 503;
    }
    if (status != 0) {
        job_free(&job);
        return status;
    }
    job->owner = d->f = f;
    job->target = JOB_DELIVERY;
    job->feed_id = job->result_id = key.feed_id;
    job->started_at = clock_now_s();
    job->resp = (struct response){
        .kind = RESPONSE_DOCUMENT, .status = 200, .partial = true, .max_age_s = -1};
    job->url = job->final_url = key.topic;
    job->answer_arena = arena_new();
    job->body = str_dup(job->answer_arena, in->body);
    job->content_type = str_dup(job->arena, in->content_type);
    job->content_language = str_dup(job->arena, in->content_language);
    job->content_location = str_dup(job->arena, in->content_location);
    d->signature = str_dup(job->arena, str_trim(in->signature));
    d->coding = str_dup(job->arena, in->content_coding);
    d->secret = key.secret;
    d->done = done;
    d->ctx = ctx;
    if (queue_try_push(f->deliveries, job) != RC_OK) {
        atomic_fetch_sub(&f->delivered_bytes, d->n_bytes);
        job_free(&job);
        return 503;
    }
    /* when there is no room for it, a worker is about to take an item anyway, and looks here first
     */
    if (queue_try_push(f->parse, &f->wake) != RC_OK)
        log_debug("fetcher", "workers_busy", "deliveries=%zu", queue_len(f->deliveries));
    return 0;
}

/* "sha256=hex": of the body, keyed by the secret (WebSub §7.1). */
static bool is_signed(const struct delivery *d)
{
    static const struct {
        const char *name;
        enum digest_kind kind;
    } methods[] = {{"sha1", DIGEST_SHA1},
                   {"sha256", DIGEST_SHA256},
                   {"sha384", DIGEST_SHA384},
                   {"sha512", DIGEST_SHA512}};
    struct str hex = d->signature, method = str_trim(str_split(&hex, '='));
    unsigned char mac[DIGEST_MAX_LEN];
    char want[2 * DIGEST_MAX_LEN + 1], got[2 * DIGEST_MAX_LEN];
    size_t n;

    hex = str_trim(hex);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!str_ieqz(method, methods[i].name))
            continue;
        n = digest_hmac(methods[i].kind, d->secret, d->job.body, mac);
        digest_hex(mac, n, want);
        if (hex.len != 2 * n)
            return false;
        for (size_t k = 0; k < hex.len; k++)
            got[k] = (char)(hex.ptr[k] >= 'A' && hex.ptr[k] <= 'F' ? hex.ptr[k] | 32 : hex.ptr[k]);
        return digest_same(want, got, hex.len);
    }
    return false;
}

/* Undo the content coding: 0, or the status to answer with. The signature was of the bytes as sent.
 */
static int decode(struct delivery *d)
{
    AUTO(buf_release) struct buf out = BUF_INIT(LIMIT_FETCH_BODY);
    struct job *job = &d->job;
    struct decoder *decoder;
    struct err why = ERR_INIT;
    enum rc rc = decoder_new(d->coding, LIMIT_FETCH_BODY, &decoder, &why);

    if (rc == RC_OK && decoder == NULL)
        return 0;
    if (rc == RC_OK)
        rc = decoder_feed(decoder, job->body.ptr, job->body.len, &out, &why);
    if (rc == RC_OK)
        rc = decoder_end(decoder, &why);
    decoder_free(&decoder);
    if (rc == RC_OK) {
        job->body = str_dup(job->answer_arena, buf_view(&out));
        return 0;
    }
    log_info("fetcher", "delivery_undecoded", "feed=%" PRId64 " error=%s", job->feed_id,
             log_quote(str_from(why.text)));
    return rc == RC_LIMIT ? 413 : 400;
}

/* The storer's thread. */
static void on_pinged(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err UNUSED)
{
    end(ctx, rc == RC_OK ? 200 : 503);
}

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res,
                      const struct err *err UNUSED)
{
    struct delivery *d = ctx;

    if (rc == RC_OK && res->is_overtaken) { /* by a poll: the next one finds what is missing */
        if (store_ping(d->f->store, &d->job.feed_id, 1, on_pinged, d) != RC_OK)
            end(d, 503);
        return;
    }
    if (rc == RC_OK)
        stats_inc(STAT_hub_deliveries_total);
    end(d, rc == RC_OK ? 200 : rc == RC_NOT_FOUND ? 410 : 503);
}

static void run(struct worker *w, struct job *job)
{
    struct delivery *d = CONTAINER_OF(job, struct delivery, job);
    struct fetcher *f = w->f;
    struct parse_worker worker = {f->store, w->reader, &f->give_up, on_stored};
    size_t n = 0;
    enum job_step step;
    int status;
    enum rc rc;

    if (!is_signed(d)) { /* ignored, and the sender is not told (WebSub §7.1.2) */
        stats_inc(STAT_hub_deliveries_refused_total);
        end(d, 202);
        return;
    }
    status = decode(d);
    if (status != 0) {
        stats_inc(STAT_hub_deliveries_refused_total);
        end(d, status);
        return;
    }
    rc = reader_feeds(w->reader, &job->feed_id, 1, job->arena, &job->rec, &n, NULL);
    if (rc != RC_OK || n == 0) {
        end(d, rc == RC_OK ? 410 : 503);
        return;
    }
    /* a page that led to no feed has no entries to which some could be added */
    step = job_has_document(job) ? parse_job_run(&worker, job) : JOB_END;
    switch (step) {
    case JOB_WORK: /* the storer has it */
        break;
    case JOB_SEND:
    case JOB_END:
        if (!job_has_document(job))
            job->rc = RC_UNSUPPORTED;
        if (job->rc != RC_UNSUPPORTED)
            end(d, 503);
        else if (store_ping(f->store, &job->feed_id, 1, on_stored, d) != RC_OK)
            end(d, 503); /* it is no feed, but says that there is something new */
        break;
    }
}

void delivery_run_all(struct worker *w)
{
    void *item;

    while (queue_pop(w->f->deliveries, &item, 1, 0) > 0)
        run(w, item);
}
