/* storage/pg/statements.c - see statements.def. */
#include "storage/pg/statements.h"

#include "storage/pg/columns.h"

/* Words of tables with an alias that columns.h does not know. */
#define PG_WORD_S(kind, column, member) "s." #column ", "
#define PG_WORD_D(kind, column, member) "d." #column ", "

const struct pg_statement pg_statements[PG_SQL_COUNT_] = {
#define STATEMENT(name, params, columns, sql) {#name, params, columns, sql},
#include "storage/pg/statements.def"
#undef STATEMENT
};
