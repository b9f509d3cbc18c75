/* storage/rows_subs.h - the rows of subscriptions that a transaction holds (storage/rows.h). */
#pragma once

#include "storage/rows.h"

/* What of a subscription is to be written: the lists of the same names in storage/tables.h. */
enum { SUB_WRITES_PROGRESS = 1, SUB_WRITES_TERMS = 2 };

/* A row of `subscriptions`. */
struct held_sub {
    struct held held;
    struct subscription row;         /* without its feeds */
    struct str credential, settings; /* of the endpoint, of the sink. SECRET */
    struct held_sub_feed **feeds;    /* if has_feeds: its feeds, in the order in which they were
                                        named; some may be dropped */
    size_t n_feeds, cap_feeds;
    bool has_feeds;
    struct held_dead **dead; /* if has_dead: its dead letters, oldest first; some may be
                                dropped */
    size_t n_dead, cap_dead;
    bool has_dead;
};

/* A row of `sub_feeds`. */
struct held_sub_feed {
    struct held held;
    int64_t sub_id;
    int64_t place; /* the order in which the feeds were named */
    struct sub_feed row;
};

/* The subscriptions of WebSub that have a feed, or had it. Never written. */
struct held_websubs {
    struct held held;
    const int64_t *sub_ids; /* the list is made anew when it changes */
    size_t n;
};

/* Which feeds of a subscription a URL names, as the database has them: the subscription may have
 * lost some of them in this transaction. Never written. */
struct held_match {
    struct held held;
    int64_t *feed_ids; /* ascending */
    size_t n;
};

/* What of a dead letter is to be written. */
enum { DEAD_WRITES_REFUSAL = 1, DEAD_WRITES_WANTED = 2 };

/* A row of `dead_letters`. Of one that was loaded only id, sub_id, at.seq and `wanted` are known.
 */
struct held_dead {
    struct held held;
    struct dead_letter row; /* id 0: it is not written yet */
};

/* A line for the delivery log. */
struct held_note {
    struct held held;
    int64_t sub_id, slot;
    const struct delivery_note *note;
};

/* The subscription. NULL: it was not loaded. */
struct held_sub *rows_sub(struct rows *r, int64_t id);

/* For what is loaded: add a row that the caller fills. */
struct held_sub *rows_add_sub(struct rows *r, int64_t id);
struct held_sub_feed *rows_add_sub_feed(struct rows *r, struct held_sub *sub, int64_t feed_id);
struct held_dead *rows_add_dead(struct rows *r, struct held_sub *sub);

struct held_match *rows_add_match(struct rows *r, int64_t sub_id, struct str url);

/* The feeds that the URL names; NULL: it was not loaded. */
struct held_match *rows_match(struct rows *r, int64_t sub_id, struct str url);

/* Which subscriptions of WebSub may have the feed; NULL: it was not loaded. */
struct held_websubs *rows_websubs(struct rows *r, int64_t feed_id);
struct held_websubs *rows_add_websubs(struct rows *r, int64_t feed_id);

/* The row of a feed of the subscription, whose feeds are held. NULL: it does not have the feed. */
struct held_sub_feed *rows_sub_feed(struct rows *r, int64_t sub_id, int64_t feed_id);

/* A subscription is made. It has an id that was drawn, and no feeds; the caller fills the row.
 * Strings must live as long as the transaction. */
struct held_sub *rows_new_sub(struct rows *r);

/* A feed, whose row is held, is added to the subscription, whose feeds are held, unless it is
 * there. */
void rows_join_feed(struct rows *r, struct held_sub *sub, int64_t place,
                    const struct sub_feed *feed);

/* A feed is taken out of the subscription; its row is held, too. */
void rows_drop_sub_feed(struct rows *r, struct held_sub_feed *feed);

/* The place after all feeds that the subscription has, whose feeds are held. */
int64_t rows_next_place(const struct held_sub *sub);

/* How many feeds the subscription has. */
size_t rows_count_feeds(const struct held_sub *sub);

/* The list that names the feeds of the subscription, which are held; NULL: it follows none. */
struct held_sub_feed *rows_list_of(const struct held_sub *sub);
#define LIST_PLACE (-1) /* its place: before all feeds */

/* Give all feeds of the subscription this name and folder. Null keeps what they have, empty clears
 * it. If it follows a list, the name is that of the list, and the folders of the list's feeds are
 * in this one. */
void rows_rename_feeds(struct rows *r, struct held_sub *sub, struct str name, struct str folder);

/* The subscription ends. Its feeds were loaded, and the rows of these feeds. */
void rows_end_sub(struct rows *r, struct held_sub *sub);

/* Add a line to the delivery log, where it takes the place of the oldest one when DELIVERIES_KEPT
 * are there. The subscription was touched. `note` must live as long as the transaction. */
void rows_add_note(struct rows *r, struct held_sub *sub, const struct delivery_note *note);

/* ---- dead letters of a subscription; they were loaded -----------------------------------------
 */

/* An entry was refused: it gets a dead letter, or the one that it has is renewed; d->id is not
 * read. The oldest ones over DEAD_LETTERS_KEPT are dropped. */
void rows_dead_add(struct rows *r, struct held_sub *sub, const struct dead_letter *d);

/* The one with the id d->id was refused again. */
void rows_dead_refused(struct rows *r, struct held_sub *sub, const struct dead_letter *d);

/* The entries with these seqs were delivered: drop the dead letters that they have. */
void rows_dead_delivered(struct rows *r, struct held_sub *sub, int64_t first, int64_t last);

/* Drop one, or all when id is 0; have one or all delivered again. Returns how many there were. */
size_t rows_dead_drop(struct rows *r, struct held_sub *sub, int64_t id);
size_t rows_dead_want(struct rows *r, struct held_sub *sub, int64_t id);
