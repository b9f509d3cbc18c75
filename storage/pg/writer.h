/* storage/pg/writer.h - a transaction of the storer in PostgreSQL: loads what operations will look
 * at, and writes what they have changed.
 *
 *     txn_count_here(t);
 *     rc = pg_writer_load(w, &wants, &t->rows, err);   one trip: locks, and reads
 *     ... op_compute() ...
 *     rc = pg_writer_commit(w, t, &base, err);         one trip: writes, draws numbers, commits
 *     txn_settle(t, &base);
 *
 * Whoever changes anything of a subscription or of a feed holds the lock of its row, which the load
 * takes. Which feeds a subscription has changes under both locks. Locks are taken in this order:
 * the table of named views, subscriptions by id, feeds by id, then the row of the log, last of all.
 * Feeds that are found by what was loaded are locked later, and may meet those of another node:
 * then the database ends one of the two, which is carried out again. Numbers are drawn under that
 * last one, so they are in the order of commits. A transaction that draws none and has nothing to
 * tell does not take it.
 *
 * Errors are those of pg_run() (storage/pg/link.h); pg_fault() says what can be done. One thread.
 */
#pragma once

#include "storage/engine.h"
#include "storage/pg/link.h"
#include "storage/txn.h"
#include "storage/wants.h"

struct pg_writer;

/* The link is borrowed. `node`: whose notices it writes. */
struct pg_writer *pg_writer_new(struct pg_link *l, int64_t node);
void pg_writer_free(struct pg_writer **wp);
struct pg_link *pg_writer_link(const struct pg_writer *w);

/* Hold the rows that are wanted and not held yet, and lock the feeds. The first load begins the
 * transaction. One trip, or none. */
enum rc pg_writer_load(struct pg_writer *w, const struct wants *wants, struct rows *r,
                       struct err *err) NODISCARD;

/* In the middle of an operation, the only one of its transaction, which has drawn no number yet:
 * queue the rows that have changed, to be written with the next trip. */
void pg_writer_queue_rows(struct pg_writer *w, struct txn *t);

/* As merge_feeds() of storage/engine.h. Two trips. */
enum rc pg_writer_merge_feeds(struct pg_writer *w, const struct feed *from, const struct feed *to,
                              bool with_heads, struct arena *a, struct merged_feeds *out,
                              struct err *err) NODISCARD;

/* As the calls of the same names there. A trip each. */
enum rc pg_writer_old_revisions(struct pg_writer *w, int64_t feed_id, int64_t after, int64_t limit,
                                size_t max, struct arena *a, struct old_revisions *out,
                                struct err *err) NODISCARD;
enum rc pg_writer_take_revisions(struct pg_writer *w, int64_t feed_id, const struct taken *what,
                                 int64_t now, struct err *err) NODISCARD;
enum rc pg_writer_gone_entries(struct pg_writer *w, int64_t feed_id, const struct gone_entry *after,
                               int64_t before, size_t max, struct arena *a, struct gone_entry **out,
                               size_t *n, struct err *err) NODISCARD;
enum rc pg_writer_end_entries(struct pg_writer *w, int64_t feed_id, const struct ended *what,
                              int64_t now, struct err *err) NODISCARD;

/* As forget_feed() there. One trip. */
enum rc pg_writer_forget_feed(struct pg_writer *w, int64_t id, struct arena *a, int64_t **subs,
                              size_t *n_subs, struct err *err) NODISCARD;

/* As drop_feeds() there. It is queued. */
void pg_writer_drop_feeds(struct pg_writer *w, const int64_t *ids, size_t n);

/* Write the rows that have changed and a notice of the notes, and commit. The notes are folded. If
 * there is nothing to tell, the transaction does not learn where the log ends. One trip; none if
 * there is nothing to do. */
enum rc pg_writer_commit(struct pg_writer *w, struct txn *t, struct txn_base *base,
                         struct err *err) NODISCARD;

/* Give up the transaction. No trip if the connection is gone. */
void pg_writer_rollback(struct pg_writer *w);

/* After a commit whose answer was lost (PG_FAULT_UNSURE): was it done? Then *base is what
 * pg_writer_commit() would have given. A transaction that has only said how feeds are after a
 * request counts as not done: to do it again does no harm. One trip. */
enum rc pg_writer_was_committed(struct pg_writer *w, const struct txn *t, bool *out,
                                struct txn_base *base, struct err *err) NODISCARD;

/* Bits of notices.feed_bits. */
enum notice_bit {
    NOTICE_NEW = 1,      /* the feed was made */
    NOTICE_PINGED = 2,   /* somebody says that it has news */
    NOTICE_NEWS = 4,     /* it has new rows in the log */
    NOTICE_EVENT = 8,    /* something happened to the feed itself */
    NOTICE_KEYS = 16,    /* its keys have to be read again */
    NOTICE_ROW = 32,     /* readers see a change */
    NOTICE_MERGED = 64,  /* it is part of another feed, whose id is the bits from 2^8 on */
    NOTICE_WANTED = 128, /* somebody waits for a fetch */
    NOTICE_ANSWER = 256  /* without NOTICE_MERGED, the bits from 2^8 on: how a fetch has ended that
                            was waited for, 1 + enum rc; 0: none has */
};
#define NOTICE_BY_HAND (INT64_C(1) << 62) /* above all these: somebody asked for a fetch now */

/* Bits of notices.verdicts. */
enum notice_verdict { VERDICT_CONFIRMED = 1, VERDICT_UNREACHED = 2 };
