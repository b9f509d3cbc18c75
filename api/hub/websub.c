/* api/hub/websub.c - /websub/{token}: the callback at which the hubs of publishers verify our
 * subscriptions and deliver.
 *
 * It needs no token of ours, because hubs do not have one. The 160 random bits in the path and the
 * signature of a delivery decide who may call. The answer is sent when the result is on disk. */
#include "api/http/buckets.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/limits.h"
#include "base/mem.h"
#include "model/paths.h"
#include "net/decode.h"

#define ANSWER_MS 30000
#define TOKEN_MAX 64                   /* bytes */
#define DELIVERY_MAX (8 * 1024 * 1024) /* bytes of a delivery */
/* calls from one address per second, and at once; one hub may serve many feeds */
#define HUB_RATE 200
#define HUB_BURST 4000

struct upstream_wait { /* freed on the loop after the answer */
    struct ticket ticket;
    struct str challenge; /* in the request's arena; null: it is a delivery */
    enum upstream_verdict verdict;
};

static void refuse(struct request *req, enum upstream_verdict verdict)
{
    struct problem p;

    switch (verdict) {
    case VERDICT_UNDECODED:
        problem_set(&p, req->ask.arena, PROBLEM_BAD_BODY,
                    "The body does not have the content coding that Content-Encoding names.");
        break;
    case VERDICT_UNSIGNED:
        problem_set(&p, req->ask.arena, PROBLEM_FORBIDDEN,
                    "A delivery must be signed with the secret of its subscription.");
        break;
    case VERDICT_UNKNOWN:
        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND,
                    "This callback has no such subscription.");
        break;
    case VERDICT_ENDED:
        problem_set(&p, req->ask.arena, PROBLEM_GONE, "The subscription has ended.");
        break;
    case VERDICT_TOO_LARGE:
        problem_set(&p, req->ask.arena, PROBLEM_TOO_LARGE,
                    "The delivery has more than %d bytes when decoded.", LIMIT_FETCH_BODY);
        break;
    default:
        problem_set(&p, req->ask.arena, PROBLEM_BUSY,
                    "Too many deliveries are waiting; try again in a moment.");
        p.retry_after_s = 5;
        break;
    }
    reply_problem(req, &p);
}

static void answer(struct request *req, enum upstream_verdict verdict, struct str challenge)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    if (verdict == VERDICT_TAKEN) {
        buf_str(&out, challenge);
        reply_buf(req, 200, "text/plain; charset=utf-8", &out,
                  STR("X-Content-Type-Options: nosniff\r\n"));
    } else if (verdict == VERDICT_IGNORED) {
        reply_buf(req, 202, "text/plain; charset=utf-8", &out, STR_NULL);
    } else {
        refuse(req, verdict);
    }
}

/* The request's loop. */
static void on_answered(struct request *req, void *work)
{
    struct upstream_wait *w = work;

    if (req != NULL)
        answer(req, w->verdict, w->challenge);
    mem_free(w);
}

/* Any thread. */
static void on_done(void *ctx, enum upstream_verdict verdict)
{
    struct upstream_wait *w = ctx;

    w->verdict = verdict;
    ticket_post(&w->ticket, on_answered, w);
}

static bool is_within_rate(struct request *req)
{
    struct problem p;

    if (buckets_take(req->ask.api->hub_calls, http_request_peer(req->http), HUB_RATE, HUB_BURST,
                     clock_mono_ms()))
        return true;
    problem_set(&p, req->ask.arena, PROBLEM_TOO_MANY, "Too many calls from your address.");
    p.retry_after_s = 1;
    reply_problem(req, &p);
    return false;
}

/* Get the token of the callback. False: it cannot be one of ours, and the request has been
 * answered. */
static bool read_token(struct request *req, struct str *out)
{
    struct str path = http_request_path(req->http);

    *out = str_slice(path, strlen(PATH_WEBSUB "/"), path.len);
    if (out->len > 0 && out->len <= TOKEN_MAX)
        return true;
    answer(req, VERDICT_UNKNOWN, STR_NULL);
    return false;
}

static struct upstream_wait *wait_new(struct request *req, struct str challenge)
{
    struct upstream_wait *w = NEW(struct upstream_wait);

    w->ticket = ticket_take(req, ANSWER_MS);
    w->challenge = challenge;
    return w;
}

/* End the wait, if the port has answered at once. If the verdict is pending, on_done() will get
 * it. */
static void end_wait(struct request *req, struct upstream_wait *w, enum upstream_verdict verdict)
{
    struct str challenge;

    if (verdict == VERDICT_PENDING)
        return; /* on_done() has `w`, and may have freed it */
    challenge = w->challenge;
    mem_free(w);
    answer(req, verdict, challenge);
}

void websub_get(struct request *req)
{
    struct upstream_verification hub = {0};
    struct upstream_wait *w;
    struct str challenge;
    struct problem p;

    if (!is_within_rate(req))
        return;
    if (!params_one(&req->ask.params, req->ask.arena, "hub.mode", &hub.mode, &p) ||
        !params_one(&req->ask.params, req->ask.arena, "hub.topic", &hub.topic, &p) ||
        !params_one(&req->ask.params, req->ask.arena, "hub.challenge", &challenge, &p) ||
        !params_one(&req->ask.params, req->ask.arena, "hub.lease_seconds", &hub.lease, &p) ||
        !params_one(&req->ask.params, req->ask.arena, "hub.reason", &hub.reason, &p)) {
        reply_problem(req, &p);
        return;
    }
    if (challenge.len == 0 && !str_eqz(hub.mode, "denied"))
        hub.mode = STR_NULL; /* without a challenge to echo, it does not verify anything */
    if (!read_token(req, &hub.token))
        return;
    w = wait_new(req, challenge);
    end_wait(req, w,
             req->ask.api->ports.upstream_verify(req->ask.api->ports.ctx, &hub, on_done, w));
}

void websub_post(struct request *req)
{
    struct upstream_delivery hub = {
        .signature = http_request_field(req->http, "x-hub-signature"),
        .content_type = http_request_field(req->http, "content-type"),
        .content_coding = http_request_field(req->http, "content-encoding"),
        .content_language = http_request_field(req->http, "content-language"),
        .content_location = http_request_field(req->http, "content-location"),
        .body = http_request_body(req->http),
    };
    struct upstream_wait *w;
    struct problem p;

    if (!is_within_rate(req))
        return;
    if (hub.body.len > DELIVERY_MAX) {
        problem_set(&p, req->ask.arena, PROBLEM_TOO_LARGE,
                    "The delivery has %zu bytes; at most %d are allowed.", hub.body.len,
                    DELIVERY_MAX);
        reply_problem(req, &p);
    } else if (!decoder_knows(hub.content_coding)) {
        problem_set(&p, req->ask.arena, PROBLEM_MEDIA_TYPE,
                    "The content coding of a delivery must be one of: " DECODER_ACCEPTS ".");
        p.fields = STR("Accept-Encoding: " DECODER_ACCEPTS "\r\n");
        reply_problem(req, &p);
    } else if (read_token(req, &hub.token)) {
        w = wait_new(req, STR_NULL);
        end_wait(req, w,
                 req->ask.api->ports.upstream_deliver(req->ask.api->ports.ctx, &hub, on_done, w));
    }
}
