/* api/lists/list_order.h - which feeds or subscriptions a list has, in which order: kept for a few seconds, so that
 * somebody who scrolls through many of them does not have all of them read and sorted for each
 * part. And how such a list is searched. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/str.h"

/* The rows of one list. It does not change once it is kept. */
struct list_order {
    struct arena arena; /* has the rest */
    struct str key;     /* the list, the caller, the question and the order that was asked for */
    int64_t edition;    /* of the subscriptions (api/views/sub_book.h) */
    int64_t until_ms;   /* monotonic */
    int64_t *ids;       /* the rows */
    size_t n;
    atomic_int n_refs;
    /* of feeds: the path of the folder of each ("News/World/"), and all folders that there are, whatever the list has */
    struct str *paths, *folders;
    size_t n_folders;
    const int64_t *counts; /* of subscriptions: how many are in which state, whatever the list has */
};

/* Returns a list without rows. The caller fills it, and has the only reference. */
struct list_order *list_order_new(struct str key, int64_t edition);
/* NULL is fine. */
void list_order_unref(struct list_order **op);

struct list_orders;

struct list_orders *list_orders_new(void);
void list_orders_free(struct list_orders **op);

/* The order with this key and edition, if it is kept still: a reference. Otherwise NULL. Any
 * thread. */
struct list_order *list_orders_get(struct list_orders *o, struct str key, int64_t edition);

/* Keep it, in the place of one with the same key; the caller keeps its reference. What is too large
 * is not kept, and the oldest ones leave when there are too many or when they are too large
 * together. Any thread. */
void list_orders_keep(struct list_orders *o, struct list_order *order);

/* The text without difference of case. Arena. */
struct str list_folded(struct arena *a, struct str s);

/* Does the text have all of these words? Both are folded. Pure. */
bool list_has_words(struct str text, struct str words);
