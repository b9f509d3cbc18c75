/* storage/tables.h - the columns of tables, each named once: for what an engine reads and writes.
 *
 * A table is one or more lists of rows X(KIND, column, member). `member` is where the column stands
 * in the struct of a row. storage/sqlite/fields.h makes statements of the lists. What is not in a
 * list has statements of its own. The kinds are:
 *
 *   INT         any integer, enum or bool
 *   TIME        int64_t; TIME_UNKNOWN is NULL
 *   TEXT        struct str; null is NULL
 *   EMPTY       struct str; null is ''
 *   DIGEST      unsigned char[16]
 *   SEQ         int64_t: a number of the log
 *   EVENT_TIME  int64_t: the time of a row of the log, microseconds
 *   VERSION     int64_t: a version of a feed
 *
 * The last three are numbers that are drawn when a transaction commits. An engine on which several
 * writers work at once knows them only then.
 */
#pragma once

/* Table entries, struct entry_row. The key, what never changes, and what a new revision or document
 * changes. Beside them: id, marks, id_url. */
#define ENTRY_KEY(X)                                                                               \
    X(INT, feed_id, feed_id)                                                                       \
    X(TEXT, uid, uid)
#define ENTRY_FIXED(X)                                                                             \
    X(SEQ, first_seq, first_seq)                                                                   \
    X(INT, iri_hash, iri_hash)
#define ENTRY_SAVED(X)                                                                             \
    X(SEQ, seq, seq)                                                                               \
    X(INT, sort_at, sort_at)                                                                       \
    X(INT, dated, dated)                                                                           \
    X(INT, deleted, deleted)                                                                       \
    X(DIGEST, essence, essence)                                                                    \
    X(DIGEST, doc_hash, doc_hash)                                                                  \
    X(TIME, updated_us, updated_us)                                                                \
    X(TIME, dead_at, dead_at)

/* Table revisions, struct revision. Rows are only added. Beside them: entry_id. */
#define REVISION(X)                                                                                \
    X(SEQ, seq, seq)                                                                               \
    X(INT, feed_id, feed_id)                                                                       \
    X(SEQ, batch, batch)                                                                           \
    X(INT, kind, kind)                                                                             \
    X(INT, initial, initial)                                                                       \
    X(EVENT_TIME, at_us, at_us)                                                                    \
    X(INT, sort_at, sort_at)                                                                       \
    X(TIME, published_at, published_at)                                                            \
    X(TIME, updated_at, updated_at)                                                                \
    X(TEXT, title, title)                                                                          \
    X(TEXT, link, link)                                                                            \
    X(TEXT, summary, summary)                                                                      \
    X(TEXT, author, author)                                                                        \
    X(EMPTY, doc, doc)                                                                             \
    X(EMPTY, ext, ext)
