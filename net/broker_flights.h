/* net/broker_flights.h - the messages of one channel that were published and not yet confirmed, in
 * their order. Belongs to the thread of the channel's link. Without I/O.
 */
#pragma once

#include <stdbool.h>

#include "net/broker_link.h"

struct broker_flight {
    struct broker_batch *batch; /* NULL: settled */
    size_t i;                   /* of the message in it */
    bool is_returned;           /* the broker could not route it */
};

struct broker_flights {
    struct broker_flight *items;
    size_t head, n, cap;  /* items[head .. head + n) */
    uint64_t head_tag;    /* delivery tag of items[head]; tags count from 1 */
    broker_back_fn *back; /* gets each batch whose last message was settled */
    void *ctx;
};

void broker_flights_init(struct broker_flights *f, broker_back_fn *back, void *ctx);
void broker_flights_release(struct broker_flights *f);

/* Message `i` of the batch was published. */
void broker_flights_add(struct broker_flights *f, struct broker_batch *batch, size_t i);

/* A message with these properties came back (basic.return): the first one that has them. It counts
 * as failed once it is confirmed. */
void broker_flights_return(struct broker_flights *f, struct str id, int64_t subscription);

/* The broker confirms a tag, or all tags up to it (0: all), as taken or not. Tags that are not open
 * are ignored. */
void broker_flights_settle(struct broker_flights *f, uint64_t tag, bool multiple, bool taken);

/* The channel is closed: all have failed. If its code says that a message was too large, it was the
 * largest one: the limit is below the one that closed the channel, so it is below the largest. The
 * batch of that one is marked. */
void broker_flights_fail(struct broker_flights *f, int code, const char *why);

/* The fate of message `i` of a batch is known. Returns true when it was the last one that was open.
 * `why` counts if it is the first message that has failed. */
bool broker_batch_settle(struct broker_batch *batch, size_t i, bool taken, int code,
                         const char *why);
