/* storage/sqlite/views.c - a statement for each view.
 *
 * A statement reads only an index. The rows are then read one by one, by seq. The statements name
 * their indexes, so a change of the schema or of the query planner causes an error and not slow
 * answers. */
#include "storage/sqlite/views.h"

#include "base/digits.h"
#include "base/mem.h"
#include "model/filter.h"
#include "storage/sqlite/stmt.h"

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

enum rc entries_oldest(struct db *db, int64_t feed_id, int64_t *at, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT sort_at FROM entries INDEXED BY entries_newest"
                                  " WHERE feed_id = ?1 AND deleted = 0 ORDER BY sort_at LIMIT 1",
                                  "i", feed_id);

    return stmt_time(db, st, at, err);
}

/* Parameters: 1 feed, 2 after, 3 before, 4 with deleted, 5 limit. Columns: the seq by which the
 * view is ordered, the seq of the row to show, and, of an entry, the hash of its IRI. The row of
 * the entry says whether a revision is its newest or its first one, so these orders need no index
 * but the log. A view of several feeds reads the feeds one after the other, each only as far as it
 * can still contribute rows. */
#define OF_FEED " r.feed_id = ?1 AND"
#define OF_ALL " ?1 = 0 AND"
#define IN_RANGE " r.seq > ?2 AND r.seq < ?3"
#define BY_FEED "revisions r INDEXED BY revisions_feed"
#define BY_SEQ "revisions r NOT INDEXED"
_Static_assert(REV_DELETED == 2, "a number in the next statement");
#define LOG(from, where, direction)                                                                \
    "SELECT r.seq, r.seq, 0 FROM " from " WHERE" where IN_RANGE                                    \
    " AND (?4 OR r.kind <> 2) ORDER BY r.seq " direction " LIMIT ?5"
#define CURRENT(column, from, where, direction)                                                    \
    "SELECT r.seq, e.seq, e.iri_hash FROM " from                                                   \
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
    [VIEW_RECEIVED] = {CURRENT("first_seq", BY_FEED, OF_FEED, "DESC"), NULL, true},
    [VIEW_CHANGED] = {CURRENT("seq", BY_FEED, OF_FEED, "DESC"), NULL, true},
};

struct str id_list(struct arena *a, const int64_t *ids, size_t n)
{
    char *list = arena_alloc(a, n * (DIGITS_MAX + 1) + 3), *end = list;

    *end++ = '[';
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            *end++ = ',';
        end += digits_write(end, ids[i]);
    }
    *end++ = ']';
    return str_of(list, (size_t)(end - list));
}

struct log_key {
    int64_t by, seq; /* the seq that orders the row, and the seq of the row to show */
    int64_t iri;
};

/* Read the keys of one feed; 0: of all feeds. */
static enum rc run_of(struct db *db, const struct view *v, int64_t feed_id, size_t max,
                      struct log_key *out, size_t *n_out, struct err *err)
{
    const char *sql = feed_id == 0 ? view_sql[v->order].of_all : view_sql[v->order].of_feed;
    sqlite3_stmt *st = stmt_start(db, err, sql, "iiiii", feed_id, v->after_seq, v->before_seq,
                                  (int64_t)v->with_deleted, (int64_t)max);
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        out[n++] = (struct log_key){col_int(st, 0), col_int(st, 1), col_int(st, 2)};
    if (got < 0)
        return RC_IO;
    *n_out = n;
    return RC_OK;
}

/* Merge two runs, and return the first `max` keys in order. */
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

/* The keys of a view by numbers of the log, in its order. */
static enum rc keys_by_number(struct db *db, const struct view *v, size_t max,
                              struct arena *scratch, struct log_key **out, size_t *n_out,
                              struct err *err)
{
    bool descends = view_sql[v->order].descends;
    struct log_key *best = ARENA_ARRAY(scratch, struct log_key, max + 1);
    struct log_key *run, *joined, *swap;
    struct view rest = *v;
    size_t n = 0, n_run;
    enum rc rc = RC_OK;

    *out = best;
    *n_out = 0;
    if (max == 0)
        return RC_OK;
    if (v->all_feeds) {
        rc = run_of(db, v, 0, max, best, &n, err);
    } else if (v->n_feeds == 1) {
        rc = run_of(db, v, v->feed_ids[0], max, best, &n, err);
    } else {
        run = ARENA_ARRAY(scratch, struct log_key, max + 1);
        joined = ARENA_ARRAY(scratch, struct log_key, max + 1);
        for (size_t i = 0; i < v->n_feeds && rc == RC_OK; i++) {
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
    *out = best;
    *n_out = n;
    return rc;
}

enum rc view_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                  int64_t *seqs, size_t *n_out, struct err *err)
{
    struct log_key *keys;
    size_t n = 0;
    enum rc rc = keys_by_number(db, v, max, scratch, &keys, &n, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        seqs[i] = keys[i].seq;
    *n_out = n;
    return rc;
}

/* By the dates of the entries. */
static enum rc keys_by_date(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                            int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT seq, iri_hash FROM entries INDEXED BY entries_newest"
                   " WHERE feed_id IN (SELECT value FROM json_each(?1)) AND deleted = 0"
                   " AND sort_at < ?4 AND seq > ?2 AND seq < ?3"
                   " ORDER BY sort_at DESC, seq DESC LIMIT ?5",
                   "siiii", id_list(scratch, v->feed_ids, v->n_feeds), v->after_seq, v->before_seq,
                   filter_before_at(v->filter), (int64_t)max);
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

enum rc newest_keys_of(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                       int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err)
{
    struct view present = *v;
    struct log_key *keys;
    size_t n = 0;
    enum rc rc;

    if (v->order == VIEW_NEWEST)
        return keys_by_date(db, v, max, scratch, seqs, iris, n_out, err);
    present.with_deleted = false;
    rc = keys_by_number(db, &present, max, scratch, &keys, &n, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        seqs[i] = keys[i].seq;
        iris[i] = keys[i].iri;
    }
    *n_out = n;
    return rc;
}
