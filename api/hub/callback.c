/* api/hub/callback.c - see callback.h. */
#include "api/hub/callback.h"

#include <string.h>

#include "api/http/buckets.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#define ANSWER_MS 30000
#define TOKEN_MAX 64 /* bytes */
/* calls from one address per second, and at once; one hub may serve many feeds */
#define HUB_RATE 200
#define HUB_BURST 4000

struct callback_wait { /* freed on the loop after the answer */
    struct ticket ticket;
    const char *media_type;
    struct str body;
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

static void answer(struct request *req, const struct callback_wait *w)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    if (w->verdict == VERDICT_TAKEN) {
        buf_str(&out, w->body);
        reply_buf(req, 200, w->media_type, &out, STR("X-Content-Type-Options: nosniff\r\n"));
    } else if (w->verdict == VERDICT_IGNORED) {
        reply_buf(req, 202, "text/plain; charset=utf-8", &out, STR_NULL);
    } else {
        refuse(req, w->verdict);
    }
}

/* The request's loop. */
static void on_answered(struct request *req, void *work)
{
    struct callback_wait *w = work;

    if (req != NULL)
        answer(req, w);
    mem_free(w);
}

void callback_done(void *ctx, enum upstream_verdict verdict)
{
    struct callback_wait *w = ctx;

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

bool callback_begin(struct request *req, const char *path, struct str *token)
{
    struct str asked = http_request_path(req->http);

    if (!is_within_rate(req))
        return false;
    *token = str_slice(asked, strlen(path) + 1, asked.len);
    if (token->len > 0 && token->len <= TOKEN_MAX)
        return true;
    refuse(req, VERDICT_UNKNOWN);
    return false;
}

struct callback_wait *callback_wait_new(struct request *req, const char *media_type,
                                        struct str body)
{
    struct callback_wait *w = NEW(struct callback_wait);

    w->ticket = ticket_take(req, ANSWER_MS);
    w->media_type = media_type;
    w->body = body;
    return w;
}

void callback_end(struct request *req, struct callback_wait *w, enum upstream_verdict verdict)
{
    if (verdict == VERDICT_PENDING)
        return; /* callback_done() has `w`, and may have freed it */
    w->verdict = verdict;
    answer(req, w);
    mem_free(w);
}
