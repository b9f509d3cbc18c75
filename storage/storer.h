/* storage/storer.h - the one writer: takes queued operations, commits many in one transaction,
 * tells the directory, then the listeners, then those who asked.
 */
#pragma once

#include "storage/directory.h"
#include "storage/op.h"

struct storer;

struct storer_cfg {
    const char *path;
    struct directory *dir; /* borrowed; filled by storer_new() */
    size_t queue_len;
    int batch_ops, batch_ms;
    int64_t level_period_s[3];
};

/* Open the database for writing and fill the directory. RC_IO, RC_UNSUPPORTED. */
enum rc storer_new(const struct storer_cfg *cfg, struct storer **out, struct err *err) NODISCARD;

/* Identity of the log; lives with the storer. */
struct str storer_log_id(const struct storer *s);
struct str storer_secret(const struct storer *s);

/* Before the first operation. */
void storer_listen(struct storer *s, store_notice_fn *fn, void *ctx);

/* Start the thread. RC_IO. */
enum rc storer_start(struct storer *s, struct err *err) NODISCARD;

/* Hand an operation over. RC_FULL, RC_CLOSED: it stays the caller's. Any thread. */
enum rc storer_push(struct storer *s, struct op *op) NODISCARD;

/* Carry out what is queued, empty the write-ahead log, close, free. NULL is allowed. */
void storer_free(struct storer **sp);

/* The writing connection, for tests while nothing is queued. */
struct db *storer_db(struct storer *s);
