/* storage/pg/schema.h - makes the tables in an empty PostgreSQL database, and refuses others. */
#pragma once

#include "storage/pg/link.h"

/* Make the tables if there are none, under a lock: of several nodes that start, one makes them.
 * RC_UNSUPPORTED: the tables are of a newer Feedmill or of another program; *err says so. */
enum rc pg_schema_ready(struct pg_link *l, struct err *err) NODISCARD;
