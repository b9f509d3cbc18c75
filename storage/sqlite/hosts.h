/* storage/sqlite/hosts.h - the SQL of table hosts: those that asked for a rest. All may give RC_IO.
 */
#pragma once

#include "storage/rows.h"
#include "storage/sqlite/db.h"

/* Write a row that was touched (struct held_host), inside the storer's transaction. Rows that are
 * over are deleted. */
enum rc held_host_write(struct db *db, struct held *row, struct err *err) NODISCARD;

/* As reader_host_rests(). */
enum rc hosts_resting(struct db *db, struct arena *a, struct host_rest **out, size_t *n_out,
                      struct err *err) NODISCARD;
