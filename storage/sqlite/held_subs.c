/* storage/sqlite/held_subs.c - see held_subs.h. */
#include "storage/sqlite/held_subs.h"

#include "storage/sqlite/deliveries.h"
#include "storage/sqlite/fields.h"
#include "storage/sqlite/held_rows.h"
#include "storage/sqlite/held_hub.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/tables.h"
#include "storage/sqlite/views.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Read a row, whose columns begin with column `i`. */
static void read_row(sqlite3_stmt *st, int i, struct held_sub *secret, struct arena *a)
{
    struct subscription *row = &secret->row;

    SUB_SECRETS(FIELD_READ_SECRET)
    SUB_FIXED(FIELD_READ)
    SUB_SAVED(FIELD_READ)
    row->last_error = col_str(st, i, a);
    secret->held.exists = secret->held.is_stored = true;
}

#define COLUMNS                                                                                    \
    SUB_SECRETS(FIELD_SELECT) SUB_FIXED(FIELD_SELECT) SUB_SAVED(FIELD_SELECT) "last_error"

/* The numbers of a JSON list, with their places in it. */
#define WANTED "(SELECT key AS i, value AS sub FROM json_each(?1))"

/* Read the subscriptions with these ids, those that exist. */
static enum rc read_subs(struct db *db, struct held_sub **subs, struct str ids, struct arena *a,
                         struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT i, " COLUMNS " FROM " WANTED " CROSS JOIN subscriptions ON id = sub", "s",
        ids);
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        read_row(st, 1, subs[col_int(st, 0)], a);
    return got < 0 ? RC_IO : RC_OK;
}

/* Read their dead letters. */
static enum rc read_dead(struct db *db, struct rows *r, struct held_sub **subs, struct str ids,
                         struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT i, id, seq, wanted FROM " WANTED
                                  " CROSS JOIN dead_letters ON sub_id = sub ORDER BY i, id",
                                  "s", ids);
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct held_sub *sub = subs[col_int(st, 0)];
        struct held_dead *dead = rows_add_dead(r, sub);

        dead->held.exists = dead->held.is_stored = true;
        dead->row = (struct dead_letter){.id = col_int(st, 1),
                                         .sub_id = sub->row.id,
                                         .at.seq = col_int(st, 2),
                                         .wanted = col_int(st, 3) != 0};
    }
    return got < 0 ? RC_IO : RC_OK;
}

/* Read which feeds they have. */
static enum rc read_feeds(struct db *db, struct rows *r, struct held_sub **subs, struct str ids,
                          struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT i, place, " SUB_FEED(
            FIELD_SELECT) "0 FROM " WANTED
                          " CROSS JOIN sub_feeds ON sub_id = sub ORDER BY i, place, feed_id",
        "s", ids);
    struct arena *a = &r->arena;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct held_sub_feed *feed = rows_add_sub_feed(r, subs[col_int(st, 0)], col_int(st, 2));
        struct sub_feed *row = &feed->row;
        int i = 2;

        feed->held.exists = feed->held.is_stored = true;
        feed->place = col_int(st, 1);
        SUB_FEED(FIELD_READ)
    }
    return got < 0 ? RC_IO : RC_OK;
}

/* Hold those that are not held yet. */
static enum rc load_subs(struct db *db, struct rows *r, const struct want_sub *wants, size_t n,
                         struct arena *scratch, struct err *err)
{
    struct held_sub **subs = ARENA_ARRAY(scratch, struct held_sub *, n + 1);
    int64_t *ids = ARENA_ARRAY(scratch, int64_t, n + 1);
    size_t m = 0;

    for (size_t i = 0; i < n; i++)
        if (rows_sub(r, wants[i].id) == NULL) {
            ids[m] = wants[i].id;
            subs[m++] = rows_add_sub(r, wants[i].id);
        }
    return m == 0 ? RC_OK : read_subs(db, subs, id_list(scratch, ids, m), &r->arena, err);
}

static enum rc load_dead(struct db *db, struct rows *r, const struct want_sub *wants, size_t n,
                         struct arena *scratch, struct err *err)
{
    struct held_sub **subs = ARENA_ARRAY(scratch, struct held_sub *, n + 1);
    int64_t *ids = ARENA_ARRAY(scratch, int64_t, n + 1);
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        struct held_sub *sub = wants[i].with_dead ? rows_sub(r, wants[i].id) : NULL;

        if (sub == NULL || !sub->held.exists || sub->has_dead)
            continue;
        sub->has_dead = true;
        ids[m] = wants[i].id;
        subs[m++] = sub;
    }
    return m == 0 ? RC_OK : read_dead(db, r, subs, id_list(scratch, ids, m), err);
}

static enum rc load_feeds(struct db *db, struct rows *r, const struct want_sub *wants, size_t n,
                          struct arena *scratch, struct err *err)
{
    struct held_sub **subs = ARENA_ARRAY(scratch, struct held_sub *, n + 1);
    int64_t *ids = ARENA_ARRAY(scratch, int64_t, n + 1);
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        struct held_sub *sub = wants[i].with_feeds ? rows_sub(r, wants[i].id) : NULL;

        if (sub == NULL || !sub->held.exists || sub->has_feeds)
            continue;
        sub->has_feeds = true;
        ids[m] = wants[i].id;
        subs[m++] = sub;
    }
    return m == 0 ? RC_OK : read_feeds(db, r, subs, id_list(scratch, ids, m), err);
}

/* The rows of all feeds of a subscription. */
static enum rc load_rows(struct db *db, struct rows *r, const struct held_sub *sub, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < sub->n_feeds && rc == RC_OK; i++)
        if (sub->feeds[i]->held.exists)
            rc = held_feed_load(db, r, sub->feeds[i]->row.feed_id, false, err);
    return rc;
}

enum rc held_subs_load(struct db *db, struct rows *r, const struct want_sub *wants, size_t n,
                       struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    enum rc rc = load_subs(db, r, wants, n, &scratch, err);

    if (rc == RC_OK)
        rc = load_dead(db, r, wants, n, &scratch, err);
    if (rc == RC_OK)
        rc = load_feeds(db, r, wants, n, &scratch, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (wants[i].with_rows)
            rc = load_rows(db, r, rows_sub(r, wants[i].id), err);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (wants[i].with_lease)
            rc = held_lease_load(db, r, wants[i].id, err);
    return rc;
}

static enum rc load_match(struct db *db, struct rows *r, const struct want_match *w,
                          struct err *err)
{
    struct held_match *m = rows_match(r, w->sub_id, w->url);
    enum rc rc;

    if (m == NULL)
        m = rows_add_match(r, w->sub_id, w->url);
    rc = sub_feeds_match(db, w->sub_id, w->url, &r->arena, &m->feed_ids, &m->n, err);
    for (size_t i = 0; rc == RC_OK && i < m->n; i++)
        rc = held_feed_load(db, r, m->feed_ids[i], false, err);
    return rc;
}

enum rc held_matches_load(struct db *db, struct rows *r, const struct want_match *wants, size_t n,
                          struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = load_match(db, r, &wants[i], err);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc insert_sub(struct db *db, const struct held_sub *secret, struct err *err)
{
    const struct subscription *row = &secret->row;

    return stmt_run(db, err,
                    "INSERT INTO subscriptions (" SUB_SECRETS(FIELD_SELECT) SUB_FIXED(FIELD_SELECT)
                        SUB_SAVED(FIELD_SELECT) "last_error) VALUES (" SUB_SECRETS(FIELD_VALUE)
                            SUB_FIXED(FIELD_VALUE) SUB_SAVED(FIELD_VALUE) "?)",
                    SUB_SECRETS(FIELD_LETTER) SUB_FIXED(FIELD_LETTER) SUB_SAVED(FIELD_LETTER) "s",
                    SUB_SECRETS(FIELD_BIND_SECRET) SUB_FIXED(FIELD_BIND) SUB_SAVED(FIELD_BIND)
                        row->last_error);
}

static enum rc write_progress(struct db *db, const struct subscription *row, struct err *err)
{
    return stmt_run(
        db, err, "UPDATE subscriptions SET " SUB_PROGRESS(FIELD_SET) "last_error = ? WHERE id = ?",
        SUB_PROGRESS(FIELD_LETTER) "si", SUB_PROGRESS(FIELD_BIND) row->last_error, row->id);
}

static enum rc write_all(struct db *db, const struct held_sub *secret, struct err *err)
{
    const struct subscription *row = &secret->row;

    return stmt_run(db, err,
                    "UPDATE subscriptions SET " SUB_SECRETS(FIELD_SET)
                        SUB_SAVED(FIELD_SET) "last_error = ? WHERE id = ?",
                    SUB_SECRETS(FIELD_LETTER) SUB_SAVED(FIELD_LETTER) "si",
                    SUB_SECRETS(FIELD_BIND_SECRET) SUB_SAVED(FIELD_BIND) row->last_error, row->id);
}

/* The rows that refer to it go with it, except the delivery log. */
static enum rc delete_sub(struct db *db, int64_t id, struct err *err)
{
    enum rc rc = deliveries_drop(db, id, err);

    return rc == RC_OK ? stmt_run(db, err, "DELETE FROM subscriptions WHERE id = ?", "i", id) : rc;
}

/* One that was made and ended in this transaction is stored for a moment, so that its id is not
 * given to another one. */
enum rc held_sub_write(struct db *db, struct held *held, struct err *err)
{
    struct held_sub *sub = (struct held_sub *)held;

    enum rc rc = held->is_stored ? RC_OK : insert_sub(db, sub, err);

    if (rc == RC_OK && !held->exists)
        return delete_sub(db, sub->row.id, err);
    if (rc != RC_OK || !held->is_stored)
        return rc;
    return held->changes & SUB_WRITES_TERMS ? write_all(db, sub, err)
                                            : write_progress(db, &sub->row, err);
}

static enum rc insert_sub_feed(struct db *db, const struct held_sub_feed *feed, struct err *err)
{
    const struct sub_feed *row = &feed->row;

    return stmt_run(db, err,
                    "INSERT INTO sub_feeds (" SUB_FEED(
                        FIELD_SELECT) "sub_id, place) VALUES (" SUB_FEED(FIELD_VALUE) "?, ?)",
                    SUB_FEED(FIELD_LETTER) "ii", SUB_FEED(FIELD_BIND) feed->sub_id, feed->place);
}

enum rc held_sub_feed_write(struct db *db, struct held *held, struct err *err)
{
    const struct held_sub_feed *feed = (struct held_sub_feed *)held;
    const struct sub_feed *row = &feed->row;

    if (!held->exists)
        return held->is_stored
                   ? stmt_run(db, err, "DELETE FROM sub_feeds WHERE sub_id = ? AND feed_id = ?",
                              "ii", feed->sub_id, row->feed_id)
                   : RC_OK;
    if (!held->is_stored)
        return insert_sub_feed(db, feed, err);
    return stmt_run(db, err,
                    "UPDATE sub_feeds SET name = ?, folder = ?, listed = ?"
                    " WHERE sub_id = ? AND feed_id = ?",
                    "ssiii", row->name, row->folder, (int64_t)row->listed, feed->sub_id,
                    row->feed_id);
}

static enum rc insert_dead(struct db *db, struct dead_letter *row, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "INSERT INTO dead_letters (" DEAD_LETTER(
                              FIELD_SELECT) "id) VALUES (" DEAD_LETTER(FIELD_VALUE) "nullif(?, 0))",
                          DEAD_LETTER(FIELD_LETTER) "i", DEAD_LETTER(FIELD_BIND) row->id);

    if (rc == RC_OK)
        row->id = stmt_rowid(db);
    return rc;
}

static enum rc update_dead(struct db *db, const struct dead_letter *row, unsigned changes,
                           struct err *err)
{
    if (changes & DEAD_WRITES_REFUSAL)
        return stmt_run(db, err,
                        "UPDATE dead_letters SET " DEAD_REFUSAL(FIELD_SET) "id = id WHERE id = ?",
                        DEAD_REFUSAL(FIELD_LETTER) "i", DEAD_REFUSAL(FIELD_BIND) row->id);
    return stmt_run(db, err, "UPDATE dead_letters SET wanted = ? WHERE id = ?", "ii",
                    (int64_t)row->wanted, row->id);
}

enum rc held_dead_write(struct db *db, struct held *held, struct err *err)
{
    struct held_dead *dead = (struct held_dead *)held;

    if (!held->exists)
        return held->is_stored
                   ? stmt_run(db, err, "DELETE FROM dead_letters WHERE id = ?", "i", dead->row.id)
                   : RC_OK;
    return held->is_stored ? update_dead(db, &dead->row, held->changes, err)
                           : insert_dead(db, &dead->row, err);
}

enum rc held_note_write(struct db *db, struct held *held, struct err *err)
{
    const struct held_note *line = (struct held_note *)held;
    const struct delivery_note *row = line->note;

    return stmt_run(
        db, err,
        "INSERT OR REPLACE INTO deliveries (" DELIVERY_NOTE(
            FIELD_SELECT) "error, sub_id, slot) VALUES (" DELIVERY_NOTE(FIELD_VALUE) "?, ?, ?)",
        DELIVERY_NOTE(FIELD_LETTER) "sii", DELIVERY_NOTE(FIELD_BIND) row->error, line->sub_id,
        line->slot);
}
