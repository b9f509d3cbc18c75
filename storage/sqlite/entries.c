/* storage/sqlite/entries.c - statements of the tables entries and entry_keys. */
#include "storage/sqlite/entries.h"

#include <string.h>

#include "base/mem.h"
#include "storage/retention.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/fields.h"
#include "storage/sqlite/views.h"
#include "storage/tables.h"
#include "storage/wants.h"

#define ENTRY_COLUMNS "e.id, " ENTRY_FIXED(FIELD_SELECT_E) ENTRY_SAVED(FIELD_SELECT_E) "e.marks"

/* Returns how many columns were read. */
static int read_entry(sqlite3_stmt *st, struct entry_row *row)
{
    int i = 0;

    row->id = col_int(st, i++);
    ENTRY_FIXED(FIELD_READ)
    ENTRY_SAVED(FIELD_READ)
    row->has_marks = marks_unpack(col_bytes(st, i++), &row->marks);
    return i;
}

struct entry_row entries_missing(int64_t feed_id, struct str uid)
{
    return (struct entry_row){.feed_id = feed_id,
                              .uid = uid,
                              .updated_us = TIME_UNKNOWN,
                              .dead_at = TIME_UNKNOWN,
                              .gone_at = TIME_UNKNOWN};
}

enum rc entries_find(struct db *db, int64_t feed_id, struct str uid, struct entry_row *out,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " ENTRY_COLUMNS " FROM entries e WHERE e.feed_id = ?1 AND e.uid = ?2",
        "ie", feed_id, uid);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *out = entries_missing(feed_id, uid);
    if (got == 0)
        return RC_OK;
    read_entry(st, out);
    stmt_end(st);
    return RC_OK;
}

enum rc entries_load(struct db *db, int64_t id, struct arena *a, struct entry_row *out,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " ENTRY_COLUMNS ", e.uid, e.feed_id FROM entries e WHERE e.id = ?1", "i",
        id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);
    int i;

    if (got < 0)
        return RC_IO;
    *out = (struct entry_row){.id = 0};
    if (got == 0)
        return RC_OK;
    i = read_entry(st, out);
    out->uid = col_str(st, i, a);
    out->feed_id = col_int(st, i + 1);
    stmt_end(st);
    return RC_OK;
}

/* Matches while they are read; a set of feeds may have many. */
struct match_list {
    struct uid_match *list;
    size_t n, cap;
};

static enum rc add_matches(struct db *db, struct str feeds, const struct str *uids, size_t of,
                           struct match_list *l, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT e.feed_id, e.first_seq, e.seq, e.sort_at, e.deleted,"
                                  " e.iri_hash <> 0, e.essence"
                                  " FROM json_each(?1) CROSS JOIN entries e"
                                  " ON e.feed_id = json_each.value AND e.uid = ?2",
                                  "se", feeds, uids[of]);
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        l->list = mem_grow(l->list, &l->cap, l->n + 1, sizeof *l->list);
        l->list[l->n] = (struct uid_match){.of = of,
                                           .feed_id = col_int(st, 0),
                                           .first_seq = col_int(st, 1),
                                           .seq = col_int(st, 2),
                                           .sort_at = col_int(st, 3),
                                           .deleted = col_int(st, 4) != 0,
                                           .has_iri = col_int(st, 5) != 0};
        col_hash(st, 6, l->list[l->n++].essence);
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc entries_of_uids(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                        const struct str *uids, size_t n_uids, struct arena *a,
                        struct uid_match **out, size_t *n_out, struct err *err)
{
    struct str feeds = id_list(a, feed_ids, n_feeds);
    struct match_list l = {.list = NULL};
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_uids && rc == RC_OK; i++)
        rc = add_matches(db, feeds, uids, i, &l, err);
    if (rc == RC_OK) {
        *out = ARENA_ARRAY(a, struct uid_match, l.n + 1);
        if (l.n > 0)
            memcpy(*out, l.list, l.n * sizeof *l.list);
        *n_out = l.n;
    }
    mem_free(l.list);
    return rc;
}

enum rc entries_known(struct db *db, int64_t feed_id, const struct str *uids, size_t n_uids,
                      const int64_t *keys, size_t n_keys, size_t max, struct arena *a,
                      struct entry_row **out, size_t *n_out, struct err *err)
{
    struct entry_row *rows = NULL;
    size_t n = 0, cap = 0, n_found;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_uids && rc == RC_OK; i++) {
        rows = mem_grow(rows, &cap, n + 1, sizeof *rows);
        rc = entries_find(db, feed_id, uids[i], &rows[n], err);
        if (rc == RC_OK && rows[n].id != 0) {
            rows[n].uid = str_dup(a, uids[i]);
            n++;
        }
    }
    for (size_t i = 0; i < n_keys && rc == RC_OK; i++) {
        rows = mem_grow(rows, &cap, n + max, sizeof *rows);
        rc = entries_of_key(db, feed_id, keys[i], max, a, &rows[n], &n_found, err);
        if (rc == RC_OK)
            n += n_found;
    }
    if (rc != RC_OK) {
        mem_free(rows);
        return rc;
    }
    *out = rows;
    *n_out = n;
    return RC_OK;
}

enum rc entries_of_key(struct db *db, int64_t feed_id, int64_t key, size_t max, struct arena *a,
                       struct entry_row *out, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " ENTRY_COLUMNS ", e.uid FROM entry_keys k"
                   " CROSS JOIN entries e ON e.id = k.entry_id WHERE k.feed_id = ?1 AND k.key = ?2"
                   " ORDER BY k.entry_id DESC LIMIT ?3",
                   "iii", feed_id, key, (int64_t)max);
    size_t n = 0;
    int got = -1, uid;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        out[n] = (struct entry_row){.feed_id = feed_id};
        uid = read_entry(st, &out[n]);
        out[n++].uid = col_str(st, uid, a);
    }
    if (got < 0)
        return RC_IO;
    *n_out = n;
    return RC_OK;
}

/* The marks of an entry as a column; null: it has none. `packed` has room for MARKS_BYTES. */
static struct str pack(const struct entry_row *row, unsigned char *packed)
{
    if (!row->has_marks)
        return STR_NULL;
    marks_pack(&row->marks, packed);
    return str_of((const char *)packed, MARKS_BYTES);
}

enum rc entries_insert(struct db *db, struct entry_row *e, struct err *err)
{
    unsigned char packed[MARKS_BYTES];
    const struct entry_row *row = e;
    enum rc rc = stmt_run(
        db, err,
        "INSERT INTO entries (" ENTRY_KEY(FIELD_SELECT) ENTRY_FIXED(FIELD_SELECT)
            ENTRY_SAVED(FIELD_SELECT) "marks) VALUES (" ENTRY_KEY(FIELD_VALUE)
                ENTRY_FIXED(FIELD_VALUE) ENTRY_SAVED(FIELD_VALUE) "?)",
        ENTRY_KEY(FIELD_LETTER) ENTRY_FIXED(FIELD_LETTER) ENTRY_SAVED(FIELD_LETTER) "b",
        ENTRY_KEY(FIELD_BIND) ENTRY_FIXED(FIELD_BIND) ENTRY_SAVED(FIELD_BIND) pack(row, packed));

    if (rc == RC_OK)
        e->id = stmt_rowid(db);
    return rc;
}

enum rc entries_update(struct db *db, const struct entry_row *row, struct err *err)
{
    unsigned char packed[MARKS_BYTES];

    return stmt_run(db, err, "UPDATE entries SET " ENTRY_SAVED(FIELD_SET) "marks = ? WHERE id = ?",
                    ENTRY_SAVED(FIELD_LETTER) "bi", ENTRY_SAVED(FIELD_BIND) pack(row, packed),
                    row->id);
}

static enum rc add_since(struct db *db, int64_t feed_id, int64_t seq, int64_t *n,
                         int64_t *n_deleted, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT count(*), coalesce(sum(e.deleted), 0) FROM revisions r"
                                  " INDEXED BY revisions_feed CROSS JOIN entries e"
                                  " ON e.id = r.entry_id WHERE r.feed_id = ?1 AND r.seq >= ?2"
                                  " AND e.seq = r.seq",
                                  "ii", feed_id, seq);

    if (st == NULL || stmt_next(db, st, err) < 0)
        return RC_IO;
    *n += col_int(st, 0);
    *n_deleted += col_int(st, 1);
    stmt_end(st);
    return RC_OK;
}

enum rc entries_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                      int64_t *n, int64_t *n_deleted, struct err *err)
{
    enum rc rc = RC_OK;

    *n = *n_deleted = 0;
    for (size_t i = 0; i < n_feeds && rc == RC_OK; i++)
        rc = add_since(db, feed_ids[i], seq, n, n_deleted, err);
    return rc;
}

enum rc deletions_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                        bool *out, struct err *err)
{
    int64_t found = 0;
    enum rc rc = RC_OK;

    _Static_assert(REV_DELETED == 2, "a number in the statement");
    for (size_t i = 0; i < n_feeds && rc == RC_OK && found == 0; i++)
        rc = stmt_number(
            db,
            stmt_start(db, err,
                       "SELECT count(*) FROM (SELECT 1 FROM revisions r INDEXED BY revisions_feed"
                       " CROSS JOIN entries e ON e.id = r.entry_id WHERE r.feed_id = ?1"
                       " AND r.seq >= ?2 AND r.kind = 2 AND e.seq = r.seq LIMIT 1)",
                       "ii", feed_ids[i], seq),
            &found, err);
    *out = found > 0;
    return rc;
}

enum rc entries_between(struct db *db, const int64_t *feed_ids, size_t n_feeds, bool by_creation,
                        int64_t from, int64_t to, int64_t max, int64_t *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;

    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT count(*) FROM (SELECT 1 FROM json_each(?1) f"
                                  " CROSS JOIN revisions r INDEXED BY revisions_feed"
                                  " ON r.feed_id = f.value CROSS JOIN entries e"
                                  " ON e.id = r.entry_id WHERE r.seq BETWEEN ?2 AND ?3"
                                  " AND r.seq = iif(?4, e.first_seq, e.seq) LIMIT ?5)",
                                  "siiii", id_list(&scratch, feed_ids, n_feeds), from, to,
                                  (int64_t)by_creation, max),
                       out, err);
}

/* ---- by their marks -------------------------------------------------------------------------- */

static bool has_key(const int64_t *keys, size_t n, int64_t key)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i] == key)
            return true;
    return false;
}

enum rc entries_set_keys(struct db *db, const struct entry_row *e, const struct entry_marks *was,
                         struct err *err)
{
    int64_t old[MARKS_KEYS], new[MARKS_KEYS];
    size_t n_old = was != NULL ? marks_keys(was, old) : 0, n_new = marks_keys(&e->marks, new);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_old && rc == RC_OK; i++)
        if (!has_key(new, n_new, old[i]))
            rc = stmt_run(
                db, err, "DELETE FROM entry_keys WHERE feed_id = ?1 AND key = ?2 AND entry_id = ?3",
                "iii", e->feed_id, old[i], e->id);
    for (size_t i = 0; i < n_new && rc == RC_OK; i++)
        if (!has_key(old, n_old, new[i]))
            rc = stmt_run(db, err,
                          "INSERT OR IGNORE INTO entry_keys (feed_id, key, entry_id)"
                          " VALUES (?1, ?2, ?3)",
                          "iii", e->feed_id, new[i], e->id);
    return rc;
}

/* ---- merging of feeds ------------------------------------------------------------------------ */

/* The entries that are compared when two feeds merge. */
struct merging {
    int64_t id;
    struct str uid;
    bool has_marks, is_gone;
    struct entry_marks marks;
};

static enum rc load_merging(struct db *db, int64_t feed_id, struct arena *a, struct merging **out,
                            size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT id, uid, marks, gone_at IS NOT NULL FROM entries WHERE feed_id = ?1", "i",
        feed_id);
    struct merging *list = NULL;
    size_t n = 0, cap = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        list = mem_grow(list, &cap, n + 1, sizeof *list);
        list[n].id = col_int(st, 0);
        list[n].uid = col_str(st, 1, a);
        list[n].has_marks = marks_unpack(col_bytes(st, 2), &list[n].marks);
        list[n].is_gone = col_int(st, 3) != 0;
        n++;
    }
    *out = list;
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}

/* Delete these entries of a feed with all that they have. */
static enum rc drop_entries(struct db *db, int64_t feed_id, struct str ids, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "DELETE FROM revisions WHERE feed_id = ?1 AND entry_id IN"
                          " (SELECT value FROM json_each(?2))",
                          "is", feed_id, ids);

    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "DELETE FROM entry_keys WHERE feed_id = ?1 AND entry_id IN"
                      " (SELECT value FROM json_each(?2))",
                      "is", feed_id, ids);
    return rc == RC_OK
               ? stmt_run(db, err,
                          "DELETE FROM entries WHERE id IN (SELECT value FROM json_each(?1))", "s",
                          ids)
               : rc;
}

struct pairs {
    struct twin_pair *list;
    size_t n, cap;
};

static void add_pair(struct pairs *p, const struct merging *mine, const struct entry_row *theirs)
{
    p->list = mem_grow(p->list, &p->cap, p->n + 1, sizeof *p->list);
    p->list[p->n++] = (struct twin_pair){.mine = mine->id,
                                         .theirs = theirs->id,
                                         .mine_gone = mine->is_gone,
                                         .theirs_gone = theirs->gone_at != TIME_UNKNOWN};
}

/* The entries of a feed that are the same as this one: that with its uid, and failing that those
 * whose marks leave no doubt. */
static enum rc find_twins(struct db *db, int64_t feed_id, const struct merging *mine,
                          struct pairs *out, struct err *err)
{
    AUTO(arena_release) struct arena tmp = ARENA_INIT;
    struct entry_row rows[WANT_KEY_MOST];
    int64_t keys[MARKS_KEYS];
    enum rc rc = entries_find(db, feed_id, mine->uid, &rows[0], err);
    size_t n_keys = mine->has_marks ? marks_keys(&mine->marks, keys) : 0, n;

    if (rc == RC_OK && rows[0].id != 0) {
        add_pair(out, mine, &rows[0]);
        return RC_OK;
    }
    for (size_t k = 0; k < n_keys && rc == RC_OK; k++) {
        rc = entries_of_key(db, feed_id, keys[k], WANT_KEY_MOST, &tmp, rows, &n, err);
        for (size_t i = 0; rc == RC_OK && i < n; i++)
            if (rows[i].has_marks && marks_certain(&mine->marks, &rows[i].marks))
                add_pair(out, mine, &rows[i]);
    }
    return rc;
}

/* One of each pair goes; the files that it names are those of the other one, too. */
static enum rc share_names(struct db *db, const struct pairs *pairs, struct err *err)
{
    static const char sql[] = "INSERT OR IGNORE INTO mirror_names (entry_id, key)"
                              " SELECT ?2, key FROM mirror_names WHERE entry_id = ?1";
    enum rc rc = RC_OK;

    for (size_t i = 0; i < pairs->n && rc == RC_OK; i++) {
        rc = stmt_run(db, err, sql, "ii", pairs->list[i].mine, pairs->list[i].theirs);
        if (rc == RC_OK)
            rc = stmt_run(db, err, sql, "ii", pairs->list[i].theirs, pairs->list[i].mine);
    }
    return rc;
}

enum rc entries_merge(struct db *db, int64_t from, int64_t to, struct arena *a, struct err *err)
{
    struct merging *list;
    struct pairs pairs = {.list = NULL};
    struct twins_end end;
    size_t n;
    enum rc rc = load_merging(db, from, a, &list, &n, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = find_twins(db, to, &list[i], &pairs, err);
    if (rc == RC_OK)
        rc = share_names(db, &pairs, err);
    retention_merge(pairs.list, pairs.n, a, &end);
    mem_free(list);
    mem_free(pairs.list);
    if (rc == RC_OK)
        rc = drop_entries(db, from, id_list(a, end.mine, end.n_mine), err);
    if (rc == RC_OK)
        rc = drop_entries(db, to, id_list(a, end.theirs, end.n_theirs), err);
    if (rc == RC_OK)
        rc = stmt_run(db, err, "UPDATE entry_keys SET feed_id = ?2 WHERE feed_id = ?1", "ii", from,
                      to);
    if (rc == RC_OK)
        rc = contents_move(db, from, to, err);
    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "UPDATE entries SET feed_id = ?2, id_url = coalesce(id_url,"
                      " (SELECT f.id_url FROM feeds f WHERE f.id = ?1)) WHERE feed_id = ?1",
                      "ii", from, to);
    return rc;
}
