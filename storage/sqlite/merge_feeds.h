/* storage/sqlite/merge_feeds.h - two feeds become one, in one call. */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"

/* What the call has found. */
struct merged_feeds {
    int64_t *subs; /* the subscriptions of the feed that is gone; arena */
    size_t n_subs;
    int64_t n_entries, n_items; /* as in struct feed, of the feed that stays; and so is the next */
    int n_subscriptions;
    int64_t loser; /* a third feed, of which the page of *from was an alias; 0: of none */
};

/* The feed *from is the same as *to: give its subscriptions, events, past, entries, revisions and
 * aliases to *to, and delete it; its URL and the URL of its page become aliases. Where both feeds
 * have an entry, that of *from is deleted with its revisions. The heads of *from go along if
 * `with_heads`. What the rows themselves say is not changed. What the transaction has changed must
 * have been written, and no other row may be held. RC_IO. */
enum rc merge_feeds(struct db *db, const struct feed *from, const struct feed *to, bool with_heads,
                    struct arena *a, struct merged_feeds *out, struct err *err) NODISCARD;
