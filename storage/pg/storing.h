/* storage/pg/storing.h - the storer's connection: makes the database ready, takes care that no
 * other process has it, carries out groups, and says whether it is within reach. */
#pragma once

#include "storage/engine.h"

/* As engine.open_writer. */
enum rc pg_storing_open(const char *address, bool check, bool is_shared, struct db **out,
                        struct err *err) NODISCARD;

/* What closing the connection does with it. NULL is allowed. */
struct pg_storing;
void pg_storing_free(struct pg_storing **sp);
