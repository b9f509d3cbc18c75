/* storage/sqlite/revisions.c - see revisions.h.
 *
 * Order on keys only, rows afterwards: each view has a statement that reads nothing but an index,
 * and its rows are fetched one by one by seq. The indexes are named in the statements, so that a
 * change of schema or of the planner's mind is an error and not a slow answer. */
#include "storage/sqlite/revisions.h"

#include "base/buf.h"
#include "base/mem.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/stmt.h"

/* ---- entries --------------------------------------------------------------------------------- */

#define ENTRY_COLUMNS                                                                              \
    "e.id, e.first_seq, e.seq, e.sort_at, e.dated, e.deleted, e.iri_hash, e.essence, e.doc_hash,"  \
    " e.marks, e.updated_us, e.dead_at"

static void read_entry(sqlite3_stmt *st, struct entry_row *out)
{
    out->id = col_int(st, 0);
    out->first_seq = col_int(st, 1);
    out->seq = col_int(st, 2);
    out->sort_at = col_int(st, 3);
    out->dated = col_int(st, 4) != 0;
    out->deleted = col_int(st, 5) != 0;
    out->iri_hash = col_int(st, 6);
    col_hash(st, 7, out->essence);
    col_hash(st, 8, out->doc_hash);
    out->has_marks = marks_unpack(col_bytes(st, 9), &out->marks);
    out->updated_us = col_time(st, 10);
    out->dead_at = col_time(st, 11);
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
    *out = (struct entry_row){
        .feed_id = feed_id, .uid = uid, .updated_us = TIME_UNKNOWN, .dead_at = TIME_UNKNOWN};
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

    if (got < 0)
        return RC_IO;
    *out = (struct entry_row){.id = 0};
    if (got == 0)
        return RC_OK;
    read_entry(st, out);
    out->uid = col_str(st, 12, a);
    out->feed_id = col_int(st, 13);
    stmt_end(st);
    return RC_OK;
}

enum rc entries_elder(struct db *db, struct str feeds, struct str uid, int64_t first_seq, bool *out,
                      struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT 1 FROM json_each(?1) f CROSS JOIN entries e"
                                  " ON e.feed_id = f.value AND e.uid = ?2"
                                  " WHERE e.first_seq < ?3 LIMIT 1",
                                  "sei", feeds, uid, first_seq);

    return stmt_any(db, st, out, err);
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
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        out[n] = (struct entry_row){.feed_id = feed_id};
        read_entry(st, &out[n]);
        out[n++].uid = col_str(st, 12, a);
    }
    if (got < 0)
        return RC_IO;
    *n_out = n;
    return RC_OK;
}

enum rc entries_insert(struct db *db, struct entry_row *e, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "INSERT INTO entries (feed_id, uid, first_seq, seq, sort_at, dated,"
                          " deleted, iri_hash, essence, doc_hash, updated_us)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                          "ieiiiiiihht", e->feed_id, e->uid, e->first_seq, e->seq, e->sort_at,
                          (int64_t)e->dated, (int64_t)e->deleted, e->iri_hash, e->essence,
                          e->doc_hash, e->updated_us);

    if (rc == RC_OK)
        e->id = stmt_rowid(db);
    return rc;
}

enum rc entries_update(struct db *db, const struct entry_row *e, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE entries SET seq = ?2, sort_at = ?3, dated = ?4, deleted = ?5,"
                    " essence = ?6, doc_hash = ?7, updated_us = ?8, dead_at = ?9 WHERE id = ?1",
                    "iiiiihhtt", e->id, e->seq, e->sort_at, (int64_t)e->dated, (int64_t)e->deleted,
                    e->essence, e->doc_hash, e->updated_us, e->dead_at);
}

static bool has_key(const int64_t *keys, size_t n, int64_t key)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i] == key)
            return true;
    return false;
}

enum rc entries_mark(struct db *db, struct entry_row *e, const struct entry_marks *marks,
                     struct err *err)
{
    unsigned char packed[MARKS_BYTES];
    int64_t old[MARKS_KEYS], new[MARKS_KEYS];
    size_t n_old = e->has_marks ? marks_keys(&e->marks, old) : 0, n_new = marks_keys(marks, new);
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
    if (rc != RC_OK)
        return rc;
    marks_pack(marks, packed);
    e->has_marks = true;
    e->marks = *marks;
    return stmt_run(db, err, "UPDATE entries SET marks = ?2 WHERE id = ?1", "ib", e->id,
                    str_of((const char *)packed, sizeof packed));
}

#define TWINS 8 /* that are looked at: more share a key only by chance, or in feeds without ids */

enum rc entries_twin(struct db *db, int64_t feed_id, const struct entry_marks *marks,
                     struct arena *a, struct entry_row *out, struct err *err)
{
    struct entry_row rows[TWINS];
    int64_t keys[MARKS_KEYS];
    size_t n_keys = marks_keys(marks, keys), n;
    enum rc rc = RC_OK;

    *out = (struct entry_row){.id = 0};
    for (size_t k = 0; k < n_keys && rc == RC_OK; k++) {
        rc = entries_of_key(db, feed_id, keys[k], TWINS, a, rows, &n, err);
        for (size_t i = 0; rc == RC_OK && i < n; i++) {
            if (rows[i].has_marks && marks_certain(marks, &rows[i].marks)) {
                *out = rows[i];
                return RC_OK;
            }
        }
    }
    return rc;
}

/* All that is looked at when records merge. */
struct merging {
    int64_t id;
    struct str uid;
    bool has_marks;
    struct entry_marks marks;
};

static enum rc load_merging(struct db *db, int64_t feed_id, struct arena *a, struct merging **out,
                            size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT id, uid, marks FROM entries WHERE feed_id = ?1", "i", feed_id);
    struct merging *list = NULL;
    size_t n = 0, cap = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        list = mem_grow(list, &cap, n + 1, sizeof *list);
        list[n].id = col_int(st, 0);
        list[n].uid = col_str(st, 1, a);
        list[n].has_marks = marks_unpack(col_bytes(st, 2), &list[n].marks);
        n++;
    }
    *out = list;
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}

/* Give the entries of a record, and their keys, to another; those that it has too go. */
static enum rc entries_merge(struct db *db, int64_t from, int64_t to, struct arena *a,
                             struct err *err)
{
    struct merging *list;
    struct entry_row twin;
    size_t n, n_twins = 0;
    enum rc rc = load_merging(db, from, a, &list, &n, err);
    int64_t *twins = ARENA_ARRAY(a, int64_t, n + 1);
    struct str ids;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        AUTO(arena_release) struct arena tmp = ARENA_INIT;

        rc = entries_find(db, to, list[i].uid, &twin, err);
        if (rc == RC_OK && twin.id == 0 && list[i].has_marks)
            rc = entries_twin(db, to, &list[i].marks, &tmp, &twin, err);
        if (rc == RC_OK && twin.id != 0)
            twins[n_twins++] = list[i].id;
    }
    mem_free(list);
    ids = id_list(a, twins, n_twins);
    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "DELETE FROM revisions WHERE feed_id = ?1 AND entry_id IN"
                      " (SELECT value FROM json_each(?2))",
                      "is", from, ids);
    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "DELETE FROM entry_keys WHERE feed_id = ?1 AND entry_id IN"
                      " (SELECT value FROM json_each(?2))",
                      "is", from, ids);
    if (rc == RC_OK)
        rc = stmt_run(db, err, "DELETE FROM entries WHERE id IN (SELECT value FROM json_each(?1))",
                      "s", ids);
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

/* ---- revisions ------------------------------------------------------------------------------- */

enum rc revisions_append(struct db *db, const struct revision *r, int64_t entry_id, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us,"
                    " sort_at, published_at, updated_at, title, link, summary, author, doc, ext)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
                    " ?16)",
                    "iiiiiiiittssssee", r->seq, entry_id, r->feed_id, r->batch, (int64_t)r->kind,
                    (int64_t)r->initial, r->at_us, r->sort_at, r->published_at, r->updated_at,
                    r->title, r->link, r->summary, r->author, r->doc, r->ext);
}

enum rc overlays_put(struct db *db, int64_t seq, struct str doc, struct str ext, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO overlays (seq, doc, ext) VALUES (?1, ?2, ?3)"
                    " ON CONFLICT (seq) DO UPDATE SET doc = excluded.doc, ext = excluded.ext",
                    "iee", seq, doc, ext);
}

enum rc overlays_drop(struct db *db, int64_t seq, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM overlays WHERE seq = ?1", "i", seq);
}

enum rc revisions_last(struct db *db, int64_t feed_id, int64_t *seq, struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT seq FROM revisions INDEXED BY revisions_feed"
                                  " WHERE feed_id = ?1 ORDER BY seq DESC LIMIT 1",
                                  "i", feed_id),
                       seq, err);
}

enum rc entries_since(struct db *db, int64_t feed_id, int64_t seq, int64_t *n, int64_t *n_deleted,
                      struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT count(*), coalesce(sum(e.deleted), 0) FROM revisions r"
                                  " INDEXED BY revisions_feed CROSS JOIN entries e"
                                  " ON e.id = r.entry_id WHERE r.feed_id = ?1 AND r.seq >= ?2"
                                  " AND e.seq = r.seq",
                                  "ii", feed_id, seq);

    if (st == NULL || stmt_next(db, st, err) < 0)
        return RC_IO;
    *n = col_int(st, 0);
    *n_deleted = col_int(st, 1);
    stmt_end(st);
    return RC_OK;
}

enum rc revisions_time(struct db *db, int64_t seq, int64_t *at_us, struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err, "SELECT at_us FROM revisions WHERE seq = ?1", "i", seq),
                       at_us, err);
}

enum rc revisions_shown_at(struct db *db, int64_t seq, int64_t *at, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT coalesce(updated_at, published_at, at_us / 1000000)"
                                  " FROM revisions WHERE seq = ?1",
                                  "i", seq);

    return stmt_time(db, st, at, err);
}

enum rc revisions_merge(struct db *db, int64_t from, int64_t to, struct arena *a,
                        int64_t *n_entries, int64_t *n_items, struct err *err)
{
    enum rc rc = entries_merge(db, from, to, a, err);

    if (rc == RC_OK)
        rc = stmt_run(db, err, "UPDATE revisions SET feed_id = ?2 WHERE feed_id = ?1", "ii", from,
                      to);
    if (rc == RC_OK)
        rc = stmt_number(db,
                         stmt_start(db, err,
                                    "SELECT count(*) FROM entries INDEXED BY entries_newest"
                                    " WHERE feed_id = ?1 AND deleted = 0",
                                    "i", to),
                         n_entries, err);
    if (rc == RC_OK)
        rc = stmt_number(
            db, stmt_start(db, err, "SELECT count(*) FROM entries WHERE feed_id = ?1", "i", to),
            n_items, err);
    return rc;
}

/* ---- keys ------------------------------------------------------------------------------------ */

enum rc keys_of_feed(struct db *db, int64_t feed_id, size_t max, key_fn *fn, void *ctx,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT sort_at, seq, iri_hash FROM entries"
                                  " INDEXED BY entries_newest WHERE feed_id = ?1 AND deleted = 0"
                                  " ORDER BY sort_at DESC, seq DESC LIMIT ?2",
                                  "ii", feed_id, (int64_t)max);
    struct merge_key k;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        k = (struct merge_key){col_int(st, 0), col_int(st, 1), col_int(st, 2)};
        fn(ctx, &k);
    }
    return got < 0 ? RC_IO : RC_OK;
}

struct twin {
    struct merge_key key;
    int64_t feed_id;
    unsigned char essence[16];
};

enum rc entries_is_news(struct db *db, struct str feeds, const struct revision *row,
                        int64_t after_seq, bool *out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT sort_at, seq, feed_id, essence FROM entries"
                                  " WHERE feed_id IN (SELECT value FROM json_each(?1))"
                                  " AND uid = ?2 AND deleted = 0 AND iri_hash <> 0",
                                  "ss", feeds, row->uid);
    struct twin now = {.feed_id = row->feed_id}, before = {.feed_id = 0}, t;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        t = (struct twin){.key = {.sort_at = col_int(st, 0), .seq = col_int(st, 1)},
                          .feed_id = col_int(st, 2)};
        col_hash(st, 3, t.essence);
        if (now.key.seq == 0 || merge_key_before(&t.key, &now.key))
            now = t;
        if (t.key.seq <= after_seq &&
            (before.feed_id == 0 || merge_key_before(&t.key, &before.key)))
            before = t;
    }
    if (got < 0)
        return RC_IO;
    /* one that has changed may have been shown before, as it was then: what it was is not known */
    *out = now.feed_id == row->feed_id &&
           (before.feed_id == 0 || row->first_seq <= after_seq ||
            memcmp(before.essence, now.essence, sizeof now.essence) != 0);
    return RC_OK;
}

enum rc entries_oldest(struct db *db, int64_t feed_id, int64_t *at, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT sort_at FROM entries INDEXED BY entries_newest"
                                  " WHERE feed_id = ?1 AND deleted = 0 ORDER BY sort_at LIMIT 1",
                                  "i", feed_id);

    return stmt_time(db, st, at, err);
}

/* Parameters: 1 a feed, 2 after, 3 before, 4 with deleted, 5 limit. Columns: the seq that orders,
 * the seq to show. The entry of a revision is the current (or first) one when its row says so: the
 * log itself is the index for these orders. A view of several feeds reads each in its order, no
 * further than what the others have left room for. */
#define OF_FEED " r.feed_id = ?1 AND"
#define OF_ALL " ?1 = 0 AND"
#define IN_RANGE " r.seq > ?2 AND r.seq < ?3"
#define BY_FEED "revisions r INDEXED BY revisions_feed"
#define BY_SEQ "revisions r NOT INDEXED"
#define LOG(from, where, direction)                                                                \
    "SELECT r.seq, r.seq FROM " from " WHERE" where IN_RANGE                                       \
    " AND (?4 OR r.kind <> 2) ORDER BY r.seq " direction " LIMIT ?5"
#define CURRENT(column, from, where, direction)                                                    \
    "SELECT r.seq, e.seq FROM " from                                                               \
    " CROSS JOIN entries e ON e.id = r.entry_id WHERE" where IN_RANGE " AND e." column             \
    " = r.seq AND (?4 OR e.deleted = 0) ORDER BY r.seq " direction " LIMIT ?5"

static const struct {
    const char *of_feed, *of_all;
    bool descends;
} view_sql[] = {
    [VIEW_NEWEST] = {NULL, NULL, true},
    [VIEW_LOG] = {LOG(BY_FEED, OF_FEED, "ASC"), LOG(BY_SEQ, OF_ALL, "ASC"), false},
    [VIEW_LOG_DESC] = {LOG(BY_FEED, OF_FEED, "DESC"), LOG(BY_SEQ, OF_ALL, "DESC"), true},
    [VIEW_MODIFIED] = {CURRENT("seq", BY_FEED, OF_FEED, "ASC"),
                       CURRENT("seq", BY_SEQ, OF_ALL, "ASC"), false},
    [VIEW_CREATED] = {CURRENT("first_seq", BY_FEED, OF_FEED, "ASC"),
                      CURRENT("first_seq", BY_SEQ, OF_ALL, "ASC"), false},
    [VIEW_MODIFIED_DESC] = {CURRENT("seq", BY_FEED, OF_FEED, "DESC"),
                            CURRENT("seq", BY_SEQ, OF_ALL, "DESC"), true},
    [VIEW_CREATED_DESC] = {CURRENT("first_seq", BY_FEED, OF_FEED, "DESC"),
                           CURRENT("first_seq", BY_SEQ, OF_ALL, "DESC"), true},
};

struct str id_list(struct arena *a, const int64_t *ids, size_t n)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    size_t i;

    buf_putc(&b, '[');
    for (i = 0; i < n; i++)
        buf_printf(&b, i == 0 ? "%lld" : ",%lld", (long long)ids[i]);
    buf_putc(&b, ']');
    return str_dup(a, buf_view(&b));
}

enum rc newest_keys_of(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                       int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT seq, iri_hash FROM entries INDEXED BY entries_newest"
                   " WHERE feed_id IN (SELECT value FROM json_each(?1)) AND deleted = 0"
                   " AND seq > ?2 AND seq < ?3 ORDER BY sort_at DESC, seq DESC LIMIT ?4",
                   "siii", id_list(scratch, v->feed_ids, v->n_feeds), v->after_seq, v->before_seq,
                   (int64_t)max);
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        seqs[n] = col_int(st, 0);
        iris[n++] = col_int(st, 1);
    }
    if (got < 0)
        return RC_IO;
    *n_out = n;
    return RC_OK;
}

struct log_key {
    int64_t by, seq; /* orders; is shown */
};

/* Keys of one feed (0: of all). */
static enum rc run_of(struct db *db, const struct view *v, int64_t feed_id, size_t max,
                      struct log_key *out, size_t *n_out, struct err *err)
{
    const char *sql = feed_id == 0 ? view_sql[v->order].of_all : view_sql[v->order].of_feed;
    sqlite3_stmt *st = stmt_start(db, err, sql, "iiiii", feed_id, v->after_seq, v->before_seq,
                                  (int64_t)v->with_deleted, (int64_t)max);
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        out[n++] = (struct log_key){col_int(st, 0), col_int(st, 1)};
    if (got < 0)
        return RC_IO;
    *n_out = n;
    return RC_OK;
}

/* The first `max` of two runs in order. */
static size_t join_runs(const struct log_key *x, size_t n_x, const struct log_key *y, size_t n_y,
                        bool descends, size_t max, struct log_key *out)
{
    size_t n = 0, i = 0, k = 0;

    while (n < max && (i < n_x || k < n_y)) {
        bool from_x = k == n_y || (i < n_x && (x[i].by < y[k].by) != descends);

        out[n++] = from_x ? x[i++] : y[k++];
    }
    return n;
}

enum rc view_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                  int64_t *seqs, size_t *n_out, struct err *err)
{
    bool descends = view_sql[v->order].descends;
    struct log_key *best = ARENA_ARRAY(scratch, struct log_key, max + 1);
    struct log_key *run, *joined, *swap;
    struct view rest = *v;
    size_t n = 0, n_run, i;
    enum rc rc = RC_OK;

    if (max == 0) {
        *n_out = 0;
        return RC_OK;
    }
    if (v->all_feeds) {
        rc = run_of(db, v, 0, max, best, &n, err);
    } else if (v->n_feeds == 1) {
        rc = run_of(db, v, v->feed_ids[0], max, best, &n, err);
    } else {
        run = ARENA_ARRAY(scratch, struct log_key, max + 1);
        joined = ARENA_ARRAY(scratch, struct log_key, max + 1);
        for (i = 0; i < v->n_feeds && rc == RC_OK; i++) {
            rc = run_of(db, &rest, v->feed_ids[i], max, run, &n_run, err);
            if (rc != RC_OK || n_run == 0)
                continue;
            n = join_runs(best, n, run, n_run, descends, max, joined);
            swap = best;
            best = joined;
            joined = swap;
            if (n == max && descends)
                rest.after_seq = best[n - 1].by;
            else if (n == max)
                rest.before_seq = best[n - 1].by;
        }
    }
    for (i = 0; i < n; i++)
        seqs[i] = best[i].seq;
    *n_out = n;
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum rc revisions_load(struct db *db, int64_t seq, bool with_overlay, struct arena *a,
                       struct revision *out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT r.seq, e.first_seq, r.at_us, r.feed_id, r.batch, r.kind, r.initial,"
                   " e.uid, r.sort_at, r.published_at, r.updated_at, r.title, r.link, r.summary,"
                   " r.author, coalesce(o.doc, r.doc), coalesce(o.ext, r.ext), e.seq, e.deleted,"
                   " e.id_url"
                   " FROM revisions r JOIN entries e ON e.id = r.entry_id"
                   " LEFT JOIN overlays o ON o.seq = r.seq AND ?2 WHERE r.seq = ?1",
                   "ii", seq, (int64_t)with_overlay);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *out = (struct revision){.seq = 0};
    if (got == 0)
        return RC_OK;
    out->seq = col_int(st, 0);
    out->first_seq = col_int(st, 1);
    out->at_us = col_int(st, 2);
    out->feed_id = col_int(st, 3);
    out->batch = col_int(st, 4);
    out->kind = (enum revision_kind)col_int(st, 5);
    out->initial = col_int(st, 6) != 0;
    out->uid = col_str(st, 7, a);
    out->sort_at = col_int(st, 8);
    out->published_at = col_time(st, 9);
    out->updated_at = col_time(st, 10);
    out->title = col_str(st, 11, a);
    out->link = col_str(st, 12, a);
    out->summary = col_str(st, 13, a);
    out->author = col_str(st, 14, a);
    out->doc = col_str(st, 15, a);
    out->ext = col_str(st, 16, a);
    out->last_seq = col_int(st, 17);
    out->gone = col_int(st, 18) != 0;
    out->id_url = col_str(st, 19, a);
    stmt_end(st);
    return RC_OK;
}

/* ---- pushes ---------------------------------------------------------------------------------- */

#define PUSHED                                                                                     \
    " FROM revisions INDEXED BY revisions_feed WHERE feed_id = ?1 AND seq > ?2 AND kind < 2"       \
    " AND (initial = 0 OR ?3) ORDER BY seq"

enum rc push_first(struct db *db, int64_t feed_id, int64_t after, bool with_initial, int64_t *seq,
                   struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err, "SELECT seq" PUSHED " LIMIT 1", "iii", feed_id, after,
                                  (int64_t)with_initial),
                       seq, err);
}

enum rc push_batch(struct db *db, int64_t feed_id, int64_t first, bool with_initial, size_t max,
                   int64_t *seqs, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, "SELECT seq, batch" PUSHED " LIMIT ?4", "iiii", feed_id,
                                  first - 1, (int64_t)with_initial, (int64_t)max);
    int64_t batch = 0;
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (n == 0)
            batch = col_int(st, 1);
        if (col_int(st, 1) != batch) { /* a batch has no gaps within its feed */
            stmt_end(st);
            got = 0;
            break;
        }
        seqs[n++] = col_int(st, 0);
    }
    if (got < 0)
        return RC_IO;
    *n_out = n;
    return RC_OK;
}

/* Bisection by seq: times rise with it, and gaps do not matter. */
enum rc revisions_at(struct db *db, int64_t at_us, int64_t last, int64_t *seq, struct err *err)
{
    static const char sql[] =
        "SELECT seq, at_us FROM revisions WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1";
    int64_t low = 0, high = last, found = 0; /* the answer is `found` or in (low, high] */

    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2, at = 0, here = 0;
        sqlite3_stmt *st = stmt_start(db, err, sql, "i", middle);
        int got = st == NULL ? -1 : stmt_next(db, st, err);

        if (got < 0)
            return RC_IO;
        if (got > 0) {
            here = col_int(st, 0);
            at = col_int(st, 1);
            stmt_end(st);
        }
        if (here == 0 || at <= at_us) { /* nothing at or below the middle, or early enough */
            found = here == 0 ? found : here;
            low = middle;
        } else {
            high = here - 1;
        }
    }
    *seq = found;
    return RC_OK;
}
