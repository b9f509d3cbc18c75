/* notifier/carrier.h - takes a delivery to its endpoint, whatever the delivery contains.
 *
 * Each sink names its carrier. Today there is one: a call by HTTP. A carrier that keeps a
 * connection for many deliveries would keep it in struct carriers. Runs on the notify loop. */
#pragma once

#include <stdint.h>

#include "base/blob.h"
#include "base/buf.h"
#include "net/http_client.h"

struct notifier_cfg;

#define CARRIER_FIELDS_MAX 12 /* 4 of a webhook and HOOK_FIELDS_MAX of its subscriber */

/* What is sent: bytes, and what the carrier needs besides. */
struct carrier_load {
    struct buf body;     /* the caller's, with its maximum set */
    struct blob *shared; /* these bytes are sent instead, and are held; NULL: `body` is sent */

    /* for HTTP */
    struct str method;
    struct http_field fields[CARRIER_FIELDS_MAX]; /* including the content type */
    size_t n_fields;
};

/* Returns the bytes that are sent. */
static inline struct str carrier_load_bytes(const struct carrier_load *load)
{
    return load->shared != NULL ? blob_bytes(load->shared) : buf_view(&load->body);
}

/* The result of a delivery. */
struct carrier_answer {
    enum rc rc;      /* RC_OK: the endpoint answered. RC_CLOSED: it was cancelled, or the client is
                        gone; sinks do not see it. Any other: it did not answer properly */
    const char *err; /* a sentence, unless rc is RC_OK */
    int status;      /* of HTTP; 0: none. May be set although rc is not RC_OK */
    int64_t retry_after_s; /* the endpoint asks for this pause at least; < 0: it does not */
    struct str body;       /* with RC_OK only */
};

/* Gets the answer, which is valid until this function returns. */
typedef void carrier_done_fn(void *ctx, const struct carrier_answer *answer);

/* Shared by all carriers. */
struct carriers {
    const struct notifier_cfg *cfg; /* borrowed: current */
    struct http_client *http;       /* borrowed; calls through the guard for callbacks */
};

struct carrier {
    const char *name; /* for logs */

    /* Send the load. `url` and `credential` ("user:password", or null; SECRET) are those of the
     * endpoint. The bytes are borrowed until `done` runs. It runs exactly once, after this function
     * has returned. Returns a number for cancel(); it is not 0. */
    uint64_t (*send)(struct carriers *c, const struct carrier_load *load, struct str url,
                     struct str credential, carrier_done_fn *done, void *ctx);

    /* Cancel the call: `done` runs soon, with RC_CLOSED unless there was an answer already. */
    void (*cancel)(struct carriers *c, uint64_t number);
};

extern const struct carrier carrier_http; /* carrier_http.c */
