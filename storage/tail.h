/* storage/tail.h - follows the commits. It alone changes the directory and calls the listeners, for
 * one commit after the other, in the order of the log.
 *
 * With an engine that has one writer, only the storer's thread uses it. If there are several, a
 * commit of this node has its turn when all before it have been followed, and another thread
 * follows the other nodes (storage/follower.h); those two threads use it.
 */
#pragma once

#include "storage/directory.h"
#include "storage/engine.h"
#include "storage/txn.h"

struct tail;

struct tail *tail_new(struct directory *dir);
void tail_free(struct tail **tp);

/* As store_listen(). */
void tail_listen(struct tail *t, store_notice_fn *fn, void *ctx);

/* Fill the directory from the database, whose log ends with `last_seq` if it has one writer.
 * RC_IO. */
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

/* After the commit: bring the directory up to date, then call the listeners. */
void tail_take(struct tail *t, const struct tail_news *news);

/* ---- several writers: by the storer's thread, and by the one that follows -------------------- */

/* After a commit of this node, when the numbers of the notes are those of the log: if it is the
 * next one, do both of the above. If other nodes have committed meanwhile, follow them, and it with
 * them. RC_IO, RC_AGAIN: nothing was done; call it again. */
enum rc tail_turn(struct tail *t, struct txn *txn, struct err *err) NODISCARD;

/* Read all that was committed since the last call, and publish it. Errors as before. */
enum rc tail_follow(struct tail *t, struct db *db, struct err *err) NODISCARD;

/* The last notice that was followed. Any thread. */
int64_t tail_applied(struct tail *t);

/* A notice that the directory may know already, in part; it knows none after it. What is read
 * beside the directory must not be older. Any thread. */
int64_t tail_known(struct tail *t);

/* As store_fork(). Any thread. */
int64_t tail_fork(struct tail *t);
