/* notifier/carrier_xmpp.c - gives messages to the component (net/component.h), which answers on its
 * own thread. A message that was answered by an error has an answer with a body: the condition, and
 * what the error says. */
#include "notifier/carrier_xmpp.h"

#include <stdio.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/stats.h"
#include "net/component.h"
#include "net/loop.h"
#include "notifier/carrier.h"
#include "notifier/notifier.h"

#define NOT_QUEUED UINT64_MAX /* the number of a delivery that the component does not have */

struct sending {
    TAILQ_ENTRY(sending) link;
    struct messages *all;
    struct loop *loop;
    uint64_t number;
    carrier_done_fn *done;
    void *ctx;
    enum rc rc; /* set by the component's thread, like the next */
    char *text;
};

/* The state: messages under way. */
struct messages {
    TAILQ_HEAD(, sending) list;
    bool is_closed; /* it is freed with the last message */
};

static void *open_xmpp(const struct carrier_env *env UNUSED)
{
    struct messages *m = NEW(struct messages);

    TAILQ_INIT(&m->list);
    return m;
}

static void release(struct messages *m)
{
    if (m->is_closed && TAILQ_EMPTY(&m->list))
        mem_free(m);
}

/* On the notify loop. */
static void on_answer(void *ctx)
{
    struct sending *s = ctx;
    struct messages *m = s->all;
    struct carrier_answer answer = {.rc = s->rc, .retry_after_s = -1};

    if (s->rc == RC_PEER) {
        answer.rc = RC_OK;
        answer.body = str_from(s->text);
    } else if (s->rc == RC_CLOSED) {
        answer.err = "no confirmation came so far";
    } else if (s->rc != RC_OK) {
        answer.err = s->text;
    }
    TAILQ_REMOVE(&m->list, s, link);
    s->done(s->ctx, &answer);
    stats_add(STAT_work_pending, -1);
    mem_free(s->text);
    mem_free(s);
    release(m);
}

/* On the component's thread. */
static void on_result(void *ctx, const struct component_result *res)
{
    struct sending *s = ctx;
    struct buf text = BUF_INIT(BUF_ANY);
    size_t len;

    s->rc = res->rc;
    if (res->rc == RC_PEER)
        buf_printf(&text, "%.*s%s%.*s", STR_ARG(res->condition), res->text.len > 0 ? ": " : "",
                   STR_ARG(res->text));
    else if (res->rc != RC_OK)
        buf_puts(&text, res->err);
    s->text = buf_detach(&text, &len);
    loop_post(s->loop, on_answer, s);
}

static uint64_t send_xmpp(const struct carrier_env *env, void *state,
                          const struct carrier_load *load, struct str url UNUSED,
                          struct str credential UNUSED, carrier_done_fn *done, void *ctx)
{
    AUTO(buf_release) struct buf whole = BUF_INIT(BUF_ANY);
    const struct xmpp_load *own = load->own;
    struct messages *m = state;
    struct sending *s = NEW(struct sending);
    uint64_t number = 0;

    *s = (struct sending){.all = m, .loop = env->loop, .done = done, .ctx = ctx};
    TAILQ_INSERT_TAIL(&m->list, s, link);
    stats_add(STAT_work_pending, 1);
    if (env->cfg->component != NULL)
        number =
            component_deliver(env->cfg->component, own->id, own->host,
                              carrier_load_bytes(load, &whole), env->cfg->timeout_ms, on_result, s);
    if (number == 0) {
        const struct component_result full = {.rc = RC_FULL,
                                              .err = "too many messages wait for the XMPP server"};

        number = NOT_QUEUED;
        on_result(s, &full);
    }
    s->number = number;
    return number;
}

static void cancel_xmpp(const struct carrier_env *env, void *state UNUSED, uint64_t number)
{
    if (number != NOT_QUEUED && env->cfg->component != NULL)
        component_cancel(env->cfg->component, number);
}

static void close_xmpp(void *state)
{
    struct messages *m = state;

    m->is_closed = true; /* the component ends the rest when it stops */
    release(m);
}

const struct carrier carrier_xmpp = {.name = "xmpp",
                                     .open = open_xmpp,
                                     .close = close_xmpp,
                                     .send = send_xmpp,
                                     .cancel = cancel_xmpp};
