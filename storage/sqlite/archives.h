/* storage/sqlite/archives.h - the SQL of what a publisher keeps elsewhere: tables archives, graves.
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "base/arena.h"
#include "storage/sqlite/db.h"

/* A document that the feed leads to: it is to be read unless it was. One that was read in another
 * walk (not 0) is read again. A feed has at most ARCHIVES_MAX; one more is only noted. */
#define ARCHIVES_MAX 10000
enum rc archives_want(struct db *db, int64_t feed_id, struct str url, int64_t walk,
                      struct err *err) NODISCARD;

/* The row of a document; *found is false when there is none. */
struct archive_row {
    int64_t place, walk;
    int failures;
};
enum rc archives_find(struct db *db, int64_t feed_id, struct str url, struct archive_row *out,
                      bool *found, struct err *err) NODISCARD;

/* It was read; or it could not be, or not to its end, and is asked for again from try_at on. */
enum rc archives_read(struct db *db, int64_t feed_id, struct str url, struct err *err) NODISCARD;
enum rc archives_failed(struct db *db, int64_t feed_id, struct str url, int64_t try_at,
                        bool was_cut, struct err *err) NODISCARD;

/* The one to read next, of those that may be asked for now the last that was led to: null, none. */
enum rc archives_next(struct db *db, int64_t feed_id, int64_t now, struct arena *a, struct str *url,
                      struct err *err) NODISCARD;

/* Does any wait to be read? */
enum rc archives_pending(struct db *db, int64_t feed_id, bool *out, struct err *err) NODISCARD;

/* Those unread that were led to before `place` are not wanted any more; at INT64_MAX all, also
 * those that are only to be read once more. */
enum rc archives_forget(struct db *db, int64_t feed_id, int64_t place, struct err *err) NODISCARD;

/* Give all of a record to another one, which keeps what it has. */
enum rc archives_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* Deletions: the latest of a uid counts. *when_us (microseconds): TIME_UNKNOWN when there is none.
 * At GRAVES_MAX of a feed the caller stops. */
#define GRAVES_MAX 100000
enum rc graves_count(struct db *db, int64_t feed_id, int64_t *n, struct err *err) NODISCARD;
enum rc graves_put(struct db *db, int64_t feed_id, struct str uid, int64_t when_us,
                   struct err *err) NODISCARD;
enum rc graves_find(struct db *db, int64_t feed_id, struct str uid, int64_t *when_us,
                    struct err *err) NODISCARD;
enum rc graves_clear(struct db *db, int64_t feed_id, struct err *err) NODISCARD;
