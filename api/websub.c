/* api/websub.c - /websub/{token}: where the hubs of publishers verify our subscriptions and
 * deliver.
 *
 * Open to all, for hubs have no token of ours; who may call is decided by the 160 random bits of
 * the path and by the signature of a delivery. The answer comes when what was said is on disk. */
#include "api/buckets.h"
#include "api/reply.h"
#include "api/resources.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/decode.h"

#define ANSWER_MS 30000
#define TOKEN_MOST 64
#define BODY_MOST (8 * 1024 * 1024) /* a delivery */
/* calls a second from one address, and at once: a hub may serve many feeds */
#define HUB_RATE 200
#define HUB_BURST 4000

struct hub_wait { /* freed on the loop after the answer */
    struct loop *loop;
    uint64_t serial;
    struct call *call;
    struct str challenge; /* in the call's arena; null: a delivery */
    int status;
};

static void answer(struct call *c, int status, struct str challenge)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct problem p;

    switch (status) {
    case 200:
        buf_str(&out, challenge);
        reply_buf(c, 200, "text/plain; charset=utf-8", &out,
                  STR("X-Content-Type-Options: nosniff\r\n"));
        return;
    case 202:
        reply_buf(c, 202, "text/plain; charset=utf-8", &out, STR_NULL);
        return;
    case 400:
        problem_set(&p, c->arena, PROBLEM_BAD_BODY,
                    "The body is not coded as its Content-Encoding says.");
        break;
    case 403:
        problem_set(&p, c->arena, PROBLEM_FORBIDDEN,
                    "A delivery must be signed with the secret of its subscription.");
        break;
    case 404:
        problem_set(&p, c->arena, PROBLEM_NOT_FOUND,
                    "There is no such subscription at this callback.");
        break;
    case 410:
        problem_set(&p, c->arena, PROBLEM_GONE, "The subscription has ended.");
        break;
    case 413:
        problem_set(&p, c->arena, PROBLEM_TOO_LARGE, "A delivery of more than %d bytes, decoded.",
                    LIMIT_FETCH_BODY);
        break;
    default:
        problem_set(&p, c->arena, PROBLEM_BUSY, "Too much is waiting; call again in a moment.");
        p.retry_after_s = 5;
        break;
    }
    reply_problem(c, &p);
}

/* The call's loop. */
static void on_answered(void *ctx)
{
    struct hub_wait *w = ctx;
    struct call *c = call_find(w->loop, w->serial, w->call);

    if (c != NULL)
        answer(c, w->status, w->challenge);
    mem_free(w);
}

/* Any thread. */
static void on_done(void *ctx, int status)
{
    struct hub_wait *w = ctx;

    w->status = status;
    loop_post(w->loop, on_answered, w);
}

static bool is_within_rate(struct call *c)
{
    struct problem p;

    if (buckets_take(c->api->hub_calls, http_request_peer(c->req), HUB_RATE, HUB_BURST,
                     clock_mono_ms()))
        return true;
    problem_set(&p, c->arena, PROBLEM_TOO_MANY, "Too many calls from your address.");
    p.retry_after_s = 1;
    reply_problem(c, &p);
    return false;
}

static void hand_on(struct call *c, struct api_hub_call *hub, struct str challenge)
{
    struct str path = http_request_path(c->req);
    struct hub_wait *w;
    int status;

    hub->token = str_slice(path, strlen("/websub/"), path.len);
    if (path.len <= strlen("/websub/") || hub->token.len > TOKEN_MOST) {
        answer(c, 404, STR_NULL);
        return;
    }
    call_hold(c, ANSWER_MS);
    w = NEW(struct hub_wait);
    *w = (struct hub_wait){http_request_loop(c->req), c->serial, c, challenge, 0};
    status = c->api->ports.hub_call(c->api->ports.ctx, hub, on_done, w);
    if (status == 0)
        return;
    mem_free(w);
    answer(c, status, challenge);
}

void websub_get(struct call *c)
{
    struct api_hub_call hub = {.is_delivery = false};
    struct str challenge;
    struct problem p;

    if (!is_within_rate(c))
        return;
    if (!params_one(&c->params, c->arena, "hub.mode", &hub.mode, &p) ||
        !params_one(&c->params, c->arena, "hub.topic", &hub.topic, &p) ||
        !params_one(&c->params, c->arena, "hub.challenge", &challenge, &p) ||
        !params_one(&c->params, c->arena, "hub.lease_seconds", &hub.lease, &p) ||
        !params_one(&c->params, c->arena, "hub.reason", &hub.reason, &p)) {
        reply_problem(c, &p);
        return;
    }
    if (challenge.len == 0 && !str_eqz(hub.mode, "denied"))
        hub.mode = STR_NULL; /* nothing to echo: it verifies nothing */
    hand_on(c, &hub, challenge);
}

void websub_post(struct call *c)
{
    struct api_hub_call hub = {
        .is_delivery = true,
        .signature = http_request_field(c->req, "x-hub-signature"),
        .content_type = http_request_field(c->req, "content-type"),
        .content_coding = http_request_field(c->req, "content-encoding"),
        .content_language = http_request_field(c->req, "content-language"),
        .content_location = http_request_field(c->req, "content-location"),
        .body = http_request_body(c->req),
    };
    struct problem p;

    if (!is_within_rate(c))
        return;
    if (hub.body.len > BODY_MOST) {
        problem_set(&p, c->arena, PROBLEM_TOO_LARGE, "A delivery of %zu bytes; %d are taken.",
                    hub.body.len, BODY_MOST);
        reply_problem(c, &p);
    } else if (!decoder_knows(hub.content_coding)) {
        problem_set(&p, c->arena, PROBLEM_MEDIA_TYPE,
                    "The content coding of a delivery can be one of: " DECODER_ACCEPTS ".");
        p.fields = STR("Accept-Encoding: " DECODER_ACCEPTS "\r\n");
        reply_problem(c, &p);
    } else {
        hand_on(c, &hub, STR_NULL);
    }
}
