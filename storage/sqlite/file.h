/* storage/sqlite/file.h - the files of the database: locks them for one process, and checks that
 * they are still there.
 *
 * The lock is on the database file itself, not on its name: a symbolic link, a hard link or a
 * deleted lock file does not let a second process in. The storer asks before each commit whether
 * the files it writes are still the ones that a restart would read.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct db_file;

/* Open the database file, or make it (mode 0600), and lock it for this process. Call it before any
 * connection is opened, and release it after the last one is closed.
 * RC_IO: it cannot be opened, another process has it, or it has several names (hard links). */
enum rc db_file_claim(const char *path, struct db_file **out, struct err *err) NODISCARD;

/* Could the database be here: a file of Feedmill that this program knows, or a folder where it can be
 * made? Nothing is made or locked. Call it while this process has no database open: closing a file
 * gives up the locks on it. RC_INPUT: no; *err says why. */
enum rc db_file_judge(const char *path, struct err *err) NODISCARD;

/* Has a process claimed this file? For one that has not claimed a file itself. */
bool db_file_is_claimed(const char *path);

/* Lock an open file in the same way, until it is closed. False: another open file has the lock. */
bool db_file_lock(int fd);

/* Its absolute path without symbolic links: connections are opened by this one. Borrowed. */
const char *db_file_path(const struct db_file *f);

/* Remember the write-ahead log and the shared-memory file, which the first connection has made.
 * RC_IO: they are not there. */
enum rc db_file_note_companions(struct db_file *f, struct err *err) NODISCARD;

/* Are all three files still under their names? A few microseconds.
 * RC_UNAVAILABLE: one was deleted, moved or replaced; *err says which, and what to do about it. */
enum rc db_file_check(const struct db_file *f, struct err *err) NODISCARD;

/* Has the file system of this file so little room that it counts as full? */
bool db_file_has_full_disk(const char *path);

/* How many bytes are free there; INT64_MAX: that cannot be known. */
int64_t db_file_room(const char *path);

/* RC_IO: the database could not be opened for that reason; *err says what to do. */
enum rc db_file_say_full(const char *path, struct err *err);

/* Unlock, free, set to NULL. NULL is allowed. */
void db_file_release(struct db_file **fp);
