/* mirror/transfer.c - see transfer.h. */
#include "mirror/transfer.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/stats.h"
#include "net/http_fields.h"

#define WATCH_MS 60000    /* a transfer is ended in which nothing comes for so long, ... */
#define WATCH_BYTES 61440 /* ... or fewer bytes than these, if all places are taken */
#define CALL_MS ((int64_t)86400 * 1000) /* the longest transfer; it is resumed */
#define REDIRECTS 10
#define HEADER_MAX 65536

static struct mirror_answer read_answer(const struct http_answer *answer)
{
    return (struct mirror_answer){
        .status = answer->status,
        .length = http_answer_field(answer, "content-length"),
        .range = http_answer_field(answer, "content-range"),
        .coding = http_answer_field(answer, "content-encoding"),
        .type = http_answer_field(answer, "content-type"),
        .etag = http_answer_field(answer, "etag"),
        .modified = http_answer_field(answer, "last-modified"),
        .date = http_answer_field(answer, "date"),
    };
}

/* The answer begins: what does its body mean? */
static enum rc begin(struct transfer *t, const struct http_answer *answer, struct err *err)
{
    struct mirror_answer head = read_answer(answer);
    struct mirror_part part = {t->file.size, t->file.validator, t->file.type};
    struct str validator = mirror_validator(&head, clock_now_s());
    enum rc rc = RC_OK;

    t->has_begun = true;
    t->take = mirror_judge(&head, &part, &t->limits, t->row.type, &t->whole, &t->type, &t->err);
    t->type = str_dup(&t->arena, t->type);
    t->goes_on = t->take == TAKE_REST && t->file.size > 0;
    if (t->take == TAKE_WHOLE)
        rc = partial_restart(&t->file, str_dup(&t->arena, validator), t->type, err);
    else if (t->take == TAKE_ANEW)
        rc = partial_restart(&t->file, STR_NULL, STR_NULL, err);
    return rc;
}

/* Take a piece. A body that does not count is not read on: the call ends. */
static enum rc on_piece(void *ctx, const struct http_answer *answer, struct str piece,
                        struct err *err)
{
    struct transfer *t = ctx;
    enum rc rc = t->has_begun ? RC_OK : begin(t, answer, err);

    if (rc == RC_OK && atomic_load(&t->is_ended_early))
        return err_set(err, RC_CLOSED, "it is not wanted here any more");
    if (rc == RC_OK && t->take != TAKE_WHOLE && t->take != TAKE_REST)
        return err_set(err, RC_CLOSED, "the body does not count");
    if (rc == RC_OK && t->file.size + (int64_t)piece.len > t->limits.max_size)
        rc = err_set(err, RC_LIMIT, "the file has more than %" PRId64 " bytes (--mirror-size)",
                     t->limits.max_size);
    if (rc == RC_OK)
        rc = partial_add(&t->file, piece, err);
    if (rc == RC_OK)
        t->n_came += (int64_t)piece.len;
    stats_add(STAT_mirror_bytes_total, rc == RC_OK ? (int64_t)piece.len : 0);
    return rc;
}

/* What the call came to, into t->rc and t->err. */
static void conclude(struct transfer *t, enum rc rc, const struct err *err)
{
    bool counts = t->has_begun && (t->take == TAKE_WHOLE || t->take == TAKE_REST);

    if (t->has_begun && t->take == TAKE_DONE) {
        t->rc = RC_OK;
    } else if (t->has_begun && !counts) {
        t->rc = t->err.rc; /* as it was judged */
    } else if (rc != RC_OK) {
        t->rc = rc;
        t->err = *err;
        if (t->is_stalled)
            t->rc = err_set(&t->err, RC_TIMEOUT, "%" PRId64 " bytes came within %d s",
                            t->n_came - t->watched, WATCH_MS / 1000);
    } else {
        t->rc = RC_OK;
        if (t->whole >= 0 && t->file.size != t->whole)
            t->rc = err_set(&t->err, RC_PEER, "%" PRId64 " of %" PRId64 " bytes have come",
                            t->file.size, t->whole);
    }
}

static void on_done(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct transfer *t = ctx;
    struct err trouble = ERR_INIT;

    loop_timer_cancel(&t->watch);
    if (answer->status >= 400)
        t->wait_s = http_retry_after_s(http_answer_field(answer, "retry-after"), clock_now_s());
    if (rc == RC_OK && !t->has_begun) { /* it had no body */
        rc = begin(t, answer, &trouble);
        err = rc == RC_OK ? err : &trouble;
    }
    conclude(t, rc, err);
    arena_free(&answer->arena);
    t->ended(t->ctx, t);
}

int64_t transfer_further(const struct transfer *t)
{
    return t->goes_on ? t->n_came : 0;
}

static void on_watch(void *ctx)
{
    struct transfer *t = ctx;

    t->watch = NULL;
    if (t->n_came == t->watched || atomic_load(&t->is_ended_early) ||
        (t->n_came - t->watched < WATCH_BYTES && atomic_load(t->others_wait))) {
        t->is_stalled = true;
        http_client_cancel(t->client, t->call);
        return;
    }
    t->watched = t->n_came;
    t->watch = loop_timer_start(t->loop, WATCH_MS, on_watch, t);
}

void transfer_start(void *ctx)
{
    struct transfer *t = ctx;
    struct http_field fields[3];
    struct http_call call = {
        .method = STR("GET"),
        .url = t->url,
        .proxy = t->proxy,
        .fields = fields,
        .max_redirects = REDIRECTS,
        .max_header = HEADER_MAX,
        .timeout_ms = CALL_MS,
        .take = on_piece,
    };

    fields[call.n_fields++] = (struct http_field){STR("Accept"), STR("*/*")};
    if (t->file.size > 0) { /* then there is a validator */
        fields[call.n_fields++] = (struct http_field){
            STR("Range"), str_printf(&t->arena, "bytes=%" PRId64 "-", t->file.size)};
        fields[call.n_fields++] = (struct http_field){STR("If-Range"), t->file.validator};
    }
    t->wait_s = -1;
    t->watched = 0;
    t->call = http_client_start(t->client, &call, on_done, t);
    t->watch = loop_timer_start(t->loop, WATCH_MS, on_watch, t);
}
