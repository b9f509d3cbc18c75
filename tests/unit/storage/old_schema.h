/* tests/unit/storage/old_schema.h - databases of older versions, and what tables a database has. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <sqlite3.h>

#include "base/buf.h"
#include "storage/schema_version.h"
#include "storage/sqlite/shape.h"

/* Run statements in a file, as another program would. */
static inline void run_sql(const char *path, const char *sql)
{
    sqlite3 *sq;
    char *text = NULL;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &sq));
    sqlite3_exec(sq, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (sqlite3_exec(sq, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %.200s", text, sql);
    assert_int_equal(SQLITE_OK, sqlite3_close(sq));
}

/* What statements give: their first column, a row a line. */
static inline struct str text_of_sql(const char *path, const char *sql, struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    sqlite3_stmt *st;
    sqlite3 *sq;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &sq));
    while (*sql != '\0') {
        if (sqlite3_prepare_v2(sq, sql, -1, &st, &sql) != SQLITE_OK)
            fail_msg("%s: %.200s", sqlite3_errmsg(sq), sql);
        while (st != NULL && sqlite3_step(st) == SQLITE_ROW)
            buf_printf(&out, "%s\n", (const char *)sqlite3_column_text(st, 0));
        assert_int_equal(SQLITE_OK, sqlite3_finalize(st));
    }
    sqlite3_close(sq);
    return str_dup(a, buf_view(&out));
}

/* What a file's tables and indexes are, without regard to the order of columns. */
static inline struct str shape_of(const char *path, struct arena *a)
{
    return text_of_sql(path,
                       "SELECT kind || ' ' || name || ' ' || part FROM (" SHAPE_ROWS ") ORDER BY 1",
                       a);
}

/* A file of tests/fixtures/schema/, without its ending. */
static inline const char *schema_file(const char *name, struct arena *a)
{
    const char *root = getenv("FEEDMILL_SOURCE");
    FILE *file = fopen(
        arena_printf(a, "%s/tests/fixtures/schema/%s.sql", root != NULL ? root : ".", name), "r");
    char *text = arena_alloc(a, 65536);
    size_t n;

    assert_non_null(file);
    n = fread(text, 1, 65535, file);
    assert_true(n > 0 && n < 65535);
    text[n] = '\0';
    fclose(file);
    return text;
}

/* Make a database of an older version, without rows. */
static inline void make_old(const char *path, int version, struct arena *a)
{
    run_sql(path, schema_file(arena_printf(a, "v%d", version), a));
    run_sql(path, arena_printf(a, "PRAGMA user_version = %d; PRAGMA application_id = 1181050212",
                               version));
}

/* The tables of the file, a line each, referred ones first: the order in which they were made.
 * Those of the index are filled by the engine. */
static inline struct str tables_of(const char *path, struct arena *a)
{
    return text_of_sql(path,
                       "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE"
                       " 'sqlite%' AND name NOT LIKE 'old%' AND name NOT LIKE 'terms%'"
                       " ORDER BY rowid",
                       a);
}

/* What `sql` gives for each table: %s in it is the table's name. */
static inline const char *for_tables(const char *path, const char *sql, struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str rest = tables_of(path, a);

    while (!str_is_null(rest)) {
        struct str table = str_split(&rest, '\n');

        for (const char *z = sql; *z != '\0' && table.len > 0; z++)
            if (z[0] == '%' && z[1] == 's') {
                buf_str(&out, table);
                z++;
            } else {
                buf_putc(&out, *z);
            }
    }
    return str_z(a, text_of_sql(path, buf_view(&out).ptr, a));
}

/* Rows in all tables, with a value of its own for each column: a text or bytes that say where it
 * stands, or a number that no other column has. Columns that name a row have the row's number. */
static inline void fill(const char *path, struct arena *a)
{
    const char *inserts =
        for_tables(path,
                   "WITH rows (r) AS (VALUES (1), (2), (3))"
                   " SELECT 'INSERT INTO %s VALUES (' || group_concat(CASE"
                   " WHEN t.type = 'TEXT' THEN quote('%s.' || t.name || '.' || r)"
                   " WHEN t.type = 'BLOB' THEN quote(CAST('%s.' || t.name || '.' || r AS BLOB))"
                   " WHEN t.type = 'ANY' OR t.pk > 0 OR t.name LIKE '%id' OR"
                   " t.name IN ('seq', 'first_seq', 'batch') THEN r"
                   " ELSE 1000 * (t.cid + 1) + r END, ', ') || ');'"
                   " FROM rows JOIN pragma_table_info('%s') t GROUP BY r;",
                   a);

    run_sql(path, arena_printf(a, "PRAGMA foreign_keys = ON; BEGIN; %s COMMIT", inserts));
}
