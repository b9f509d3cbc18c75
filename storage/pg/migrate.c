/* storage/pg/migrate.c - a whole log from one engine into the other, or compared with its copy. */
#include "storage/pg/migrate.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "storage/pg/answer.h"
#include "storage/pg/mover.h"
#include "storage/pg/schema.h"

#define PARTITION_IDS INT64_C(10000000) /* of table bodies (schema_pg.sql) */

/* ---- the three tasks ------------------------------------------------------------------------- */

static enum rc each_table(struct mover *m, enum rc (*move)(struct mover *m, struct err *err),
                          struct err *err)
{
    size_t n;
    const struct moved_table *tables = mover_tables(&n);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = mover_take_table(m, &tables[i], err);
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
    size_t n_tables;
    int64_t n;
    enum rc rc =
        mover_file_number(m,
                          "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name <>"
                          " 'meta' AND name NOT LIKE 'sqlite%' AND name <> 'indexed' AND name"
                          " NOT LIKE 'terms%'",
                          &n, err);

    mover_tables(&n_tables);
    if (rc == RC_OK && n != (int64_t)n_tables)
        rc = err_set(err, RC_INTERNAL, "%s has %" PRId64 " tables, not %zu", m->path, n, n_tables);
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
        rc = each_table(m, mover_table_into_pg, err);
    return rc == RC_OK ? facts_into_pg(m, &facts, err) : rc;
}

static enum rc copy_into_file(struct mover *m, struct err *err)
{
    struct facts facts = {.last_seq = 0};
    int64_t has = 0;
    enum rc rc = mover_file_number(m,
                                   "SELECT (SELECT count(*) FROM feeds) + (SELECT count(*) FROM"
                                   " subscriptions) + (SELECT count(*) FROM meta WHERE name ="
                                   " 'last_seq')",
                                   &has, err);

    if (rc == RC_OK && has != 0)
        rc = err_set(err, RC_CONFLICT, "%s is not empty: nothing was copied", m->path);
    if (rc == RC_OK)
        rc = facts_of_pg(m, &facts, err);
    if (rc == RC_OK)
        rc = each_table(m, mover_table_into_file, err);
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

static enum rc compare_table(struct mover *m, const struct moved_table *t, bool *same,
                             struct err *err)
{
    char digest[sizeof m->digest];
    enum rc rc = mover_take_table(m, t, err);

    if (rc == RC_OK)
        rc = mover_each_of_file(m, add_to_digest, err);
    memcpy(digest, m->digest, sizeof digest);
    m->n_rows = 0;
    memset(m->digest, 0, sizeof m->digest);
    if (rc == RC_OK)
        rc = mover_each_of_pg(m, add_to_digest, err);
    *same = memcmp(digest, m->digest, sizeof digest) == 0;
    return rc;
}

static enum rc compare(struct mover *m, struct err *err)
{
    struct facts x, y;
    enum rc rc = facts_of_file(m, &x, err);
    size_t n_tables, n_others = 0;
    const struct moved_table *tables = mover_tables(&n_tables);
    bool same;

    if (rc == RC_OK)
        rc = facts_of_pg(m, &y, err);
    for (size_t i = 0; i < n_tables && rc == RC_OK; i++) {
        rc = compare_table(m, &tables[i], &same, err);
        n_others += !same;
        if (rc == RC_OK && m->fn != NULL)
            m->fn(m->ctx, tables[i].name, m->n_rows, same);
    }
    if (rc != RC_OK)
        return rc;
    n_others += !facts_equal(&x, &y);
    if (m->fn != NULL)
        m->fn(m->ctx, "log", 1, facts_equal(&x, &y));
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
