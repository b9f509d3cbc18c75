/* storage/pg/migrate.c - tables as rows of cells, from one engine into the other.
 *
 * The columns are those that the file has, and a build of both schemas from one text sees to it
 * that PostgreSQL has the same. Three things differ: the texts of revisions are in bodies (a body
 * gets the number of its revision as its id), the facts of `meta` are the row of `log`, and what
 * counts ids is a table of SQLite and sequences of PostgreSQL. */
#include "storage/pg/migrate.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "storage/pg/answer.h"
#include "storage/pg/columns.h"
#include "storage/pg/link.h"
#include "storage/pg/octets.h"
#include "storage/pg/schema.h"
#include "storage/pg/uri.h"
#include "storage/records.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/file.h"

#define ROWS_AT_ONCE 1000
#define BYTES_AT_ONCE ((size_t)4 * 1024 * 1024)
#define COLUMNS_MAX 96
#define PARTITION_IDS INT64_C(10000000) /* of table bodies (schema_pg.sql) */
#define BLOCK_IDS 1000                  /* of the sequences entry_blocks and body_blocks */

/* All tables, each after those to which it refers, with its key. */
static const struct table {
    const char *name, *key;
} tables[] = {
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
    {"mirrored", "one"},
};

/* Tables whose ids are never given out again. */
static const char *const counted[] = {"feeds", "subscriptions", "dead_letters", "hub_intents",
                                      "tokens"};

static const char *const body_columns[] = {"title", "link", "summary", "author", "doc", "ext"};

struct column {
    const char *name;
    char letter; /* of storage/pg/kinds.def: i, s, b */
    bool is_body;
    bool is_octets; /* text that need not be UTF-8 */
};

struct cell {
    bool is_null;
    int64_t n;
    struct str s;
};

struct mover {
    struct arena arena; /* texts of statements live as long as the link */
    const char *path;
    struct db_file *file;
    struct db *db;
    sqlite3 *sq;
    struct pg_uri *uri;
    struct pg_link *link;
    struct pg_params params;
    migrate_fn *fn;
    void *ctx;
    const struct table *table; /* the one that is moved */
    struct column columns[COLUMNS_MAX];
    size_t n_columns;
    int64_t n_rows;
    char digest[16]; /* of the rows so far */
    /* rows that go into PostgreSQL together */
    struct pg_param *arrays[COLUMNS_MAX];
    size_t n_waiting, n_bytes;
    const char *insert;
    /* the statement by which rows go into the file */
    sqlite3_stmt *into;
};

static enum rc fail_file(struct mover *m, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", m->path, sqlite3_errmsg(m->sq));
}

/* ---- the columns of a table ------------------------------------------------------------------ */

static bool is_body_column(const struct table *t, const char *name)
{
    if (strcmp(t->name, "revisions") != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(body_columns); i++)
        if (strcmp(body_columns[i], name) == 0)
            return true;
    return false;
}

static bool is_octets_column(const struct table *t, const char *name)
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

static enum rc take_table(struct mover *m, const struct table *t, struct err *err)
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
        return fail_file(m, err);
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

typedef enum rc row_fn(struct mover *m, const struct cell *cells, struct err *err);

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

static enum rc each_of_file(struct mover *m, row_fn *fn, struct err *err)
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
        rc = fail_file(m, err);
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

static enum rc each_of_pg(struct mover *m, row_fn *fn, struct err *err)
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

static enum rc table_into_pg(struct mover *m, struct err *err)
{
    enum rc rc;

    m->insert = insert_text(m);
    begin_rows(m);
    rc = each_of_file(m, row_into_pg, err);
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
    return is_good ? RC_OK : fail_file(m, err);
}

static enum rc table_into_file(struct mover *m, struct err *err)
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
        return fail_file(m, err);
    rc = each_of_pg(m, row_into_file, err);
    sqlite3_finalize(m->into);
    m->into = NULL;
    return rc;
}

/* ---- the facts of the log, and ids that are never given out again ---------------------------- */

struct facts {
    struct str log_id, secret;
    int64_t last_seq, last_at_us, version;
    int64_t ids[ARRAY_LEN(counted)]; /* the last one that was given out; 0: none */
};

static enum rc file_number(struct mover *m, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int got = SQLITE_ERROR;

    *out = 0;
    if (sqlite3_prepare_v2(m->sq, sql, -1, &st, NULL) == SQLITE_OK)
        got = sqlite3_step(st);
    if (got == SQLITE_ROW)
        *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return got == SQLITE_ROW || got == SQLITE_DONE ? RC_OK : fail_file(m, err);
}

static enum rc facts_of_file(struct mover *m, struct facts *out, struct err *err)
{
    enum rc rc = db_meta_text(m->db, "log_id", &m->arena, &out->log_id, err);

    if (rc == RC_OK)
        rc = db_meta_text(m->db, "secret", &m->arena, &out->secret, err);
    if (rc == RC_OK)
        rc = db_meta_number(m->db, "last_seq", &out->last_seq, err);
    if (rc == RC_OK)
        rc = db_meta_number(m->db, "last_at_us", &out->last_at_us, err);
    if (rc == RC_OK)
        rc = db_meta_number(m->db, "version", &out->version, err);
    for (size_t i = 0; i < ARRAY_LEN(counted) && rc == RC_OK; i++)
        rc =
            file_number(m,
                        arena_printf(&m->arena, "SELECT seq FROM sqlite_sequence WHERE name = '%s'",
                                     counted[i]),
                        &out->ids[i], err);
    return rc;
}

static enum rc facts_of_pg(struct mover *m, struct facts *out, struct err *err)
{
    struct pg_answer log, ids[ARRAY_LEN(counted)];
    enum rc rc;

    pg_queue(m->link, "SELECT log_id, secret, last_seq, last_at_us, version FROM log WHERE one",
             NULL, "ssiii", &log);
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        pg_queue(m->link,
                 arena_printf(&m->arena,
                              "SELECT CASE WHEN is_called THEN last_value ELSE 0 END"
                              " FROM %s_id_seq",
                              counted[i]),
                 NULL, "i", &ids[i]);
    rc = pg_run(m->link, err);
    if (rc != RC_OK)
        return rc;
    *out = (struct facts){pg_get_str(&log, 0, 0, &m->arena),
                          pg_get_str(&log, 0, 1, &m->arena),
                          pg_get_int(&log, 0, 2),
                          pg_get_int(&log, 0, 3),
                          pg_get_int(&log, 0, 4),
                          {0}};
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        out->ids[i] = pg_get_int(&ids[i], 0, 0);
    return RC_OK;
}

static void queue_numbers(struct mover *m, const char *sql, int64_t n, bool is_called)
{
    pg_params_reset(&m->params);
    pg_put_int(&m->params, n);
    pg_put_bool(&m->params, is_called);
    pg_queue(m->link, sql, &m->params, "i", NULL);
}

static enum rc facts_into_pg(struct mover *m, const struct facts *f, struct err *err)
{
    int64_t last_entry;
    enum rc rc = file_number(m, "SELECT max(id) FROM entries", &last_entry, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        if (f->ids[i] > 0)
            queue_numbers(m,
                          arena_printf(&m->arena, "SELECT setval('%s_id_seq', $1, $2)", counted[i]),
                          f->ids[i], true);
    if (last_entry >= BLOCK_IDS)
        queue_numbers(m, "SELECT setval('entry_blocks', $1, $2)", last_entry / BLOCK_IDS, true);
    if (f->last_seq >= BLOCK_IDS)
        queue_numbers(m, "SELECT setval('body_blocks', $1, $2)", f->last_seq / BLOCK_IDS, true);
    pg_params_reset(&m->params);
    pg_put_text(&m->params, f->log_id);
    pg_put_text(&m->params, f->secret);
    pg_put_int(&m->params, f->last_seq);
    pg_put_int(&m->params, f->last_at_us);
    pg_put_int(&m->params, f->version);
    pg_queue(m->link,
             "UPDATE log SET log_id = $1, secret = $2, last_seq = $3, last_at_us = $4, version = $5"
             " WHERE one",
             &m->params, "", NULL);
    return pg_run(m->link, err);
}

static enum rc file_run(struct mover *m, const char *sql, const char *name, struct str text,
                        int64_t n, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int got = SQLITE_ERROR;

    if (sqlite3_prepare_v2(m->sq, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
        (str_is_null(text) ? sqlite3_bind_int64(st, 2, n)
                           : sqlite3_bind_text64(st, 2, text.ptr, text.len, SQLITE_STATIC,
                                                 SQLITE_UTF8)) == SQLITE_OK)
        got = sqlite3_step(st);
    sqlite3_finalize(st);
    return got == SQLITE_DONE ? RC_OK : fail_file(m, err);
}

static enum rc facts_into_file(struct mover *m, const struct facts *f, struct err *err)
{
    static const char put[] = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
    static const char drop[] = "DELETE FROM sqlite_sequence WHERE name = ?1 AND ?2 > 0";
    static const char count[] = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
    const struct {
        const char *name;
        int64_t n;
    } numbers[] = {
        {"last_seq", f->last_seq}, {"last_at_us", f->last_at_us}, {"version", f->version}};
    enum rc rc = file_run(m, put, "log_id", f->log_id, 0, err);

    if (rc == RC_OK)
        rc = file_run(m, put, "secret", f->secret, 0, err);
    for (size_t i = 0; i < ARRAY_LEN(numbers) && rc == RC_OK; i++)
        if (numbers[i].n > 0)
            rc = file_run(m, put, numbers[i].name, STR_NULL, numbers[i].n, err);
    for (size_t i = 0; i < ARRAY_LEN(counted) && rc == RC_OK; i++) {
        rc = file_run(m, drop, counted[i], STR_NULL, f->ids[i], err);
        if (rc == RC_OK && f->ids[i] > 0)
            rc = file_run(m, count, counted[i], STR_NULL, f->ids[i], err);
    }
    return rc;
}

/* ---- the three tasks ------------------------------------------------------------------------- */

static enum rc each_table(struct mover *m, enum rc (*move)(struct mover *m, struct err *err),
                          struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < ARRAY_LEN(tables) && rc == RC_OK; i++) {
        rc = take_table(m, &tables[i], err);
        if (rc == RC_OK)
            rc = move(m, err);
        if (rc == RC_OK && m->fn != NULL)
            m->fn(m->ctx, m->table->name, m->n_rows, true);
    }
    return rc;
}

/* A table of a newer schema must not be left behind. That of words is made anew by the daemon. */
static enum rc check_tables(struct mover *m, struct err *err)
{
    int64_t n;
    enum rc rc = file_number(m,
                             "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name <>"
                             " 'meta' AND name NOT LIKE 'sqlite%' AND name <> 'indexed' AND name"
                             " NOT LIKE 'terms%'",
                             &n, err);

    if (rc == RC_OK && n != ARRAY_LEN(tables))
        rc = err_set(err, RC_INTERNAL, "%s has %" PRId64 " tables, not %zu", m->path, n,
                     ARRAY_LEN(tables));
    return rc;
}

/* The bodies of all revisions need partitions, and those that come next as well. */
static enum rc make_partitions(struct mover *m, int64_t last_seq, struct err *err)
{
    for (int64_t i = 1; i <= last_seq / PARTITION_IDS + 1; i++) {
        enum rc rc = pg_script(m->link,
                               arena_printf(&m->arena,
                                            "CREATE TABLE IF NOT EXISTS bodies_%" PRId64
                                            " PARTITION OF bodies FOR VALUES FROM (%" PRId64
                                            ") TO (%" PRId64 ")",
                                            i, i * PARTITION_IDS, (i + 1) * PARTITION_IDS),
                               err);

        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static enum rc copy_into_pg(struct mover *m, struct err *err)
{
    struct facts facts = {.last_seq = 0};
    struct pg_answer has;
    enum rc rc;

    pg_queue(m->link,
             "SELECT last_seq + version + (SELECT count(*) FROM (SELECT 1 FROM subscriptions"
             " LIMIT 1) s) FROM log WHERE one",
             NULL, "i", &has);
    rc = pg_run(m->link, err);
    if (rc == RC_OK && pg_get_int(&has, 0, 0) != 0)
        rc = err_set(err, RC_CONFLICT, "%s is not empty: nothing was copied", pg_uri_shown(m->uri));
    if (rc == RC_OK)
        rc = facts_of_file(m, &facts, err);
    if (rc == RC_OK)
        rc = make_partitions(m, facts.last_seq, err);
    if (rc == RC_OK)
        rc = each_table(m, table_into_pg, err);
    return rc == RC_OK ? facts_into_pg(m, &facts, err) : rc;
}

static enum rc copy_into_file(struct mover *m, struct err *err)
{
    struct facts facts = {.last_seq = 0};
    int64_t has = 0;
    enum rc rc = file_number(m,
                             "SELECT (SELECT count(*) FROM feeds) + (SELECT count(*) FROM"
                             " subscriptions) + (SELECT count(*) FROM meta WHERE name ="
                             " 'last_seq')",
                             &has, err);

    if (rc == RC_OK && has != 0)
        rc = err_set(err, RC_CONFLICT, "%s is not empty: nothing was copied", m->path);
    if (rc == RC_OK)
        rc = facts_of_pg(m, &facts, err);
    if (rc == RC_OK)
        rc = each_table(m, table_into_file, err);
    return rc == RC_OK ? facts_into_file(m, &facts, err) : rc;
}

/* The digest of all rows: that of the rows before and of this row. */
static enum rc add_to_digest(struct mover *m, const struct cell *cells, struct err *err UNUSED)
{
    AUTO(buf_release) struct buf row = BUF_INIT(BUF_ANY);

    buf_append(&row, m->digest, sizeof m->digest);
    for (size_t i = 0; i < m->n_columns; i++) {
        buf_append(&row, &cells[i].is_null, 1);
        buf_append(&row, &cells[i].n, sizeof cells[i].n);
        buf_append(&row, &cells[i].s.len, sizeof cells[i].s.len);
        buf_str(&row, cells[i].s);
    }
    digest_content(buf_view(&row), (unsigned char *)m->digest);
    return RC_OK;
}

static bool same_facts(const struct facts *x, const struct facts *y)
{
    return str_eq(x->log_id, y->log_id) && str_eq(x->secret, y->secret) &&
           x->last_seq == y->last_seq && x->last_at_us == y->last_at_us &&
           x->version == y->version && memcmp(x->ids, y->ids, sizeof x->ids) == 0;
}

static enum rc compare_table(struct mover *m, const struct table *t, bool *same, struct err *err)
{
    char digest[sizeof m->digest];
    enum rc rc = take_table(m, t, err);

    if (rc == RC_OK)
        rc = each_of_file(m, add_to_digest, err);
    memcpy(digest, m->digest, sizeof digest);
    m->n_rows = 0;
    memset(m->digest, 0, sizeof m->digest);
    if (rc == RC_OK)
        rc = each_of_pg(m, add_to_digest, err);
    *same = memcmp(digest, m->digest, sizeof digest) == 0;
    return rc;
}

static enum rc compare(struct mover *m, struct err *err)
{
    struct facts x, y;
    enum rc rc = facts_of_file(m, &x, err);
    size_t n_others = 0;
    bool same;

    if (rc == RC_OK)
        rc = facts_of_pg(m, &y, err);
    for (size_t i = 0; i < ARRAY_LEN(tables) && rc == RC_OK; i++) {
        rc = compare_table(m, &tables[i], &same, err);
        n_others += !same;
        if (rc == RC_OK && m->fn != NULL)
            m->fn(m->ctx, tables[i].name, m->n_rows, same);
    }
    if (rc != RC_OK)
        return rc;
    n_others += !same_facts(&x, &y);
    if (m->fn != NULL)
        m->fn(m->ctx, "log", 1, same_facts(&x, &y));
    return n_others == 0 ? RC_OK : err_set(err, RC_CONFLICT, "%zu tables differ", n_others);
}

/* ---- both sides ------------------------------------------------------------------------------ */

static enum rc open_both(struct mover *m, const char *address, struct err *err)
{
    enum rc rc = pg_uri_read(address, &m->uri, err);

    if (rc != RC_OK)
        return rc;
    m->link = pg_link_new(&(struct pg_link_cfg){.uri = m->uri, .for_writing = true});
    rc = pg_connect(m->link, err);
    if (rc == RC_OK)
        rc = pg_schema_ready(m->link, err);
    if (rc == RC_OK)
        rc = db_file_claim(m->path, &m->file, err);
    if (rc == RC_OK)
        rc = db_open_writer(db_file_path(m->file), &m->db, err);
    if (rc != RC_OK)
        return rc;
    m->sq = db_handle(m->db);
    return check_tables(m, err);
}

/* Nobody can change the log while its row's table is locked. */
static enum rc begin_both(struct mover *m, struct err *err)
{
    enum rc rc = pg_script(
        m->link,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL idle_in_transaction_session_timeout = 0;"
        " SET LOCAL lock_timeout = '5s'; LOCK TABLE log IN EXCLUSIVE MODE",
        err);

    return rc == RC_OK ? db_begin(m->db, err) : rc;
}

static void release(struct mover *m)
{
    db_close(&m->db);
    db_file_release(&m->file);
    pg_link_free(&m->link);
    pg_uri_free(&m->uri);
    pg_params_release(&m->params);
    arena_release(&m->arena);
}

enum rc pg_migrate(const struct migrate_cfg *cfg, bool to_pg, migrate_fn *fn, void *ctx,
                   struct err *err)
{
    struct mover *m = NEW(struct mover);
    enum rc rc;

    m->path = to_pg ? cfg->from : cfg->to;
    m->fn = fn;
    m->ctx = ctx;
    rc = open_both(m, to_pg ? cfg->to : cfg->from, err);
    if (rc == RC_OK)
        rc = begin_both(m, err);
    if (rc == RC_OK)
        rc = cfg->check ? compare(m, err) : to_pg ? copy_into_pg(m, err) : copy_into_file(m, err);
    if (rc == RC_OK && !cfg->check && to_pg)
        rc = pg_commit(m->link, err);
    else if (rc == RC_OK && !cfg->check)
        rc = db_commit(m->db, err);
    if (m->db != NULL)
        db_rollback(m->db);
    release(m);
    mem_free(m);
    return rc;
}
