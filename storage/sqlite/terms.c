/* storage/sqlite/terms.c - see terms.h. */
#include "storage/sqlite/terms.h"

#include <stdlib.h>

#include "storage/index_clearing.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/stmt.h"
#include "storage/term_text.h"

/* Rows of the index that one look passes over: about 20 ms. */
#define PASSED_MAX ((size_t)1 << 17)

/* An index of so many pages (1 MiB) is never worth making anew. */
#define PAGES_FEW 256

static const struct term_syntax syntax = {"\"", "*", " AND ", " OR "};

enum rc terms_place(struct db *db, struct index_place *out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, "SELECT seq, n, cut FROM indexed WHERE one = 1", "");
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *out = (struct index_place){.seq = 0};
    if (got == 0)
        return RC_OK;
    *out = (struct index_place){col_int(st, 0), col_int(st, 1), col_int(st, 2)};
    stmt_end(st);
    return RC_OK;
}

/* The pages of the index. Each of its segments has leaves without a gap between the numbers of the
 * first and the last, so there are two looks for a segment. Source: SQLite, fts5_index.c,
 * FTS5_SEGMENT_ROWID. */
static enum rc count_pages(struct db *db, int64_t *out, struct err *err)
{
    static const char sql[] =
        "WITH RECURSIVE segments (first) AS ("
        " SELECT min(id) FROM terms_data WHERE id > 10"
        " UNION ALL SELECT (SELECT min(id) FROM terms_data WHERE id >= ((first >> 37) + 1) << 37)"
        " FROM segments WHERE first IS NOT NULL)"
        " SELECT coalesce(sum(1 - first + (SELECT max(id) FROM terms_data"
        " WHERE id < ((first >> 37) << 37) + (1 << 31))), 0)"
        " FROM segments WHERE first IS NOT NULL";

    return stmt_number(db, stmt_start(db, err, sql, ""), out, err);
}

/* Does the index take more than half of the used part of the file? */
static enum rc is_most(struct db *db, int64_t n_pages, bool *out, struct err *err)
{
    int64_t n_all = 0, n_free = 0;
    enum rc rc = db_number(db, "PRAGMA page_count", &n_all, err);

    if (rc == RC_OK)
        rc = db_number(db, "PRAGMA freelist_count", &n_free, err);
    *out = rc == RC_OK && n_pages > (n_all - n_free) / 2;
    return rc;
}

/* How large the rows are differs by a factor of a thousand, and nobody knows the sizes of single
 * ones. So either most rows are waste, or some are and the index has outgrown all else. */
enum rc terms_are_waste(struct db *db, const struct index_place *place, bool *out, struct err *err)
{
    int64_t n_live = 0, n_gone, n_pages = 0;
    enum rc rc = revisions_count(db, &n_live, err);

    *out = false;
    n_gone = place->n_rows - n_live;
    if (rc == RC_OK && n_gone > n_live / 4)
        rc = count_pages(db, &n_pages, err);
    if (rc != RC_OK || n_pages <= PAGES_FEW)
        return rc;
    *out = n_gone > n_live;
    return *out ? RC_OK : is_most(db, n_pages, out, err);
}

static struct str text_of(struct arena *a, const struct term_query *q)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    term_text(&b, &syntax, q);
    return str_dup(a, buf_view(&b));
}

enum rc terms_find(struct db *db, const struct term_query *q, int64_t after, int64_t before,
                   size_t max, struct arena *scratch, int64_t *seqs, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT rowid FROM terms WHERE terms MATCH ?1 AND rowid > ?2"
                                  " AND rowid < ?3 LIMIT ?4",
                                  "siii", text_of(scratch, q), after, before, (int64_t)max);
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        seqs[n++] = col_int(st, 0);
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}

/* A wanted seq, and its place in the caller's list. */
struct wanted_seq {
    int64_t seq;
    size_t at;
};

static int by_seq(const void *x, const void *y)
{
    const struct wanted_seq *a = x, *b = y;

    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* To look for one row costs as much as to pass over thousands of them, so all rows of the range are
 * passed over. */
enum rc terms_among(struct db *db, const struct term_query *q, const int64_t *seqs, size_t n,
                    struct arena *scratch, bool *out, struct err *err)
{
    struct wanted_seq *wanted = ARENA_ARRAY(scratch, struct wanted_seq, n + 1);
    sqlite3_stmt *st;
    size_t done = 0, n_passed = 0;
    int got = 0;

    if (n == 0)
        return RC_OK;
    for (size_t i = 0; i < n; i++)
        wanted[i] = (struct wanted_seq){seqs[i], i};
    qsort(wanted, n, sizeof *wanted, by_seq);
    st = stmt_start(db, err,
                    "SELECT rowid FROM terms WHERE terms MATCH ?1 AND rowid >= ?2 AND rowid <= ?3",
                    "sii", text_of(scratch, q), wanted[0].seq, wanted[n - 1].seq);
    while (st != NULL && done < n && n_passed++ < PASSED_MAX &&
           (got = stmt_next(db, st, err)) > 0) {
        int64_t seq = col_int(st, 0);

        for (; done < n && wanted[done].seq <= seq; done++)
            out[wanted[done].at] = wanted[done].seq == seq;
    }
    if (st == NULL || got < 0)
        return RC_IO;
    for (; done < n; done++)
        out[wanted[done].at] = got > 0;
    if (got > 0)
        stmt_end(st);
    return RC_OK;
}

enum rc revision_keys(struct db *db, const int64_t *seqs, size_t n, struct revision_key *out,
                      struct err *err)
{
    static const char sql[] = "SELECT r.feed_id, r.kind, r.sort_at, e.first_seq, e.seq, e.deleted"
                              " FROM revisions r JOIN entries e ON e.id = r.entry_id"
                              " WHERE r.seq = ?1";

    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *st = stmt_start(db, err, sql, "i", seqs[i]);
        int got = st == NULL ? -1 : stmt_next(db, st, err);

        if (got < 0)
            return RC_IO;
        out[i] = (struct revision_key){.seq = 0};
        if (got == 0)
            continue;
        out[i] = (struct revision_key){.seq = seqs[i],
                                       .feed_id = col_int(st, 0),
                                       .kind = (enum revision_kind)col_int(st, 1),
                                       .sort_at = col_int(st, 2),
                                       .first_seq = col_int(st, 3),
                                       .last_seq = col_int(st, 4),
                                       .gone = col_int(st, 5) != 0};
        stmt_end(st);
    }
    return RC_OK;
}

static enum rc move_place(struct db *db, const struct index_group *g, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "INSERT INTO indexed (one, seq, n, cut) SELECT 1, ?2, ?3, ?4"
                          " WHERE ?1 = 0 OR EXISTS (SELECT 1 FROM indexed)"
                          " ON CONFLICT (one) DO UPDATE SET seq = excluded.seq,"
                          " n = indexed.n + excluded.n WHERE indexed.seq = ?1",
                          "iiii", g->from, g->to, (int64_t)g->n, g->cut);

    if (rc == RC_OK && stmt_changes(db) == 0)
        rc = err_set(err, RC_CONFLICT, "the index of words is not at %lld", (long long)g->from);
    return rc;
}

#define STEP "64" /* pages that are taken out of the index at once: milliseconds */

/* Nobody reads the index from here on, and it says itself that it has nothing. */
static enum rc close_index(struct db *db, struct err *err)
{
    enum rc rc = stmt_run(db, err, "UPDATE indexed SET seq = 0, n = 0, cut = ?1", "i",
                          (int64_t)INDEX_CLEARING);

    if (rc == RC_OK)
        rc = stmt_run(db, err, "UPDATE terms_data SET block = X'00000000000000' WHERE id = 10", "");
    if (rc == RC_OK && stmt_changes(db) != 1)
        rc = err_set(err, RC_IO, "the index of words has no list of its segments");
    return rc;
}

static enum rc delete_all(struct db *db, struct err *err)
{
    enum rc rc = stmt_run(db, err, "INSERT INTO terms (terms) VALUES ('delete-all')", "");

    return rc == RC_OK ? stmt_run(db, err, "DELETE FROM indexed", "") : rc;
}

/* Of rows that are gone only their terms could be taken out, and these are not known any more. To
 * empty a large index takes seconds, so it is done in steps, each a call. They take what the index
 * does not name any more: the data of its segments, which have ids over 10. Source: SQLite, "FTS5",
 * "Internal storage". */
static enum rc begin_anew(struct db *db, struct err *err)
{
    enum rc rc = close_index(db, err);

    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "DELETE FROM terms_data WHERE id IN"
                      " (SELECT id FROM terms_data WHERE id > 10 LIMIT " STEP ")",
                      "");
    if (rc != RC_OK || stmt_changes(db) == atoi(STEP))
        return rc;
    return delete_all(db, err);
}

enum rc terms_drop_waste(struct db *db, struct err *err)
{
    struct index_place place;
    bool is_waste = false;
    enum rc rc = terms_place(db, &place, err);

    if (rc == RC_OK && place.cut == INDEX_CLEARING)
        is_waste = true;
    else if (rc == RC_OK)
        rc = terms_are_waste(db, &place, &is_waste, err);
    if (rc != RC_OK || !is_waste)
        return rc;
    rc = db_begin(db, err); /* an empty index that is said to be full would never be filled again */
    if (rc == RC_OK)
        rc = delete_all(db, err);
    if (rc == RC_OK)
        rc = db_commit(db, err);
    if (rc != RC_OK)
        db_rollback(db);
    return rc;
}

enum rc terms_add(struct db *db, const struct index_group *g, struct err *err)
{
    enum rc rc = g->anew ? begin_anew(db, err) : move_place(db, g, err);

    for (size_t i = 0; i < g->n && rc == RC_OK; i++)
        rc = stmt_run(db, err, "INSERT INTO terms (rowid, words) VALUES (?1, ?2)", "ie",
                      g->rows[i].seq, g->rows[i].terms);
    return rc;
}
