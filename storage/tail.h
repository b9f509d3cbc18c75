/* storage/tail.h - follows the commits. It alone changes the directory and calls the listeners, for
 * one commit after the other, in the order of the log.
 *
 * Only one thread uses it: the storer's.
 */
#pragma once

#include "storage/directory.h"
#include "storage/engine.h"
#include "storage/txn.h"

struct tail;

struct tail *tail_new(struct directory *dir);
void tail_free(struct tail **tp);

/* As store_listen(). Call it before the first commit. */
void tail_listen(struct tail *t, store_notice_fn *fn, void *ctx);

/* Fill the directory from the database, whose log ends with `last_seq`. RC_IO. */
enum rc tail_load(struct tail *t, struct db *db, int64_t last_seq, struct err *err) NODISCARD;

/* What a commit means for others. */
struct tail_news {
    struct arena arena;
    struct commit_notice notice;
    struct directory_feed *feeds; /* one for each of notice.feeds; brief.id 0: the feed is gone */
    bool *renews;                 /* the same; true: its aliases have not changed */
    struct key_run **runs;        /* the same; NULL: only single keys have changed */
    const struct directory_key *keys;
    size_t n_keys;
    const int64_t *edited; /* feeds whose rows have changed only in what no notice reports */
    size_t n_edited;
};
#define TAIL_NEWS_INIT                                                                             \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }

/* Read the news of a transaction from its notes and its database, before its commit. They borrow
 * the notes. RC_IO. tail_news_release() also after an error. */
enum rc tail_read(struct txn *t, struct tail_news *out, struct err *err) NODISCARD;
void tail_news_release(struct tail_news *news);

/* After the commit: bring the directory up to date, then call the listeners. Older keys of feeds
 * that have lost many are read from `db`. */
void tail_take(struct tail *t, struct db *db, const struct tail_news *news);
