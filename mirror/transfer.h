/* mirror/transfer.h - one transfer: an HTTP call whose body goes to a partial file.
 *
 * The thread of the mirror makes it and opens the file. From transfer_start() on it belongs to the
 * loop, until `ended` is called there; then it is the thread's again.
 */
#pragma once

#include "mirror/partial.h"
#include "mirror/rules.h"
#include "net/http_client.h"
#include "net/loop.h"

struct transfer;
typedef void transfer_end_fn(void *ctx, struct transfer *t);

struct transfer {
    /* set before the start */
    struct arena arena;  /* of all strings */
    struct mirrored row; /* in the arena */
    struct str url;      /* canonical */
    struct str host;     /* of the URL, with the port */
    struct str proxy;    /* through which it goes; null: none. SECRET */
    struct partial file;
    struct mirror_limits limits;
    struct loop *loop;
    struct http_client *client;
    const atomic_bool *others_wait; /* for its place */
    transfer_end_fn *ended;
    void *ctx;

    /* any thread's: it is not wanted here any more, and ends with the next piece, or after WATCH_MS at most */
    atomic_bool is_ended_early;

    /* the loop's */
    uint64_t call;
    bool has_begun; /* a piece of the answer has come, and what it means is known: */
    enum mirror_take take;
    bool goes_on;  /* what comes follows what was there */
    int64_t whole; /* bytes of the file; -1: not known */
    struct loop_timer *watch;
    int64_t watched; /* bytes that had come when it was looked at last */
    bool is_stalled;

    /* set when it has ended */
    int64_t n_came;  /* bytes */
    struct str type; /* of the file */
    int64_t wait_s;  /* for so long the origin wants to be left alone; -1: it did not say */
    enum rc rc;      /* RC_OK: the file is whole */
    struct err err;
};

/* By how many bytes it brought the file further. 0: what came takes the place of what was there, or cannot be kept. */
int64_t transfer_further(const struct transfer *t);

/* On the loop, by loop_post(). */
void transfer_start(void *ctx);
