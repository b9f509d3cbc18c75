/* storage/store_priv.h - the structs of the store and of its readers, for the files of this folder.
 */
#pragma once

#include <stdatomic.h>

#include "base/queue.h"
#include "model/filter.h"
#include "storage/cache.h"
#include "storage/directory.h"
#include "storage/memcached.h"
#include "storage/pages.h"
#include "storage/engine.h"
#include "storage/follower.h"
#include "storage/nodes.h"
#include "storage/sealed.h"
#include "storage/storer.h"

struct verdicts;

/* What came next in a feed after a position, for subscriptions to these events (pushes.c). */
struct found_push {
    int64_t feed_id, position;
    unsigned events;
    bool with_initial;
    struct str filter; /* null: none */
    struct push_lead lead;
    int64_t end;   /* with a filter: when there is nothing up to this seq; */
    bool is_whole; /*   and whether that is all */
    size_t max;    /* revisions that were asked for; 0: none were */
    struct revision *revisions;
    size_t n;
};
#define FOUND_PUSHES 4

/* The feed whose name was read last. */
struct named_feed {
    int64_t feed_id; /* 0: none was */
    struct str url, title;
};

struct reader {
    struct store *store;
    struct db *db;                         /* read-only */
    struct far_cache *far;                 /* NULL: none */
    bool is_held;                          /* from reader_hold() to reader_let_go(); then: */
    int64_t held_last;                     /* the last seq before the snapshot began */
    struct arena held;                     /* what the next one points to */
    struct found_push found[FOUND_PUSHES]; /* a ring; feed_id 0: free */
    size_t n_found;                        /* so many were found, ever */
    struct named_feed named;
    int64_t *no_dead; /* subscriptions of which no dead letter is wanted, as far as it is known */
    size_t n_no_dead;
    size_t n_judged;     /* revisions, by filters of subscriptions, since reader_hold() */
    struct hunts *hunts; /* of whoever reads in steps (reader_by_steps()); NULL: nobody does */
};

struct store {
    const struct engine *engine;
    char *memcached; /* "HOST:PORT"; NULL: none */
    char *replica;   /* address; NULL: none */
    struct seal_key *key; /* that seals secrets of feeds; NULL: they are in plain */
    struct directory *dir;
    struct storer *storer;
    struct follower *follower; /* NULL: the log has one writer */
    bool is_shared;            /* several daemons may work on the database */
    struct nodes *nodes;
    struct cache *cache;
    struct pages *pages;
    struct verdicts *verdicts;
    filter_read_fn *read_filter; /* NULL: subscriptions have no filters */
    struct queue *reads;         /* struct read_job */
    pthread_t *threads;
    int n_threads;            /* how many were started */
    atomic_llong measured_ms; /* monotonic: when its size was measured last; 0: never */
    atomic_bool is_measuring;
    int64_t max_bytes;           /* 0: no bound */
    atomic_llong mirror_edition; /* grows with each change of mirrored files */
    struct keeper *keeper;       /* NULL: everything is kept */
    atomic_int fill;             /* enum store_fill, as it was measured last */
    atomic_llong room;           /* as in struct store_room, like the next two */
    atomic_llong n_measures_begun, n_measures_ended;
    atomic_llong measure_ms; /* how long the last one took */
};

/* The seq at which all views end; they do not show it. Between a commit and its announcement, a
 * snapshot has revisions that are not announced yet. A view does not show them, because a cursor of
 * one of them would be after the end of the log, as store_last_seq() returns it. Any thread. */
static inline int64_t reader_end(const struct reader *r)
{
    return directory_last_seq(r->store->dir) + 1;
}

/* The same as reader_open(), but *err says why it failed. */
enum rc reader_make(struct store *s, struct reader **out, struct err *err) NODISCARD;
