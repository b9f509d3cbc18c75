/* storage/store_priv.h - what the files of this folder know of the store and its readers. */
#pragma once

#include "base/queue.h"
#include "storage/cache.h"
#include "storage/directory.h"
#include "storage/memcached.h"
#include "storage/pages.h"
#include "storage/sqlite/db.h"
#include "storage/storer.h"

struct reader {
    struct store *store;
    struct db *db;         /* read-only */
    struct far_cache *far; /* NULL: none */
};

struct store {
    char *path;
    char *memcached; /* "HOST:PORT"; NULL: none */
    int lock_fd;     /* held while this process has the database */
    struct directory *dir;
    struct storer *storer;
    struct cache *cache;
    struct pages *pages;
    struct queue *reads; /* struct read_job */
    pthread_t *threads;
    int n_threads; /* that were started */
};

/* A reader with what may fail said why. */
enum rc reader_make(struct store *s, struct reader **out, struct err *err) NODISCARD;
