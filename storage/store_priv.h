/* storage/store_priv.h - the store and its readers, for the files of this folder. */
#pragma once

#include "base/queue.h"
#include "storage/cache.h"
#include "storage/directory.h"
#include "storage/memcached.h"
#include "storage/pages.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/file.h"
#include "storage/storer.h"

struct reader {
    struct store *store;
    struct db *db;         /* read-only */
    struct far_cache *far; /* NULL: none */
};

struct store {
    struct db_file *file; /* locked for this process */
    char *memcached;      /* "HOST:PORT"; NULL: none */
    struct directory *dir;
    struct storer *storer;
    struct cache *cache;
    struct pages *pages;
    struct queue *reads; /* struct read_job */
    pthread_t *threads;
    int n_threads; /* that were started */
};

/* Views end here (exclusive). Between a commit and its announcement a snapshot holds revisions that
 * nobody has been told of: a cursor made from one of them would lie beyond the end that
 * store_last_seq() names. So no view shows them. Any thread. */
static inline int64_t reader_end(const struct reader *r)
{
    return directory_last_seq(r->store->dir) + 1;
}

/* As reader_open(), but *err says why it failed. */
enum rc reader_make(struct store *s, struct reader **out, struct err *err) NODISCARD;
