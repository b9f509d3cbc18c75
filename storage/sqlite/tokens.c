/* storage/sqlite/tokens.c - see tokens.h. */
#include "storage/sqlite/tokens.h"

#include "storage/sqlite/fields.h"
#include "storage/tables.h"

static void read_row(sqlite3_stmt *st, struct arena *a, struct token *row)
{
    int i = 0;

    *row = (struct token){.id = 0};
    TOKEN(FIELD_READ)
}

enum rc tokens_all(struct db *db, struct arena *a, struct token **out, size_t *n_out,
                   struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT " TOKEN(FIELD_SELECT) "1 FROM tokens ORDER BY id LIMIT ?1", "i",
                   (int64_t)TOKENS_MAX);
    int got = -1;

    *out = ARENA_ARRAY(a, struct token, TOKENS_MAX);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        read_row(st, a, &(*out)[(*n_out)++]);
    return got < 0 ? RC_IO : RC_OK;
}

enum rc tokens_count(struct db *db, int64_t *out, struct err *err)
{
    return stmt_number(db, stmt_start(db, err, "SELECT count(*) FROM tokens", ""), out, err);
}

enum rc held_token_load(struct db *db, struct rows *r, int64_t id, struct err *err)
{
    struct held_token *token;
    sqlite3_stmt *st;
    int got;

    if (rows_token(r, id) != NULL)
        return RC_OK;
    st = stmt_start(db, err, "SELECT " TOKEN(FIELD_SELECT) "1 FROM tokens WHERE id = ?1", "i", id);
    got = st == NULL ? -1 : stmt_next(db, st, err);
    if (got < 0)
        return RC_IO;
    token = rows_add_token(r, id);
    token->held.exists = token->held.is_stored = got > 0;
    if (got == 0)
        return RC_OK;
    read_row(st, &r->arena, &token->row);
    stmt_end(st);
    return RC_OK;
}

/* One that was made and deleted in this transaction is stored for a moment, so that its id is not
 * given to another one. */
enum rc held_token_write(struct db *db, struct held *held, struct err *err)
{
    const struct token *row = &((struct held_token *)held)->row;
    enum rc rc = RC_OK;

    if (held->exists || !held->is_stored)
        rc = stmt_run(
            db, err,
            "INSERT OR REPLACE INTO tokens (id, name, role, rate, expires_at, created_at, used_at,"
            " digest, session_of) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            "ieiititei", row->id, row->name, (int64_t)row->role, row->rate, row->expires_at,
            row->created_at, row->used_at, row->digest, row->session_of);
    return rc == RC_OK && !held->exists
               ? stmt_run(db, err, "DELETE FROM tokens WHERE id = ?1", "i", row->id)
               : rc;
}
