/* storage/sqlite/deliveries.c - see deliveries.h. */
#include "storage/sqlite/deliveries.h"

#include <string.h>

#include "storage/sqlite/fields.h"
#include "storage/tables.h"
#include "storage/sqlite/views.h"

/* All slots of a ring, as id_list() makes it. */
static struct str all_slots(struct arena *a)
{
    int64_t slots[DELIVERIES_KEPT];

    for (size_t i = 0; i < DELIVERIES_KEPT; i++)
        slots[i] = (int64_t)i;
    return id_list(a, slots, DELIVERIES_KEPT);
}

#define OF_SUB " FROM deliveries WHERE sub_id = ? AND slot IN (SELECT value FROM json_each(?))"

enum rc deliveries_drop(struct db *db, int64_t sub_id, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;

    return stmt_run(db, err, "DELETE" OF_SUB, "is", sub_id, all_slots(&scratch));
}

enum rc deliveries_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                      struct delivery_note **out, size_t *n_out, struct err *err)
{
    size_t cap = max < DELIVERIES_KEPT ? max : DELIVERIES_KEPT, n = 0;
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT " DELIVERY_NOTE(FIELD_SELECT) "error" OF_SUB " ORDER BY at_us DESC, slot LIMIT ?",
        "isi", sub_id, all_slots(a), (int64_t)cap);
    int got = -1;

    *out = ARENA_ARRAY(a, struct delivery_note, cap + 1);
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct delivery_note *row = &(*out)[n++];
        int i = 0;

        *row = (struct delivery_note){.at_us = 0};
        DELIVERY_NOTE(FIELD_READ)
        row->error = col_str(st, i, a);
    }
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}

/* Read all rows of the statement. */
static enum rc collect_dead(struct db *db, sqlite3_stmt *st, struct arena *a,
                            struct dead_letter **out, size_t *n_out, struct err *err)
{
    struct dead_letter *grown;
    size_t cap = 0, n = 0;
    int got = -1;

    *out = NULL;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct dead_letter *row;
        int i = 0;

        if (n == cap) {
            cap = cap == 0 ? 4 : cap * 2;
            grown = ARENA_ARRAY(a, struct dead_letter, cap);
            if (n > 0)
                memcpy(grown, *out, n * sizeof *grown);
            *out = grown;
        }
        row = &(*out)[n++];
        *row = (struct dead_letter){.id = 0};
        DEAD_LETTER(FIELD_READ)
        row->id = col_int(st, i);
    }
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}

#define DEAD_OF "SELECT " DEAD_LETTER(FIELD_SELECT) "id FROM dead_letters WHERE sub_id = ?1"

enum rc dead_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                struct dead_letter **out, size_t *n_out, struct err *err)
{
    return collect_dead(
        db, stmt_start(db, err, DEAD_OF " ORDER BY id LIMIT ?2", "ii", sub_id, (int64_t)max), a,
        out, n_out, err);
}

/* A feed that is removed takes its revisions and events along. */
#define IS_THERE                                                                                   \
    "(EXISTS (SELECT 1 FROM revisions AS r WHERE r.seq = dead_letters.seq)"                        \
    " OR EXISTS (SELECT 1 FROM feed_events AS e WHERE e.seq = dead_letters.seq))"

enum rc dead_wanted(struct db *db, int64_t sub_id, struct arena *a, struct dead_letter **out,
                    size_t *n_out, struct err *err)
{
    return collect_dead(db,
                        stmt_start(db, err,
                                   DEAD_OF " AND wanted = 1 AND " IS_THERE " ORDER BY id LIMIT 1",
                                   "i", sub_id),
                        a, out, n_out, err);
}

enum rc dead_counts(struct db *db, int64_t first, int64_t last, struct arena *a, struct dead_count **out,
                    size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT sub_id, count(*) FROM dead_letters"
                                  " WHERE sub_id BETWEEN ?1 AND ?2 GROUP BY sub_id",
                                  "ii", first, last);
    struct dead_count *grown;
    size_t cap = 4, n = 0;
    int got = -1;

    *out = ARENA_ARRAY(a, struct dead_count, cap);
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (n == cap) {
            cap *= 2;
            grown = ARENA_ARRAY(a, struct dead_count, cap);
            memcpy(grown, *out, n * sizeof *grown);
            *out = grown;
        }
        (*out)[n++] = (struct dead_count){col_int(st, 0), col_int(st, 1)};
    }
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}
