/* storage/pg/statements.h - the statements by which PostgreSQL is read (storage/pg/statements.def).
 */
#pragma once

enum pg_statement_id {
#define STATEMENT(name, params, columns, sql) PG_SQL_##name,
#include "storage/pg/statements.def"
#undef STATEMENT
    PG_SQL_COUNT_
};

/* Types are letters of storage/pg/kinds.def. */
struct pg_statement {
    const char *name, *params, *columns, *sql;
};

extern const struct pg_statement pg_statements[PG_SQL_COUNT_];
