/* api/lists/feed_order.h - which feeds a list has, in which order: kept for a few seconds, so that
 * somebody who scrolls through many of them does not have all of them read and sorted for each
 * part. */
#pragma once

#include <stdatomic.h>

#include "api/views/sub_book.h"
#include "base/arena.h"

/* The feeds of one list. It does not change once it is kept. */
struct feed_order {
    struct arena arena;        /* has the rest */
    struct str key;            /* the caller, the question and the order that was asked for */
    int64_t edition;           /* of the subscriptions (sub_book.h) */
    int64_t until_ms;          /* monotonic */
    struct feed_place *places; /* the feeds, each with the path of its folder */
    size_t n;
    struct str *folders; /* all that there are, whatever the list has */
    size_t n_folders;
    atomic_int n_refs;
};

/* Returns a list without feeds. The caller fills it, and has the only reference. */
struct feed_order *feed_order_new(struct str key, int64_t edition);
/* NULL is fine. */
void feed_order_unref(struct feed_order **op);

struct feed_orders;

struct feed_orders *feed_orders_new(void);
void feed_orders_free(struct feed_orders **op);

/* The order with this key and edition, if it is kept still: a reference. Otherwise NULL. Any
 * thread. */
struct feed_order *feed_orders_get(struct feed_orders *o, struct str key, int64_t edition);

/* Keep it, in the place of one with the same key; the caller keeps its reference. What is too large
 * is not kept, and the oldest ones leave when there are too many or when they are too large
 * together. Any thread. */
void feed_orders_keep(struct feed_orders *o, struct feed_order *order);
