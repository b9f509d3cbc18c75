/* net/broker_link.h - one connection to a broker, and its thread; for brokers.c alone.
 *
 * The loop gives batches of messages to the link. The thread connects when it has to, publishes,
 * and gives each batch back once, with its result, by a message to the loop. Channels: there is one
 * for each exchange, so what the broker has against an exchange (it closes the channel) meets only
 * those who publish there.
 *
 * Unless it says otherwise, a function is for the loop's thread, and does not wait.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/brokers.h"
#include "net/resolver.h"

struct broker_link;

/* A delivery on its way. */
struct broker_batch {
    /* fixed when it was made; strings in `arena` */
    struct arena arena;
    const struct broker_message *messages;
    size_t n;
    struct str exchange;
    bool declares;

    /* of whoever has the batch: the loop, or the thread */
    TAILQ_ENTRY(broker_batch) next;
    unsigned char *states; /* of each message */
    size_t n_open;         /* messages whose fate is not known */
    size_t first_failed;   /* index; n: none has failed */
    int code;              /* of that one: reply code of AMQP, or 0 */
    bool is_unconnected;   /* it failed because there was no connection */
    bool is_too_large;     /* one of its messages is larger than the broker takes */
    bool is_untried;       /* it was given up before anything was tried with it */
    char err[256];         /* why that one failed */

    atomic_size_t n_taken;   /* from the first message on */
    atomic_bool is_given_up; /* set by the loop: it need not be published */
    int64_t mono_given;      /* ms; when the link got it */
    void *owner;             /* of the loop */
};
TAILQ_HEAD(broker_batches, broker_batch);
typedef void broker_back_fn(void *ctx, struct broker_batch *batch);

/* Where a link leads, and how it reports. Strings are copied. */
struct broker_link_cfg {
    struct loop *loop;
    struct guard *guard;
    const char *host; /* for TLS: a name, or an address without brackets */
    bool is_tls;
    const char *vhost, *user, *password; /* SECRET */
    int64_t timeout_ms;                  /* to connect and log in, and of each question */
    void (*back)(void *ctx);             /* runs on the loop: ctx is a batch that is done */
    void (*ended)(void *ctx); /* runs on the loop after the last batch: the link can be freed */
    void *ctx;                /* of ended() */
};

/* Make a link, and start its thread. NULL: the system has no more descriptors or threads. */
struct broker_link *broker_link_new(const struct broker_link_cfg *cfg);

/* Set the addresses, with their ports, that the next connection may use: those the guard permits.
 */
void broker_link_aim(struct broker_link *l, const union address *addrs, size_t n);

/* Give it a batch. The link has it until back() runs. */
void broker_link_give(struct broker_link *l, struct broker_batch *batch);

/* Is it connected, as far as one knows? */
bool broker_link_is_up(struct broker_link *l);

/* What it is doing, as the beginning of a sentence: why something may have taken too long. Static.
 */
const char *broker_link_doing(const struct broker_link *l);

/* Nothing came from the broker since then (ms of the monotonic clock): break the connection. What
 * fails by that says what the link was doing (broker_link_doing()). */
void broker_link_break_silent(struct broker_link *l, int64_t mono_since);

/* Have the thread give back all batches, close the connection and end. ended() follows. */
void broker_link_stop(struct broker_link *l);

/* Wait for the end of the thread, which was stopped. A polite end may take `ms`; then the
 * connection is broken. This waits; it may be called more than once. */
void broker_link_join(struct broker_link *l, int64_t ms);

/* Free a link whose thread has ended. */
void broker_link_free(struct broker_link **lp);
