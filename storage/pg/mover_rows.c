/* storage/pg/mover_rows.c - tables as rows of cells, from one engine into the other.
 *
 * The columns are those that the file has, and a build of both schemas from one text sees to it
 * that PostgreSQL has the same. One thing differs: the texts of revisions are in bodies (a body
 * gets the number of its revision as its id). */
#include <string.h>

#include "base/buf.h"
#include "storage/pg/answer.h"
#include "storage/pg/columns.h"
#include "storage/pg/mover.h"
#include "storage/pg/octets.h"
#include "storage/records.h"

#define ROWS_AT_ONCE 1000
#define BYTES_AT_ONCE ((size_t)4 * 1024 * 1024)

/* All tables, each after those to which it refers, with its key. */
static const struct moved_table tables[] = {
    {"feeds", "id"},
    {"heads", "feed_id"},
    {"head_log", "feed_id, since_seq"},
    {"aliases", "url, credential"},
    {"upstreams", "token"},
    {"entries", "id"},
    {"entry_keys", "feed_id, key, entry_id"},
    {"archives", "feed_id, url"},
    {"graves", "feed_id, uid"},
    {"contents", "entry_id"},
    {"revisions", "seq"},
    {"overlays", "seq"},
    {"subscriptions", "id"},
    {"sub_feeds", "sub_id, feed_id"},
    {"deliveries", "slot, sub_id"},
    {"dead_letters", "id"},
    {"feed_events", "seq"},
    {"hub_leases", "sub_id"},
    {"hub_intents", "id"},
    {"tokens", "id"},
    {"views", "name"},
    {"hosts", "host"},
    {"mirrors", "key"},
    {"mirror_names", "entry_id, key"},
    {"mirrored", "one"},
    {"sealing", "one"},
};

static const char *const body_columns[] = {"title", "link", "summary", "author", "doc", "ext"};

const struct moved_table *mover_tables(size_t *n)
{
    *n = ARRAY_LEN(tables);
    return tables;
}

enum rc mover_fail_file(struct mover *m, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", m->path, sqlite3_errmsg(m->sq));
}

/* ---- the columns of a table ------------------------------------------------------------------ */

static bool is_body_column(const struct moved_table *t, const char *name)
{
    if (strcmp(t->name, "revisions") != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(body_columns); i++)
        if (strcmp(body_columns[i], name) == 0)
            return true;
    return false;
}

static bool is_octets_column(const struct moved_table *t, const char *name)
{
#define PG_ROW struct feed_row
    static const struct pg_column feeds[] = {FEED_SAVED(PG_COLUMN)};
#undef PG_ROW

    if (strcmp(t->name, "feeds") != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(feeds); i++)
        if (strcmp(feeds[i].name, name) == 0)
            return feeds[i].kind == PG_COLUMN_OCTETS;
    return false;
}

enum rc mover_take_table(struct mover *m, const struct moved_table *t, struct err *err)
{
    sqlite3_stmt *st = NULL;
    const char *sql =
        arena_printf(&m->arena, "SELECT name, type FROM pragma_table_info('%s')", t->name);
    int got = SQLITE_DONE;

    m->table = t;
    m->n_columns = 0;
    m->n_rows = 0;
    memset(m->digest, 0, sizeof m->digest);
    if (sqlite3_prepare_v2(m->sq, sql, -1, &st, NULL) == SQLITE_OK)
        while ((got = sqlite3_step(st)) == SQLITE_ROW && m->n_columns < COLUMNS_MAX) {
            struct column *c = &m->columns[m->n_columns++];
            const char *type = (const char *)sqlite3_column_text(st, 1);

            c->name = arena_printf(&m->arena, "%s", (const char *)sqlite3_column_text(st, 0));
            c->letter = strcmp(type, "INTEGER") == 0 ? 'i' : strcmp(type, "TEXT") == 0 ? 's' : 'b';
            c->is_body = is_body_column(t, c->name);
            c->is_octets = is_octets_column(t, c->name);
        }
    sqlite3_finalize(st);
    if (m->n_columns == 0)
        return mover_fail_file(m, err);
    return got == SQLITE_DONE ? RC_OK
                              : err_set(err, RC_INTERNAL, "table %s has too many columns", t->name);
}

/* "a, b"; `what`: 'a' all, 'b' those of bodies, 'r' the others; each with `prefix`. */
static void put_names(struct buf *sql, const struct mover *m, char what, const char *prefix)
{
    bool is_first = true;

    for (size_t i = 0; i < m->n_columns; i++) {
        const struct column *c = &m->columns[i];

        if (what != 'a' && c->is_body != (what == 'b'))
            continue;
        buf_printf(sql, "%s%s%s", is_first ? "" : ", ", prefix, c->name);
        is_first = false;
    }
}

static const char *keep(struct mover *m, struct buf *sql)
{
    return arena_printf(&m->arena, "%.*s", STR_ARG(buf_view(sql)));
}

static bool has_bodies(const struct mover *m)
{
    return strcmp(m->table->name, "revisions") == 0;
}

/* Rows in the order of their key, all columns in the order of the file. */
static const char *select_text(struct mover *m, bool of_pg)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    buf_printf(&sql, "SELECT ");
    put_names(&sql, m, 'a', "");
    buf_printf(&sql, " FROM %s", m->table->name);
    if (of_pg && has_bodies(m))
        buf_printf(&sql, " JOIN bodies ON bodies.id = revisions.body");
    buf_printf(&sql, " ORDER BY %s", m->table->key);
    return keep(m, &sql);
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct cell file_cell(sqlite3_stmt *st, int i)
{
    struct cell c = {.is_null = sqlite3_column_type(st, i) == SQLITE_NULL};

    if (c.is_null)
        return c;
    if (sqlite3_column_type(st, i) == SQLITE_INTEGER) {
        c.n = sqlite3_column_int64(st, i);
        return c;
    }
    c.s.ptr = sqlite3_column_blob(st, i);
    c.s.len = (size_t)sqlite3_column_bytes(st, i);
    if (c.s.ptr == NULL)
        c.s.ptr = "";
    return c;
}

enum rc mover_each_of_file(struct mover *m, mover_row_fn *fn, struct err *err)
{
    struct cell cells[COLUMNS_MAX];
    sqlite3_stmt *st = NULL;
    enum rc rc = RC_OK;
    int got = SQLITE_ERROR;

    if (sqlite3_prepare_v2(m->sq, select_text(m, false), -1, &st, NULL) == SQLITE_OK)
        while (rc == RC_OK && (got = sqlite3_step(st)) == SQLITE_ROW) {
            for (size_t i = 0; i < m->n_columns; i++)
                cells[i] = file_cell(st, (int)i);
            m->n_rows++;
            rc = fn(m, cells, err);
        }
    if (rc == RC_OK && got != SQLITE_DONE)
        rc = mover_fail_file(m, err);
    sqlite3_finalize(st);
    return rc;
}

static struct str octets_of(struct mover *m, struct str text)
{
    AUTO(buf_release) struct buf octets = BUF_INIT(BUF_ANY);
    struct str s = pg_octets_of_text(text, &octets);

    return s.ptr == text.ptr ? s : str_dup(&m->arena, s);
}

static void pg_cells(struct mover *m, const struct pg_answer *a, size_t row, struct cell *cells)
{
    for (size_t i = 0; i < m->n_columns; i++) {
        cells[i] = (struct cell){.is_null = pg_is_null(a, row, (int)i)};
        if (m->columns[i].letter == 'i')
            cells[i].n = pg_get_int(a, row, (int)i);
        else
            cells[i].s = pg_get_bytes(a, row, (int)i);
        if (m->columns[i].is_octets)
            cells[i].s = octets_of(m, cells[i].s);
    }
}

enum rc mover_each_of_pg(struct mover *m, mover_row_fn *fn, struct err *err)
{
    const char *name = m->table->name, *select = select_text(m, true);
    const char *declare =
        arena_printf(&m->arena, "DECLARE c_%s NO SCROLL CURSOR FOR %s", name, select);
    const char *fetch = arena_printf(&m->arena, "FETCH %d FROM c_%s", ROWS_AT_ONCE, name);
    const char *end = arena_printf(&m->arena, "CLOSE c_%s", name);
    char *letters = arena_zalloc(&m->arena, COLUMNS_MAX + 1);
    struct pg_answer rows = {.n = 1};
    struct cell cells[COLUMNS_MAX];
    enum rc rc;

    for (size_t i = 0; i < m->n_columns; i++)
        letters[i] = m->columns[i].letter;
    pg_queue(m->link, declare, NULL, "", NULL);
    rc = pg_run(m->link, err);
    while (rc == RC_OK && rows.n > 0) {
        pg_queue(m->link, fetch, NULL, letters, &rows);
        rc = pg_run(m->link, err);
        for (size_t i = 0; i < rows.n && rc == RC_OK; i++) {
            pg_cells(m, &rows, i, cells);
            m->n_rows++;
            rc = fn(m, cells, err);
        }
    }
    if (rc != RC_OK)
        return rc;
    pg_queue(m->link, end, NULL, "", NULL);
    return pg_run(m->link, err);
}

/* ---- writing into PostgreSQL ----------------------------------------------------------------- */

/* "SELECT * FROM unnest($1::bigint[], ...) AS t (a, b)" */
static void put_rows(struct buf *sql, const struct mover *m)
{
    buf_printf(sql, "SELECT * FROM unnest(");
    for (size_t i = 0; i < m->n_columns; i++) {
        char letter = m->columns[i].letter;

        buf_printf(sql, "%s$%zu::%s[]", i == 0 ? "" : ", ", i + 1,
                   letter == 'i'   ? "bigint"
                   : letter == 's' ? "text"
                                   : "bytea");
    }
    buf_printf(sql, ") AS t (");
    put_names(sql, m, 'a', "");
    buf_printf(sql, ")");
}

static const char *insert_text(struct mover *m)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    if (!has_bodies(m)) {
        buf_printf(&sql, "INSERT INTO %s (", m->table->name);
        put_names(&sql, m, 'a', "");
        buf_printf(&sql, ") ");
        put_rows(&sql, m);
        return keep(m, &sql);
    }
    buf_printf(&sql, "WITH t AS (");
    put_rows(&sql, m);
    buf_printf(&sql, "), texts AS (INSERT INTO bodies (id, ");
    put_names(&sql, m, 'b', "");
    buf_printf(&sql, ") SELECT seq, ");
    put_names(&sql, m, 'b', "");
    buf_printf(&sql, " FROM t) INSERT INTO revisions (body, ");
    put_names(&sql, m, 'r', "");
    buf_printf(&sql, ") SELECT seq, ");
    put_names(&sql, m, 'r', "");
    buf_printf(&sql, " FROM t");
    return keep(m, &sql);
}

static void begin_rows(struct mover *m)
{
    pg_params_reset(&m->params);
    for (size_t i = 0; i < m->n_columns; i++) {
        char letter = m->columns[i].letter;

        m->arrays[i] = pg_put_array(&m->params, letter == 'i'   ? PG_INT
                                                : letter == 's' ? PG_TEXT
                                                                : PG_BYTES);
    }
    m->n_waiting = m->n_bytes = 0;
}

static enum rc flush_rows(struct mover *m, struct err *err)
{
    struct err why = ERR_INIT;
    enum rc rc;

    if (m->n_waiting == 0)
        return RC_OK;
    pg_queue(m->link, m->insert, &m->params, "", NULL);
    rc = pg_run(m->link, &why);
    begin_rows(m);
    return rc == RC_OK ? rc : err_set(err, rc, "table %s: %s", m->table->name, why.text);
}

static enum rc row_into_pg(struct mover *m, const struct cell *cells, struct err *err)
{
    AUTO(buf_release) struct buf octets = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < m->n_columns; i++) {
        struct pg_param *array = m->arrays[i];

        if (cells[i].is_null)
            pg_add_null(array);
        else if (m->columns[i].letter == 'i')
            pg_add_int(array, cells[i].n);
        else if (m->columns[i].is_octets)
            pg_add_text(&m->params, array, pg_text_of_octets(cells[i].s, &octets));
        else if (m->columns[i].letter == 's')
            pg_add_text(&m->params, array, cells[i].s);
        else
            pg_add_bytes(array, cells[i].s);
        m->n_bytes += cells[i].s.len;
    }
    m->n_waiting++;
    return m->n_waiting < ROWS_AT_ONCE && m->n_bytes < BYTES_AT_ONCE ? RC_OK : flush_rows(m, err);
}

enum rc mover_table_into_pg(struct mover *m, struct err *err)
{
    enum rc rc;

    m->insert = insert_text(m);
    begin_rows(m);
    rc = mover_each_of_file(m, row_into_pg, err);
    return rc == RC_OK ? flush_rows(m, err) : rc;
}

/* ---- writing into the file ------------------------------------------------------------------- */

static int bind_cell(const struct mover *m, size_t i, const struct cell *c)
{
    int at = (int)i + 1;

    if (c->is_null)
        return sqlite3_bind_null(m->into, at);
    switch (m->columns[i].letter) {
    case 'i':
        return sqlite3_bind_int64(m->into, at, c->n);
    case 's':
        return sqlite3_bind_text64(m->into, at, c->s.ptr, c->s.len, SQLITE_STATIC, SQLITE_UTF8);
    default:
        return sqlite3_bind_blob64(m->into, at, c->s.ptr, c->s.len, SQLITE_STATIC);
    }
}

static enum rc row_into_file(struct mover *m, const struct cell *cells, struct err *err)
{
    bool is_good = true;

    for (size_t i = 0; i < m->n_columns; i++)
        is_good &= bind_cell(m, i, &cells[i]) == SQLITE_OK;
    is_good = is_good && sqlite3_step(m->into) == SQLITE_DONE;
    sqlite3_reset(m->into);
    return is_good ? RC_OK : mover_fail_file(m, err);
}

enum rc mover_table_into_file(struct mover *m, struct err *err)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);
    enum rc rc;

    buf_printf(&sql, "INSERT INTO %s (", m->table->name);
    put_names(&sql, m, 'a', "");
    buf_printf(&sql, ") VALUES (");
    for (size_t i = 0; i < m->n_columns; i++)
        buf_printf(&sql, i == 0 ? "?" : ", ?");
    buf_printf(&sql, ")");
    if (sqlite3_prepare_v2(m->sq, keep(m, &sql), -1, &m->into, NULL) != SQLITE_OK)
        return mover_fail_file(m, err);
    rc = mover_each_of_pg(m, row_into_file, err);
    sqlite3_finalize(m->into);
    m->into = NULL;
    return rc;
}
