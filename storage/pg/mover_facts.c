/* storage/pg/mover_facts.c - what a log has beside its rows: its identity, where it ends, and which
 * ids were given out. The facts of `meta` are the row of `log`, and what counts ids is a table of
 * SQLite and sequences of PostgreSQL. */
#include <string.h>

#include "storage/pg/answer.h"
#include "storage/pg/mover.h"

#define BLOCK_IDS 1000 /* of the sequences entry_blocks and body_blocks */

/* Tables whose ids are never given out again. */
static const char *const counted[] = {"feeds", "subscriptions", "dead_letters", "hub_intents",
                                      "tokens"};

_Static_assert(ARRAY_LEN(counted) == COUNTED, "all of them have an id");

enum rc mover_file_number(struct mover *m, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int got = SQLITE_ERROR;

    *out = 0;
    if (sqlite3_prepare_v2(m->sq, sql, -1, &st, NULL) == SQLITE_OK)
        got = sqlite3_step(st);
    if (got == SQLITE_ROW)
        *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return got == SQLITE_ROW || got == SQLITE_DONE ? RC_OK : mover_fail_file(m, err);
}

enum rc facts_of_file(struct mover *m, struct facts *out, struct err *err)
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
        rc = mover_file_number(m,
                               arena_printf(&m->arena,
                                            "SELECT seq FROM sqlite_sequence WHERE name = '%s'",
                                            counted[i]),
                               &out->ids[i], err);
    return rc;
}

enum rc facts_of_pg(struct mover *m, struct facts *out, struct err *err)
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

enum rc facts_into_pg(struct mover *m, const struct facts *f, struct err *err)
{
    int64_t last_entry;
    enum rc rc = mover_file_number(m, "SELECT max(id) FROM entries", &last_entry, err);

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
    return got == SQLITE_DONE ? RC_OK : mover_fail_file(m, err);
}

enum rc facts_into_file(struct mover *m, const struct facts *f, struct err *err)
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

bool facts_equal(const struct facts *x, const struct facts *y)
{
    return str_eq(x->log_id, y->log_id) && str_eq(x->secret, y->secret) &&
           x->last_seq == y->last_seq && x->last_at_us == y->last_at_us &&
           x->version == y->version && memcmp(x->ids, y->ids, sizeof x->ids) == 0;
}
