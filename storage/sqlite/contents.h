/* storage/sqlite/contents.h - the SQL of the table contents: which records' contents are to be
 * fetched.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "base/arena.h"
#include "storage/sqlite/db.h"

enum content_state {
    CONTENT_OPEN = 0,   /* to be asked for */
    CONTENT_STORED = 1, /* part of the entry */
    CONTENT_NONE = 2,   /* nowhere in a form that can be taken in */
    CONTENT_GONE = 3,   /* nowhere at all: the entry was deleted for it */
};

struct content_row {
    int64_t entry_id, feed_id;
    enum content_state state;
    int form, n_gone, failures;
    int64_t gone_at, try_at; /* gone_at: TIME_UNKNOWN when it was there */
};

/* A new version of the entry: it is open, whatever it was. */
enum rc contents_want(struct db *db, int64_t entry_id, int64_t feed_id, struct err *err) NODISCARD;

/* out->entry_id is 0 when there is none. */
enum rc contents_find(struct db *db, int64_t entry_id, struct content_row *out,
                      struct err *err) NODISCARD;
enum rc contents_save(struct db *db, const struct content_row *row, struct err *err) NODISCARD;
enum rc contents_drop(struct db *db, int64_t entry_id, struct err *err) NODISCARD;

/* Of the open ones of a feed that may be asked for at `now`: what came last. */
enum rc contents_next(struct db *db, int64_t feed_id, int64_t now, struct content_row *out,
                      struct err *err) NODISCARD;

/* When the first open one of a feed may be asked for; TIME_UNKNOWN: none is open. */
enum rc contents_due(struct db *db, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;

/* Records that become part of others take their rows along. */
enum rc contents_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* Feeds with open ones. */
typedef void contents_each_fn(void *ctx, int64_t feed_id);
enum rc contents_each_feed(struct db *db, contents_each_fn *fn, void *ctx,
                           struct err *err) NODISCARD;
