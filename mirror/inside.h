/* mirror/inside.h - what the files of the mirror's thread share: its state, and what one does for
 * another. All is the thread's, but what says otherwise. */
#pragma once

#include <pthread.h>

#include "mirror/host_rests.h"
#include "mirror/mirror.h"
#include "mirror/transfer.h"
#include "mirror/used.h"

#define AT_ONCE 4 /* transfers */

struct mirror {
    struct mirror_cfg cfg;
    struct reader *reader;
    struct loop *loop;
    struct http_client *client; /* the loop's */
    pthread_t thread;
    bool is_started;
    atomic_bool is_full; /* all places for transfers are taken */

    pthread_mutex_t lock; /* guards the next ones */
    pthread_cond_t come;
    atomic_bool is_stopped; /* set with the lock held */
    bool is_answered;       /* what was handed to the store */
    enum rc rc;
    struct transfer *ended[AT_ONCE];
    size_t n_ended;
    struct used_files used;

    /* the thread's */
    int64_t fence; /* by which this node leads, in this turn; 0: it does not, or there is only one */
    struct transfer *running[AT_ONCE];
    size_t n_running;
    size_t n_passed; /* rows that are due, but cannot begin: others follow them */
    bool is_broken;  /* the folder is not there: its disk is not mounted */
    bool is_swept;   /* since this node leads and the folder is there */
    bool is_placed;  /* the next ones are known, since then */
    int64_t place;   /* the log was looked through up to here, ... */
    int64_t stored;  /* ... and this is stored */
    int64_t n_bytes; /* of all stored files */
    struct host_rests rests;
    char walked[MIRROR_KEY_LEN]; /* rows up to this key were looked at, in this walk; ... */
    size_t walked_len;           /* 0: it begins */
    int64_t walk_ms;             /* it goes on then, monotonic */
};

/* Hand a change over, and wait for its end. RC_CLOSED: the thread is to end. RC_CONFLICT: nothing is
 * stored, because another node leads. */
enum rc mirror_hand_over(struct mirror *m, const struct mirror_change *change);

/* What must be stored: try until it is, until the thread is to end, or until another node leads. */
enum rc mirror_insist(struct mirror *m, const struct mirror_change *change);

/* Is the file with this key being fetched? */
bool mirror_is_fetching(const struct mirror *m, struct str key);

/* Does a feed that is mirrored still want this file? Also true if that cannot be read. */
bool mirror_wants(struct mirror *m, struct str key);

/* ---- room.c ---------------------------------------------------------------------------------- */

/* No row says any more that it is stored: take it out of the folder, and of the sum. If another node
 * leads by now, it may have stored the file anew, so it stays there. */
void mirror_forget(struct mirror *m, const struct mirrored *old);

/* Let what nobody needed for the longest time leave until all that is there fits, that of partial
 * files, too. What is being fetched stays, and so does the partial file `own`. RC_IO, among others:
 * the folder is not there; then nothing leaves. */
enum rc mirror_make_room(struct mirror *m, struct str own, struct err *err) NODISCARD;

/* A crash, or a disk that went away, between a file and its row leaves one without the other. */
enum rc mirror_sweep(struct mirror *m, struct err *err) NODISCARD;

/* ---- walk.c ---------------------------------------------------------------------------------- */

/* From time to time look at the next rows: those whose files nobody wants any more end, and what no entry
 * names leaves. */
enum rc mirror_walk(struct mirror *m, struct err *err) NODISCARD;
