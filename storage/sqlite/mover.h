/* storage/sqlite/mover.h - moves pages of the write-ahead log into the file of the database, on a
 * thread and a connection of its own.
 *
 * A commit that does this itself takes longer by the time that some thousand pages and two waits
 * for the disk take, and so does all that waits for the storer. The log starts anew only when all
 * its pages have been moved; while the storer writes, the mover is always a few pages late. So it
 * says when few are left, and the storer moves those between two transactions. The storer's thread
 * calls all of this.
 *
 * SQLite before 3.51.3 may lose a transaction that lets the log start anew at the very moment at
 * which another connection begins to move pages (sqlite.org/wal.html#walresetbug). A log starts anew
 * only when all its pages have been moved. So the mover begins only when there are pages that have
 * not: it is told of each commit once, and begins a further round only when many were left. And
 * nobody else moves pages meanwhile. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct mover;

/* The writer has opened the database at `path` and knows that the file has its name: it must not be
 * opened by its name later. RC_IO: no connection or no thread. */
enum rc mover_new(const char *path, struct mover **out, struct err *err) NODISCARD;

/* So many pages are in the log after a commit; to be called after each, and at no other time. True:
 * the caller is to move what is left of them. */
bool mover_tell(struct mover *m, int pages);

/* Wait until it moves nothing. Nobody else can empty the log before that. NULL is allowed. */
void mover_wait(struct mover *m);

/* End the thread, close the connection, set to NULL. NULL is allowed. */
void mover_free(struct mover **mp);
