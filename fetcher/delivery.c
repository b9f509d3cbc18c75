/* fetcher/delivery.c - the source "delivery": what an upstream hub sends to a callback of ours.
 *
 * A delivery is a job without a request and without a slot. It goes to the workers at once, and may
 * overlap with a poll of the feed, because the storer compares every entry with its row again. A
 * delivery is a partial document (WebSub section 7 allows a difference), so entries that it leaves
 * out are not deleted. When it is not a feed, because the topic is a web page or the hub sends only
 * a notice, the feed is fetched. */
#include "fetcher/delivery.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/stats.h"
#include "feed/lists/history.h"
#include "feed/lists/metadata.h"
#include "fetcher/fetch_loop.h"
#include "fetcher/past.h"
#include "fetcher/room.h"
#include "fetcher/stream.h"
#include "net/decode.h"

#define HELD_MAX ((int64_t)64 * 1024 * 1024) /* bytes of all waiting deliveries */

struct delivery {
    struct fetcher *f;
    struct str signature, secret, coding;
    int64_t n_bytes;
    upstream_done_fn *done;
    void *ctx;
};

static struct delivery *state_of(const struct job *job)
{
    return job->states[SOURCE_ID_delivery];
}

/* ---- room for those that wait ---------------------------------------------------------------- */

/* In memory; what they may add to the database is counted in fetcher/room.c. */
static void let_go(struct fetcher *f, int64_t n_bytes)
{
    atomic_fetch_sub(&f->delivered_bytes, n_bytes);
    atomic_fetch_sub(&f->n_deliveries, 1);
}

static bool hold(struct fetcher *f, int64_t n_bytes)
{
    bool has_room = atomic_fetch_add(&f->delivered_bytes, n_bytes) <= HELD_MAX;

    has_room &= atomic_fetch_add(&f->n_deliveries, 1) < DELIVERIES_MAX;
    if (!has_room)
        let_go(f, n_bytes);
    return has_room;
}

static void on_ended(void *ctx)
{
    fetch_loop_pump(ctx);
}

/* Its room is free when the database was measured, which the fetch loop sees to; documents may wait there. */
static void give_room(struct fetcher *f, struct job *job)
{
    bool had_room = job->room > 0;

    room_give(f, job);
    if (had_room)
        loop_post(f->loop, on_ended, f);
}

static void end(struct job *job, enum upstream_verdict verdict)
{
    struct delivery *d = state_of(job);

    let_go(d->f, d->n_bytes);
    give_room(d->f, job);
    d->done(d->ctx, verdict);
    job_free(&job);
}

/* ---- it comes in (any thread) ---------------------------------------------------------------- */

static void fill(struct job *job, const struct upstream_delivery *in,
                 const struct upstream_key *key)
{
    job->started_at = clock_now_s();
    job->feed_id = job->result_id = key->feed_id;
    job->resp = (struct response){
        .kind = RESPONSE_DOCUMENT, .status = 200, .partial = true, .max_age_s = -1};
    job->url = job->final_url = key->topic;
    job->answer_arena = arena_new();
    job->body = str_dup(job->answer_arena, in->body);
    job->content_type = str_dup(job->arena, in->content_type);
    job->content_language = str_dup(job->arena, in->content_language);
    job->content_location = str_dup(job->arena, in->content_location);
}

enum upstream_verdict delivery_take(struct fetcher *f, const struct upstream_delivery *in,
                                    upstream_done_fn *done, void *ctx)
{
    static const struct schedule_rules no_rules;
    struct job *job = job_new(f, &source_delivery, 0, 0, &no_rules);
    struct delivery *d = ARENA_NEW(job->arena, struct delivery);
    struct upstream_key key = {0};
    enum upstream_verdict verdict = upstream_subs_admit(f->upstreams, in->token, job->arena, &key);

    if (verdict == VERDICT_TAKEN && str_trim(in->signature).len == 0)
        verdict = VERDICT_UNSIGNED; /* every subscription has a secret (7.1.2) */
    if (verdict != VERDICT_TAKEN)
        stats_inc(STAT_upstream_deliveries_refused_total);
    else if (store_fill(f->store) == FILL_FULL || !hold(f, (int64_t)in->body.len))
        verdict = VERDICT_BUSY;
    if (verdict != VERDICT_TAKEN) {
        job_free(&job);
        return verdict;
    }
    fill(job, in, &key);
    job->states[SOURCE_ID_delivery] = d;
    *d = (struct delivery){.f = f,
                           .signature = str_dup(job->arena, in->signature),
                           .secret = key.secret,
                           .coding = str_dup(job->arena, in->content_coding),
                           .n_bytes = (int64_t)in->body.len,
                           .done = done,
                           .ctx = ctx};
    if (room_take_pushed(f, job) && queue_try_push(f->parse, job) == RC_OK)
        return VERDICT_PENDING;
    room_leave(f, job);
    let_go(f, d->n_bytes);
    job_free(&job);
    return VERDICT_BUSY;
}

/* ---- it is read (a worker) ------------------------------------------------------------------- */

bool delivery_is_signed(struct str signature, struct str secret, struct str body)
{
    static const struct {
        const char *name;
        enum digest_kind kind;
    } methods[] = {{"sha1", DIGEST_SHA1},
                   {"sha256", DIGEST_SHA256},
                   {"sha384", DIGEST_SHA384},
                   {"sha512", DIGEST_SHA512}};
    struct str hex = str_trim(signature), method = str_trim(str_split(&hex, '='));
    unsigned char mac[DIGEST_MAX_LEN];
    char want[2 * DIGEST_MAX_LEN + 1], got[2 * DIGEST_MAX_LEN];
    size_t n;

    hex = str_trim(hex);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!str_ieqz(method, methods[i].name))
            continue;
        n = digest_hmac(methods[i].kind, secret, body, mac);
        digest_hex(mac, n, want);
        if (hex.len != 2 * n)
            return false;
        for (size_t k = 0; k < hex.len; k++)
            got[k] = (char)(hex.ptr[k] >= 'A' && hex.ptr[k] <= 'F' ? hex.ptr[k] | 32 : hex.ptr[k]);
        return digest_same(want, got, hex.len);
    }
    return false;
}

/* Undo the content coding. This comes after the check of the signature, which is of the coded
 * bytes. The room was taken by their length, so more may be needed now. */
static enum upstream_verdict decode(struct job *job)
{
    AUTO(buf_release) struct buf out = BUF_INIT(LIMIT_FETCH_BODY);
    struct decoder *decoder;
    struct err why = ERR_INIT;
    enum rc rc = decoder_new(state_of(job)->coding, LIMIT_FETCH_BODY, &decoder, &why);

    if (rc == RC_OK && decoder == NULL)
        return VERDICT_TAKEN;
    if (rc == RC_OK)
        rc = decoder_feed(decoder, job->body.ptr, job->body.len, &out, &why);
    if (rc == RC_OK)
        rc = decoder_end(decoder, &why);
    decoder_free(&decoder);
    if (rc == RC_OK) {
        job->body = str_dup(job->answer_arena, buf_view(&out));
        return room_resize(job->owner, job) ? VERDICT_TAKEN : VERDICT_BUSY;
    }
    log_info("fetcher", "delivery_undecoded", "feed=%" PRId64 " error=%s", job->feed_id,
             log_quote(str_from(why.text)));
    return rc == RC_LIMIT ? VERDICT_TOO_LARGE : VERDICT_UNDECODED;
}

/* The feed is gone. If it was merged, and another node moves the hub's row to the other feed, the
 * row that we know is the old one: the hub is to come again, and finds the new one. */
static void end_gone(struct job *job)
{
    struct fetcher *f = state_of(job)->f;

    if (!f->is_alone)
        upstream_subs_read(f->upstreams, NULL, NULL);
    end(job, f->is_alone ? VERDICT_ENDED : VERDICT_BUSY);
}

static void end_rc(struct job *job, enum rc rc)
{
    if (rc == RC_NOT_FOUND)
        end_gone(job);
    else
        end(job, rc == RC_OK ? VERDICT_TAKEN : VERDICT_BUSY);
}

/* The storer's thread. */
static void on_pinged(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err UNUSED)
{
    end_rc(ctx, rc);
}

/* The delivery cannot be used, but it shows that there is something new: have the feed fetched. */
static void ask_feed(struct job *job)
{
    struct delivery *d = state_of(job);

    if (store_ping(d->f->store, &job->feed_id, 1, on_pinged, job) != RC_OK)
        end(job, VERDICT_BUSY);
}

/* The storer's thread. */
static void stored(struct job *job, enum rc rc, const struct store_result *res,
                   const struct err *err UNUSED)
{
    if (rc == RC_OK && res->is_overtaken) { /* by a poll; the next poll finds what is missing */
        ask_feed(job);
        return;
    }
    if (rc == RC_OK)
        stats_inc(STAT_upstream_deliveries_total);
    end_rc(job, rc);
}

/* What became of a delivery. */
enum taken {
    DELIVERY_STORED, /* the storer has it */
    DELIVERY_NO_FEED,
    DELIVERY_FAILED, /* the store could not be read, or has no room */
};

/* Returns true when the document can be stored; false when the feed must be asked instead. */
static bool is_next(struct reading *r, struct delivery_outcome *o)
{
    switch (stream_place_push(r->job->feed, r->doc, &o->piece)) {
    case STREAM_PLAIN:
        return true;
    case STREAM_TAKE:
        o->has_piece = true;
        return true;
    case STREAM_KNOWN:
        o->has_piece = true;
        r->doc->n_entries = r->doc->n_tombstones = 0;
        return true;
    case STREAM_PULL:
        break;
    }
    return false;
}

/* Find out whether the entries are metadata records, because these are told apart in another way.
 * Nothing else of the document's history is used here. */
static bool read_history(struct reading *r, struct delivery_outcome *o)
{
    struct feed_history history;

    if (!str_is_null(r->doc->cursor)) {
        stream_date_deletions(r);
        return false;
    }
    history_read(r->doc, past_is_harvested(r->job->feed), &history);
    o->metadata = history.metadata;
    if (!str_is_null(history.older) || history.archive || history.metadata)
        history_settle(&r->a, r->doc, history.metadata);
    return history.metadata && metadata_is_evident(&r->a, r->doc);
}

static enum taken take(struct reading *r)
{
    struct job *job = r->job;
    struct delivery_outcome o = {.feed_id = job->feed_id, .received_at = r->now};
    bool is_stream = !str_is_null(job->feed->cursor), describes;
    struct str base = is_stream ? stream_base_url(&r->a, job->final_url) : job->final_url;
    enum rc rc;

    if (!reading_parse(r, base) || !stream_is_whole(r) || !is_next(r, &o))
        return DELIVERY_NO_FEED;
    describes = read_history(r, &o);
    if (reading_compare(r, &job->feed->identity, describes, NULL) != RC_OK)
        return DELIVERY_FAILED;
    o.entries = reading_batch(r);
    o.identity = reading_identity(r);
    o.loaded = job->loaded;
    STORE_OUTCOME(rc, r->w, delivery, &o, job);
    return rc == RC_OK ? DELIVERY_STORED : DELIVERY_FAILED;
}

/* Parse and store the delivery. A feed that was last seen as a web page that leads to no feed has
 * no entries, so nothing can be added to it. */
static void run(struct reading *r)
{
    struct job *job = r->job;
    enum rc rc = job_read_feed(job, r->w->store, r->w->reader, job->arena, NULL);

    if (rc != RC_OK) {
        end_rc(job, rc);
        return;
    }
    job->feed = job->loaded.row;
    switch (job_has_document(job) ? take(r) : DELIVERY_NO_FEED) {
    case DELIVERY_STORED:
        break;
    case DELIVERY_NO_FEED:
        /* without a document, but it shows that there is something new */
        stats_inc(STAT_upstream_deliveries_total);
        ask_feed(job);
        break;
    case DELIVERY_FAILED:
        end(job, VERDICT_BUSY);
        break;
    }
}

static enum job_step understand(const struct parse_worker *w, struct job *job)
{
    const struct delivery *d = state_of(job);
    enum upstream_verdict verdict;
    struct reading r;

    if (!delivery_is_signed(d->signature, d->secret, job->body)) {
        stats_inc(STAT_upstream_deliveries_refused_total);
        /* the sender is not told that it is ignored (WebSub section 7.1.2) */
        end(job, VERDICT_IGNORED);
        return STEP_AWAY;
    }
    verdict = decode(job);
    if (verdict != VERDICT_TAKEN) {
        if (verdict != VERDICT_BUSY)
            stats_inc(STAT_upstream_deliveries_refused_total);
        end(job, verdict);
        return STEP_AWAY;
    }
    reading_begin(&r, w, job);
    run(&r); /* the job may be freed already when this returns */
    reading_end(&r);
    return STEP_AWAY;
}

const struct source source_delivery = {
    .name = "delivery",
    .understand = understand,
    .stored = stored,
};
