/* notifier/carrier.c - see carrier.h. */
#include "notifier/carrier.h"

static const struct carrier *const carriers[CARRIERS_] = {
#define CARRIER(id, schemes, read) &carrier_##id,
#include "model/carriers.def"
#undef CARRIER
};

struct str carrier_load_bytes(const struct carrier_load *load, struct buf *whole)
{
    struct str own = buf_view(&load->body), shared = blob_bytes(load->shared);

    if (own.len == 0 || shared.len == 0)
        return shared.len == 0 ? own : shared;
    buf_reserve(whole, own.len + shared.len);
    buf_str(whole, own);
    buf_str(whole, shared);
    return buf_view(whole);
}

uint64_t carriers_send(struct carriers *c, enum carrier_id id, const struct carrier_load *load,
                       struct str url, struct str credential, carrier_done_fn *done, void *ctx)
{
    const struct carrier *carrier = carriers[id];

    if (c->states[id] == NULL && carrier->open != NULL)
        c->states[id] = carrier->open(&c->env);
    return carrier->send(&c->env, c->states[id], load, url, credential, done, ctx);
}

void carriers_cancel(struct carriers *c, enum carrier_id id, uint64_t number)
{
    carriers[id]->cancel(&c->env, c->states[id], number);
}

void carriers_close(struct carriers *c)
{
    for (size_t id = 0; id < CARRIERS_; id++) {
        if (c->states[id] != NULL)
            carriers[id]->close(c->states[id]);
        c->states[id] = NULL;
    }
}
