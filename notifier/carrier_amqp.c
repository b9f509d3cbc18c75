/* notifier/carrier_amqp.c - gives a delivery to a message broker, entry by entry. */
#include "base/arena.h"
#include "base/mem.h"
#include "notifier/carrier.h"
#include "notifier/carrier_amqp.h"
#include "notifier/notifier.h"

#define CONNECT_MS 10000

struct sending {
    carrier_done_fn *done;
    void *ctx;
};

static void *open_amqp(const struct carrier_env *env)
{
    struct brokers_cfg cfg = {.loop = env->loop, .guard = env->cfg->guard};

    return brokers_new(&cfg);
}

static void close_amqp(void *state)
{
    struct brokers *b = state;

    brokers_free(&b);
}

static void on_result(void *ctx, const struct broker_result *result)
{
    struct sending *s = ctx;
    struct carrier_answer answer = {
        .rc = result->rc,
        .err = result->err,
        .status = result->code,
        .retry_after_s = -1,
        .pause_ms = result->pause_ms,
        .is_untried = result->is_untried,
        .body = result->rc == RC_LIMIT ? str_from(result->err) : STR_NULL,
        .n_taken = result->rc == RC_OK ? 0 : result->n_taken,
    };

    s->done(s->ctx, &answer);
    mem_free(s);
}

/* "user:password", or the broker's usual ones. */
static void set_credential(struct broker_delivery *d, struct str credential)
{
    d->user = d->password = STR(AMQP_USER_DEFAULT);
    if (str_is_null(credential))
        return;
    d->user = str_split(&credential, ':');
    d->password = str_is_null(credential) ? STR("") : credential;
}

static uint64_t send_amqp(const struct carrier_env *env, void *state,
                          const struct carrier_load *load, struct str url UNUSED,
                          struct str credential, carrier_done_fn *done, void *ctx)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct amqp_load *own = load->own;
    struct broker_message *messages = ARENA_ARRAY(&a, struct broker_message, own->n);
    AUTO(buf_release) struct buf whole = BUF_INIT(BUF_ANY);
    struct str bytes = carrier_load_bytes(load, &whole);
    struct sending *s = NEW(struct sending);
    int64_t timeout_ms = env->cfg->timeout_ms;
    struct broker_delivery d = {
        .host = own->to.host,
        .port = own->to.port,
        .is_tls = own->to.is_tls,
        .vhost = own->to.vhost,
        .exchange = own->to.exchange,
        .declares = own->to.declares,
        .messages = messages,
        .n = own->n,
        .timeout_ms = timeout_ms,
        .connect_timeout_ms = timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS,
        .first_pause_ms = env->cfg->first_retry_ms,
        .is_asked = load->is_asked,
    };

    for (size_t i = 0; i < own->n; i++) {
        messages[i] = own->messages[i];
        messages[i].body = str_slice(bytes, i == 0 ? 0 : own->ends[i - 1], own->ends[i]);
    }
    set_credential(&d, credential);
    *s = (struct sending){done, ctx};
    return brokers_send(state, &d, on_result, s);
}

static void cancel_amqp(const struct carrier_env *env UNUSED, void *state, uint64_t number)
{
    brokers_cancel(state, number);
}

const struct carrier carrier_amqp = {.name = "amqp",
                                     .open = open_amqp,
                                     .close = close_amqp,
                                     .send = send_amqp,
                                     .cancel = cancel_amqp};
