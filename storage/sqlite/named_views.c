/* storage/sqlite/named_views.c - see named_views.h. */
#include "storage/sqlite/named_views.h"

#include "storage/sqlite/fields.h"
#include "storage/tables.h"

enum rc named_views_all(struct db *db, struct arena *a, struct named_view **out, size_t *n_out,
                        struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " NAMED_VIEW(FIELD_SELECT) "1 FROM views ORDER BY name LIMIT ?1", "i",
        (int64_t)VIEWS_MAX);
    int got = -1;

    *out = ARENA_ARRAY(a, struct named_view, VIEWS_MAX);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct named_view *row = &(*out)[(*n_out)++];
        int i = 0;

        NAMED_VIEW(FIELD_READ)
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc held_views_load(struct db *db, struct rows *r, struct err *err)
{
    struct arena *a = &r->arena;
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT " NAMED_VIEW_KEPT(FIELD_SELECT) "1 FROM views", "");
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct named_view read = {.owner = 0}, *row = &read;
        struct held_view *v;
        int i = 0;

        NAMED_VIEW_KEPT(FIELD_READ)
        if (rows_view(r, read.name) != NULL)
            continue;
        v = rows_add_view(r, read.name);
        v->row = read;
        v->held.exists = v->held.is_stored = true;
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc held_view_write(struct db *db, struct held *held, struct err *err)
{
    const struct named_view *row = &((struct held_view *)held)->row;

    if (held->exists)
        return stmt_run(db, err,
                        "INSERT OR REPLACE INTO views (" NAMED_VIEW_KEPT(
                            FIELD_SELECT) "title, query, changed_at) VALUES (" NAMED_VIEW_KEPT(
                            FIELD_VALUE) "?, ?, ?)",
                        NAMED_VIEW(FIELD_LETTER), NAMED_VIEW_KEPT(FIELD_BIND) row->title,
                        row->query, row->changed_at);
    return held->is_stored
               ? stmt_run(db, err, "DELETE FROM views WHERE name = ?1", "s", row->name)
               : RC_OK;
}
