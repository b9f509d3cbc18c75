/* storage/pg/stalled.h - ends the session of a node that has stopped while others wait for its locks.
 *
 * A node that is frozen or cut off while it sends a commit may hold the lock of the log. Inside a
 * pipeline no timeout of the server ends that (idle_in_transaction_session_timeout counts only
 * between two trips), so one of those who wait does.
 */
#pragma once

#include "storage/pg/link.h"

/* For how long a storer waits before somebody looks what it waits for. */
#define PG_STALLED_MS 2000

/* If the trip of `storer` takes longer than that, ask by `l`, which is connected, which session it
 * waits for at last, and end it when that is the storing session of a node, of the same role, of
 * which the server expects the rest of a pipeline. What was ended, or could not be, is logged. The
 * node whose session it was connects again and finds out whether its commit was done. `storer` may
 * belong to another thread, `l` is the caller's. */
void pg_stalled_end(struct pg_link *l, const struct pg_link *storer);
