/* storage/pg/schema.h - makes the tables in an empty PostgreSQL database, brings those of an older
 * Feedmill up to date, and refuses others. */
#pragma once

#include "storage/pg/link.h"

/* Make the tables if there are none, or bring them to the newest schema, under a lock: of several
 * nodes that start, one does it. Nodes of the older program may go on meanwhile; they stop to take
 * work when they see the new version (storage/membership.h).
 * RC_UNSUPPORTED: the tables are of a newer Feedmill or of another program; *err says so. */
enum rc pg_schema_ready(struct pg_link *l, struct err *err) NODISCARD;

/* Which schema has it? 0: its log has no row, or several. RC_UNSUPPORTED: it is not a database of ours. */
enum rc pg_schema_version(struct pg_link *l, int64_t *out, struct err *err) NODISCARD;

/* The same as pg_schema_ready() with another list of steps and another version than the newest. */
struct migration;
enum rc pg_schema_migrate(struct pg_link *l, const struct migration *list, size_t n, int target,
                          struct err *err) NODISCARD;
