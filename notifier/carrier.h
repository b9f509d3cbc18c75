/* notifier/carrier.h - takes a delivery to its endpoint, whatever the delivery contains.
 *
 * A sink names its carrier in its row. Today there is one: a call by HTTP. A carrier that keeps a
 * connection for many deliveries keeps it in struct carriers. Belongs to the notify loop's thread.
 */
#pragma once

#include <stdint.h>

#include "base/blob.h"
#include "base/buf.h"
#include "net/http_client.h"

struct notifier_cfg;

#define CARRIER_FIELDS_MAX 8

/* What is sent: bytes, and what the carrier needs beside them. */
struct carrier_load {
    struct buf body;     /* of the caller, with its maximum set */
    struct blob *shared; /* the bytes to be sent instead, held; NULL: those of `body` */

    /* by HTTP */
    struct str method;
    struct http_field fields[CARRIER_FIELDS_MAX]; /* the content type among them */
    size_t n_fields;
};

/* The bytes that are sent. */
static inline struct str carrier_load_bytes(const struct carrier_load *load)
{
    return load->shared != NULL ? blob_bytes(load->shared) : buf_view(&load->body);
}

/* The result of a delivery. */
struct carrier_answer {
    enum rc rc;      /* RC_OK: the endpoint answered. RC_CLOSED: it was cancelled, or the client is
                        gone; no sink gets to see that. Else it did not answer as it should */
    const char *err; /* a sentence, unless RC_OK */
    int status;      /* of HTTP; 0: none. May be set although rc is not RC_OK */
    struct str body; /* RC_OK */
};

/* Gets the answer, which is valid until this function returns. */
typedef void carrier_done_fn(void *ctx, const struct carrier_answer *answer);

/* What carriers share. */
struct carriers {
    const struct notifier_cfg *cfg; /* borrowed: current */
    struct http_client *http;       /* borrowed; calls through the guard for callbacks */
};

struct carrier {
    const char *name; /* for logs */

    /* Send it. `url` and `credential` ("user:password", null; SECRET) are those of the endpoint.
     * The bytes are borrowed until `done` runs, exactly once and after this has returned. Returns a
     * number for cancel(), not 0. */
    uint64_t (*send)(struct carriers *c, const struct carrier_load *load, struct str url,
                     struct str credential, carrier_done_fn *done, void *ctx);

    /* Forget it: `done` runs soon after, with RC_CLOSED unless an answer was there already. */
    void (*cancel)(struct carriers *c, uint64_t number);
};

extern const struct carrier carrier_http; /* carrier_http.c */
