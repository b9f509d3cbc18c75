/* storage/migrations.h - the steps from each older schema to the newest, for both engines. */
#pragma once

#include <stddef.h>

/* What brings the tables from schema version `from` to version `to`. */
struct migration {
    int from, to;
    const char *sqlite;
    const char *pg; /* NULL: no log in PostgreSQL ever had the version `from` */
};

extern const struct migration migrations[];
extern const size_t n_migrations;
