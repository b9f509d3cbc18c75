/* notifier/carrier_http.c - sends a delivery as one HTTP call. */
#include <sys/queue.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_fields.h"
#include "notifier/carrier.h"
#include "notifier/carrier_http.h"
#include "notifier/notifier.h"

#define CONNECT_MS 10000
#define SPARE_MAX 64                    /* sendings that are kept for the next ones */
#define SPARE_BYTES ((size_t)64 * 1024) /* one whose body has grown beyond this is not kept */

struct sending {
    SLIST_ENTRY(sending) next; /* while it is not in use */
    struct sendings *all;
    carrier_done_fn *done;
    void *ctx;
    struct buf body; /* unless the load has it in one piece */
};

/* The state: what is under way, and what can be used again. */
struct sendings {
    SLIST_HEAD(, sending) spare;
    size_t n_spare;
    size_t n_busy;
    bool is_closed; /* the last one that ends frees this */
};

static void *open_http(const struct carrier_env *env UNUSED)
{
    struct sendings *all = NEW(struct sendings);

    SLIST_INIT(&all->spare);
    return all;
}

static struct sending *sending_new(struct sendings *all, carrier_done_fn *done, void *ctx)
{
    struct sending *s = SLIST_FIRST(&all->spare);

    if (s != NULL) {
        SLIST_REMOVE_HEAD(&all->spare, next);
        all->n_spare--;
    } else {
        s = NEW(struct sending);
        s->body = (struct buf)BUF_INIT(BUF_ANY);
    }
    all->n_busy++;
    s->all = all;
    s->done = done;
    s->ctx = ctx;
    return s;
}

static void sending_free(struct sending *s)
{
    buf_release(&s->body);
    mem_free(s);
}

/* The call has ended. */
static void sending_end(struct sending *s)
{
    struct sendings *all = s->all;

    all->n_busy--;
    if (!all->is_closed && all->n_spare < SPARE_MAX && s->body.cap <= SPARE_BYTES) {
        buf_reset(&s->body);
        SLIST_INSERT_HEAD(&all->spare, s, next);
        all->n_spare++;
        return;
    }
    sending_free(s);
    if (all->is_closed && all->n_busy == 0)
        mem_free(all);
}

/* The HTTP client ends what is under way. */
static void close_http(void *state)
{
    struct sendings *all = state;
    struct sending *s;

    while ((s = SLIST_FIRST(&all->spare)) != NULL) {
        SLIST_REMOVE_HEAD(&all->spare, next);
        sending_free(s);
    }
    all->is_closed = true;
    if (all->n_busy == 0)
        mem_free(all);
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
    sending_end(s);
    arena_free(&arena);
}

static uint64_t send_http(const struct carrier_env *env, void *state,
                          const struct carrier_load *load, struct str url, struct str credential,
                          carrier_done_fn *done, void *ctx)
{
    const struct notifier_cfg *cfg = env->cfg;
    const struct http_load *own = load->own;
    struct sending *s = sending_new(state, done, ctx);
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

const struct carrier carrier_http = {.name = "http",
                                     .open = open_http,
                                     .close = close_http,
                                     .send = send_http,
                                     .cancel = cancel_http};
