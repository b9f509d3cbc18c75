/* notifier/carrier_http.c - sends a delivery as one HTTP call. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_fields.h"
#include "notifier/carrier.h"
#include "notifier/carrier_http.h"
#include "notifier/notifier.h"

#define CONNECT_MS 10000

struct sending {
    carrier_done_fn *done;
    void *ctx;
    struct buf body; /* unless the load has it in one piece */
};

static struct sending *sending_new(carrier_done_fn *done, void *ctx)
{
    struct sending *s = NEW(struct sending);

    *s = (struct sending){.done = done, .ctx = ctx, .body = BUF_INIT(BUF_ANY)};
    return s;
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct sending *s = ctx;
    struct arena *arena = answer == NULL ? NULL : answer->arena;
    struct carrier_answer out = {.rc = rc, .retry_after_s = -1};

    if (rc == RC_CLOSED)
        out.err = "no answer came so far";
    else if (rc != RC_OK)
        out.err = err == NULL ? rc_meaning(rc) : err->text;
    if (answer != NULL) {
        out.status = answer->status;
        out.body = answer->body;
        out.retry_after_s =
            http_retry_after_s(http_answer_field(answer, "retry-after"), clock_now_s());
    }
    s->done(s->ctx, &out);
    buf_release(&s->body);
    mem_free(s);
    arena_free(&arena);
}

static uint64_t send_http(const struct carrier_env *env, void *state UNUSED,
                          const struct carrier_load *load, struct str url, struct str credential,
                          carrier_done_fn *done, void *ctx)
{
    const struct notifier_cfg *cfg = env->cfg;
    const struct http_load *own = load->own;
    struct sending *s = sending_new(done, ctx);
    struct http_call call = {
        .method = own->method,
        .url = url,
        .credential = credential,
        .fields = own->fields,
        .n_fields = own->n_fields,
        .user_agent = str_from(cfg->user_agent),
        .body = carrier_load_bytes(load, &s->body),
        /* redirects are not followed: the owner of a moved endpoint must subscribe again */
        .max_redirects = 0,
        .max_body = LIMIT_PUSH_ANSWER,
        .max_header = LIMIT_FETCH_HEADER,
        .timeout_ms = cfg->timeout_ms,
        .connect_timeout_ms = cfg->timeout_ms < CONNECT_MS ? cfg->timeout_ms : CONNECT_MS,
        .is_brief = true,
        .keeps_part = true, /* it may say why a delivery was refused */
    };

    return http_client_start(env->http, &call, on_answer, s);
}

struct str carrier_http_why(struct arena *a, const char *who, const struct carrier_answer *answer)
{
    if (answer->status == 0)
        return str_dup(a, str_from(answer->err));
    if (answer->rc == RC_OK)
        return str_printf(a, "the %s answered with status %d; 2xx means delivered", who,
                          answer->status);
    return str_printf(a, "the %s answered with status %d, but not completely: %s", who,
                      answer->status, answer->err);
}

static void cancel_http(const struct carrier_env *env, void *state UNUSED, uint64_t number)
{
    http_client_cancel(env->http, number);
}

const struct carrier carrier_http = {.name = "http", .send = send_http, .cancel = cancel_http};
