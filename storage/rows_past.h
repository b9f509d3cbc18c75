/* storage/rows_past.h - the past of a feed in the memory of a transaction (storage/rows.h): the
 * documents in which its publisher keeps what the feed does not show any more, and tombstones of
 * entries that are not known. Only the storer's thread uses it.
 *
 * Of the documents, all that are still to be read are held, and others that an operation names.
 */
#pragma once

#include "storage/rows.h"

/* A document. */
struct held_archive {
    struct held held;
    struct archive_row row;
    bool is_there, was_there;  /* it has a row; it has one in the database */
    struct held_archive *next; /* of the feed; set when it is added */
};

/* A tombstone. when_us TIME_UNKNOWN: there is none. */
struct held_grave {
    struct held held;
    int64_t feed_id, when_us;
    struct str uid;
    struct held_grave *next; /* of the feed; set when it is added */
};

/* What was loaded of a past. It stays loaded when an operation is undone. */
struct past_loaded {
    bool open, counts, n_graves; /* documents that are to be read; see below */
    struct held_archive *archives;
    struct held_grave *graves;
};

struct held_past {
    struct held held;
    int64_t feed_id;
    /* if loaded->counts: how many documents it has, and the highest `order` of those that were
     * read */
    int64_t n_archives, last_read;
    int64_t n_graves;  /* if loaded->n_graves: how many tombstones it has */
    bool drops_graves; /* all that are in the database are to be deleted */
    struct past_loaded *loaded;
};

/* As rows_feed() and rows_add_feed(). A past has to be added before its documents and tombstones.
 * URLs and uids are copied. */
struct held_past *rows_past(struct rows *r, int64_t feed_id);
struct held_archive *rows_archive(struct rows *r, int64_t feed_id, struct str url);
struct held_grave *rows_grave(struct rows *r, int64_t feed_id, struct str uid);
struct held_past *rows_add_past(struct rows *r, int64_t feed_id);
struct held_archive *rows_add_archive(struct rows *r, int64_t feed_id, struct str url);
struct held_grave *rows_add_grave(struct rows *r, int64_t feed_id, struct str uid);

/* ---- documents ------------------------------------------------------------------------------- */

/* The document is to be read: it is there, and was not read to its end. */
bool archive_is_open(const struct held_archive *a);

/* A document of the past leads to this one. It must be read, unless it was read already. If it was
 * read in another walk (`walk` above 0), it is read again. At most ARCHIVES_MAX of a feed. */
void past_want(struct rows *r, int64_t feed_id, struct str url, int64_t walk);

/* The same after a gap: it is read again in any case, because its publisher may add to one document
 * for ever. Those that it leads to are not. */
void past_want_again(struct rows *r, int64_t feed_id, struct str url, int64_t walk);

/* Was it read to its end, in another walk than this one? */
bool past_was_read(struct rows *r, int64_t feed_id, struct str url, int64_t walk);

/* The document was read. */
void past_read(struct rows *r, struct held_archive *a);

/* It could not be read, or not to its end (`was_cut`). From `try_at` on it is requested again. */
void past_failed(struct rows *r, struct held_archive *a, int64_t try_at, bool was_cut);

/* The document to read next. Of those that may be requested at `now`, it is the last one to which
 * the feed led. NULL: there is none. */
const struct held_archive *past_next(struct rows *r, int64_t feed_id, int64_t now);

/* Does the feed have documents that must be read, now or later, besides this one? STR_NULL: any. */
bool past_is_pending(struct rows *r, int64_t feed_id, struct str but);

/* Forget unread documents with a lower `order`. INT64_MAX: forget all, including those that are to
 * be read once more. */
void past_forget(struct rows *r, int64_t feed_id, int64_t order);

/* ---- tombstones ------------------------------------------------------------------------------ */

/* Deletions that a document told of entries which are not known; of those with one uid the latest
 * counts. At TOMBSTONES_MAX of a feed the caller adds no more. */
void past_bury(struct rows *r, int64_t feed_id, struct str uid, int64_t when_us);

/* Drop all tombstones of the feed. */
void past_drop_graves(struct rows *r, int64_t feed_id);
