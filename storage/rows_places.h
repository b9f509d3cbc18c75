/* storage/rows_places.h - whose a URL is, in the memory of a transaction (storage/rows.h). Only the
 * storer's thread uses it.
 *
 * A URL under a credential is the own URL of one feed, or another URL (alias) of one feed, or none.
 * Beside that it may be the web page of feeds. The credential may also be an access key, which
 * stands for the credential of a feed.
 */
#pragma once

#include "storage/rows.h"

struct held_place {
    struct held held;
    struct str url, credential;
    int64_t owner;        /* the feed whose own URL it is; 0: none */
    int64_t alias_of;     /* the feed of which it is an alias; 0: none */
    bool was_alias;       /* it is one in the database */
    const int64_t *pages; /* the feeds whose web page it is, ascending */
    size_t n_pages;
    int64_t key_of; /* the credential is the access key of this feed, which has the URL; 0: none */
};

/* How many aliases a feed has. */
struct held_names {
    struct held held;
    int64_t feed_id, n;
};

/* NULL: it was not loaded. Added rows are filled by the caller; strings are copied. */
struct held_place *rows_place(struct rows *r, struct str url, struct str credential);
struct held_names *rows_names(struct rows *r, int64_t feed_id);
struct held_place *rows_add_place(struct rows *r, struct str url, struct str credential);
struct held_names *rows_add_names(struct rows *r, int64_t feed_id);

/* The feed that the URL means under the credential; 0: none. It must be held. */
int64_t place_find(struct rows *r, struct str url, struct str credential);

/* A new feed has its URL as its own: one by which no feed was found. */
void place_own(struct rows *r, const struct feed *feed);

/* The feed's web page is another one, or none (null). */
void place_page(struct rows *r, const struct feed *feed, struct str page_url);

/* The feed, which was at its own URL, is at `url` now: another one that nobody owns, and that stops
 * being an alias. The feed's row is the caller's to save. */
void place_move(struct rows *r, const struct feed *feed, struct str url);

/* The URL means the feed, too. It is not added if it is the own URL of any feed, or if the feed
 * already has `most` aliases. A URL that means another feed means this one from now on. */
void place_add_alias(struct rows *r, const struct feed *feed, struct str url, int64_t most);
