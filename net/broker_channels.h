/* net/broker_channels.h - the channels of one connection to a broker, and the broker's part of the
 * conversation; for broker_link.c alone. Belongs to the thread of the link, and may wait there.
 */
#pragma once

#include <amqp.h>
#include <amqp_tcp_socket.h>

#include "net/broker_flights.h"

#define BROKER_WHY 256

/* What went wrong. */
struct broker_fault {
    int code;             /* reply code of the broker; 0: it said nothing */
    bool is_fatal;        /* the connection cannot be used any more */
    char why[BROKER_WHY]; /* a sentence */
};

struct broker_channel;

struct broker_channels {
    struct broker_channel **items;
    size_t n, cap;
    broker_back_fn *back;
    void *ctx;
};

void broker_channels_init(struct broker_channels *cs, broker_back_fn *back, void *ctx);
void broker_channels_release(struct broker_channels *cs);

/* Get the channel for this exchange, which it opens if need be: with confirms, and after it has
 * made sure that the exchange is there (or, with `declares`, has made it). The caller holds it
 * until broker_channel_let_go(). NULL: *fault. */
struct broker_channel *broker_channels_get(struct broker_channels *cs, amqp_connection_state_t conn,
                                           struct str exchange, bool declares,
                                           struct broker_fault *fault);
void broker_channel_let_go(struct broker_channel *ch);

/* Publish a message of a batch. Returns a status of the library. */
int broker_channel_publish(struct broker_channel *ch, amqp_connection_state_t conn,
                           struct broker_batch *batch, size_t i);

/* Was it closed, by the broker or with its connection? Then *fault says why. */
bool broker_channel_is_closed(const struct broker_channel *ch, struct broker_fault *fault);

/* Take a frame that came. False: the broker has closed the connection, *fault says why. */
bool broker_channels_frame(struct broker_channels *cs, amqp_connection_state_t conn,
                           const amqp_frame_t *frame, struct broker_fault *fault);

/* The connection is gone: all channels are closed, and what was in flight has failed. */
void broker_channels_fail(struct broker_channels *cs, int code, const char *why);

/* Has this question been answered well? Else *fault says why. `channel`: where it was asked. */
bool broker_rpc_ok(amqp_connection_state_t conn, amqp_channel_t channel, amqp_rpc_reply_t reply,
                   struct broker_fault *fault);

/* Begin TLS (broker_tls.c) on this connection, whose socket does not block and stays the caller's.
 * The library uses it by a number of its own. The certificate must be for `host`, a name or an
 * address, and be signed by one of the system's authorities. False: `why` says why not. */
bool broker_tls_open(amqp_connection_state_t conn, const char *host, int fd,
                     struct timeval *timeout, char why[BROKER_WHY]);
