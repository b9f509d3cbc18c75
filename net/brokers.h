/* net/brokers.h - publishes messages at brokers that speak AMQP 0-9-1, with the broker's confirms.
 *
 * There is one connection for each broker, user, password and vhost. It has a thread of its own
 * (broker_link.h), because the library waits; the calls here never do. All of them are made on one
 * loop's thread, and results come there. A connection is opened when the first delivery needs it,
 * and closed when none has needed it for a while. After a failure to connect it is not tried again
 * during a pause that grows; deliveries of that time are not tried, unless somebody asks for it.
 *
 * A name is resolved on the loop, and the connection is made to an address that the guard permits,
 * so the library resolves nothing.
 *
 * A delivery has messages, which are published in their order, all of them at once. Each is
 * persistent and mandatory. A message is taken when the broker has confirmed it and has not
 * returned it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/guard.h"
#include "net/loop.h"

struct brokers;

struct brokers_cfg {
    struct loop *loop; /* borrowed, like the guard */
    struct guard *guard;
};

struct broker_message {
    struct str key; /* routing key, at most 255 bytes */
    struct str body;
    struct str type, id, prev_cursor, cursor, feed_url; /* null: the message has no such property */
    int64_t subscription;
    int64_t at_s;
};

/* What is published, and where. All is copied. */
struct broker_delivery {
    struct str host; /* canonical: a name, or an address, IPv6 in brackets */
    int port;
    bool is_tls;                      /* with the system's authorities, for this host */
    struct str vhost, user, password; /* SECRET */
    struct str exchange;
    bool declares; /* make the exchange if it is missing: durable, of type topic */
    const struct broker_message *messages;
    size_t n;
    int64_t timeout_ms;         /* of the whole delivery */
    int64_t connect_timeout_ms; /* until the broker has let us in */
    int64_t first_pause_ms;     /* after the first failure to connect */
    bool is_asked;              /* somebody asks for it now: no pause holds it */
};

struct broker_result {
    enum rc rc;       /* RC_OK: all were taken. RC_CLOSED: cancelled. RC_DENIED: by the guard.
                         RC_LIMIT: a message is larger than the broker takes. RC_TIMEOUT, RC_PEER.
                         RC_FULL: there is no room for a connection */
    int code;         /* reply code of AMQP: 200 with RC_OK, 312 unroutable, 404 ...; 0: none */
    const char *err;  /* a sentence, unless RC_OK; RC_CLOSED: what did not happen so far */
    size_t n_taken;   /* of the messages, from the first on */
    int64_t pause_ms; /* the broker is not tried again before; 0: it may be tried */
    bool is_untried;  /* nothing was tried, because of the pause; `err` says why there is one */
};
typedef void broker_done_fn(void *ctx, const struct broker_result *result);

struct brokers *brokers_new(const struct brokers_cfg *cfg);

/* Answer what is under way with RC_CLOSED, close all connections and free. Waits for the threads,
 * which takes a second at most: then what they wait for is broken off. */
void brokers_free(struct brokers **bp);

/* Publish. `done` runs exactly once, after this function has returned. Returns a number for
 * brokers_cancel(); it is not 0. */
uint64_t brokers_send(struct brokers *b, const struct broker_delivery *d, broker_done_fn *done,
                      void *ctx);

/* Give up: `done` runs soon, with RC_CLOSED. Messages that were published already stay so. */
void brokers_cancel(struct brokers *b, uint64_t number);
