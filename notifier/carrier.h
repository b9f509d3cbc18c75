/* notifier/carrier.h - takes a delivery to its endpoint, whatever the delivery contains.
 *
 * A carrier is a row of model/carriers.def, which names it and its URL schemes, and a struct
 * carrier in notifier/carrier_NAME.c. Its row in model/sinks.def says which carrier a sink has.
 * What a carrier needs beside the bytes is a type of its own, in its header. What it keeps for many
 * deliveries, as connections, is its state. Runs on the notify loop.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/buf.h"
#include "base/err.h"

struct http_client;
struct loop;
struct notifier_cfg;

enum carrier_id {
#define CARRIER(id, schemes, read) CARRIER_##id,
#include "model/carriers.def"
#undef CARRIER
    CARRIERS_
};

/* What is sent: bytes, and what the carrier needs besides. */
struct carrier_load {
    struct buf body;     /* the caller's, with its maximum set */
    struct blob *shared; /* these bytes follow, and are held; NULL: none do */
    const void *own; /* of the carrier's own type, made by the sink; it lives as long as the load */
    bool is_asked;   /* somebody asks for it now: a pause of the carrier does not hold it */
};

/* Returns the bytes that are sent, in one piece. If they are in two, they are joined in `whole`,
 * which is empty and has to live as long as the result. A carrier does this as late as it can: most
 * of the bytes are the same for many deliveries, so its processor has them at hand. */
struct str carrier_load_bytes(const struct carrier_load *load, struct buf *whole);

/* The result of a delivery. */
struct carrier_answer {
    enum rc rc;      /* RC_OK: the endpoint answered. RC_CLOSED: it was cancelled, or the client is
                        gone; sinks do not see it. Any other: it did not answer properly */
    const char *err; /* a sentence, unless rc is RC_OK. RC_CLOSED: what did not happen so far */
    int status;      /* of HTTP; 0: none. May be set although rc is not RC_OK */
    int64_t retry_after_s; /* the endpoint asks for this pause at least; < 0: it does not */
    int64_t pause_ms;      /* the carrier itself makes no such call before; 0: it can */
    bool is_untried;       /* nothing was sent because of such a pause, so it is not a failure */
    struct str body;       /* what it said, as far as it came; may be null */
    size_t n_taken; /* of the entries, from the first on, were taken, though the rest was not. For
                       receivers that acknowledge one entry after the other. When the delivery was
                       refused, it was the next entry that was. 0 when all were taken */
};

/* Gets the answer, which is valid until this function returns. */
typedef void carrier_done_fn(void *ctx, const struct carrier_answer *answer);

/* What a carrier may use. */
struct carrier_env {
    const struct notifier_cfg *cfg; /* borrowed: current */
    struct loop *loop;              /* borrowed: the notify loop */
    struct http_client *http;       /* borrowed; calls through the guard for callbacks */
};

struct carrier {
    const char *name; /* for logs */

    /* Make the state, before the first delivery. NULL: there is none. `env` is borrowed until
     * close(), which cancels what is under way, and frees the state; `done` of late answers may run
     * in the loop's last messages. */
    void *(*open)(const struct carrier_env *env);
    void (*close)(void *state);

    /* Send the load. `url` and `credential` ("user:password", or null; SECRET) are those of the
     * endpoint. The load is borrowed until `done` runs. It runs exactly once, after this function
     * has returned. Returns a number for cancel(); it is not 0. */
    uint64_t (*send)(const struct carrier_env *env, void *state, const struct carrier_load *load,
                     struct str url, struct str credential, carrier_done_fn *done, void *ctx);

    /* Cancel the delivery: `done` runs soon, with RC_CLOSED unless there was an answer already. */
    void (*cancel)(const struct carrier_env *env, void *state, uint64_t number);
};

/* All carriers, and what they keep. */
struct carriers {
    struct carrier_env env;
    void *states[CARRIERS_]; /* NULL: it is not open, or has none */
};

/* Send a delivery, or cancel it, as struct carrier says. A carrier is opened with its first
 * delivery. */
uint64_t carriers_send(struct carriers *c, enum carrier_id id, const struct carrier_load *load,
                       struct str url, struct str credential, carrier_done_fn *done, void *ctx);
void carriers_cancel(struct carriers *c, enum carrier_id id, uint64_t number);

/* Close those that are open. Call it before the HTTP client is freed. */
void carriers_close(struct carriers *c);

#define CARRIER(id, schemes, read) extern const struct carrier carrier_##id;
#include "model/carriers.def"
#undef CARRIER
