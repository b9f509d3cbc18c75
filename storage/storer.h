/* storage/storer.h - the only thread that writes. It takes operations from its queue, and commits
 * many of them in one transaction. Then it updates the directory, calls the listeners, and calls
 * `done` of the operations, in this order. */
#pragma once

#include "storage/engine.h"
#include "storage/op.h"

struct storer;

struct storer_cfg {
    const struct engine *engine;
    const char *address; /* of the database */
    bool check, is_shared;
    struct directory *dir; /* borrowed; filled by storer_new() */
    size_t queue_len;
    int batch_ops, batch_ms;
    struct levels levels;
    const struct seal_key *key; /* seals what is in plain before anything is read; NULL: none */
    bool has_no_key;            /* this daemon works without one, so the database forgets which one it was */
    int64_t feed_quota; /* new entries of a feed within a day; 0: no bound */
};

/* Open the database for writing, and fill the directory. RC_IO, RC_UNSUPPORTED: as store_open(). */
enum rc storer_new(const struct storer_cfg *cfg, struct storer **out, struct err *err) NODISCARD;

/* The address by which readers open the database. */
const char *storer_address(const struct storer *s);

/* As store_log_id() and store_secret(). They live as long as the storer. */
struct str storer_log_id(const struct storer *s);
struct str storer_secret(const struct storer *s);

/* As store_listen(). Call it before the first operation is pushed. */
void storer_listen(struct storer *s, store_notice_fn *fn, void *ctx);

/* Start the thread. RC_IO: it cannot be started. */
enum rc storer_start(struct storer *s, struct err *err) NODISCARD;

/* Hand an operation over; wait at most `wait_ms` for room, as queue_push(). RC_FULL, RC_CLOSED: the
 * operation still belongs to the caller. Any thread may call it; only worker threads may wait. */
enum rc storer_push(struct storer *s, struct op *op, int64_t wait_ms) NODISCARD;

/* Do operations wait? Any thread. */
bool storer_is_busy(struct storer *s);

/* As store_health(). Any thread. */
enum rc storer_health(struct storer *s, struct err *err) NODISCARD;

/* Use these periods from the next transaction on. Any thread. */
void storer_reload(struct storer *s, const struct levels *levels);

/* Carry out the queued operations, end the thread, close the database, free. All readers must have
 * been closed. NULL is allowed. */
void storer_free(struct storer **sp);

/* For what follows other nodes. They live as long as the storer. The writing connection is also for
 * tests while nothing is queued. */
struct tail;
struct tail *storer_tail(struct storer *s);
struct db *storer_db(struct storer *s);
