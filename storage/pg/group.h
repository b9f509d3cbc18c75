/* storage/pg/group.h - carries out operations in PostgreSQL, many in one transaction.
 *
 * A connection that is lost is made anew, and the group is carried out again: nothing of it was
 * stored, or the notice of it says that it was. Of a group that the database refuses, each
 * operation is carried out alone, so that only the bad one fails. One thread.
 */
#pragma once

#include "storage/op.h"
#include "storage/pg/writer.h"

/* Some operations are done: rc, err and result of each are set, and *t has the notes of what was
 * stored. Numbers are those of the log. The notes are forgotten after the call. */
typedef void pg_group_done_fn(void *ctx, struct txn *t, struct op **ops, size_t n);

/* Carry out the operations. `done` is called for each transaction, in the order of the operations;
 * only the last call, or all of them, may be missing after an error.
 * RC_CLOSED: the link was stopped; what is not done was acknowledged to nobody. */
enum rc pg_group_run(struct pg_writer *w, struct txn *t, struct op **ops, size_t n,
                     pg_group_done_fn *done, void *ctx, struct err *err) NODISCARD;
