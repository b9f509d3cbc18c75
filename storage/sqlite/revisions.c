/* storage/sqlite/revisions.c - statements of the tables revisions and overlays. */
#include "storage/sqlite/revisions.h"

#include "storage/sqlite/entries.h"
#include "storage/sqlite/fields.h"
#include "storage/tables.h"

enum rc revisions_append(struct db *db, const struct revision *row, int64_t entry_id,
                         struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO revisions (" REVISION(FIELD_SELECT) "entry_id) VALUES (" REVISION(
                        FIELD_VALUE) "?)",
                    REVISION(FIELD_LETTER) "i", REVISION(FIELD_BIND) entry_id);
}

enum rc revisions_count(struct db *db, int64_t *out, struct err *err)
{
    return stmt_number(
        db, stmt_start(db, err, "SELECT count(*) FROM revisions INDEXED BY revisions_feed", ""),
        out, err);
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

enum rc revisions_times(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                        struct err *err)
{
    static const char sql[] = "SELECT at_us FROM revisions WHERE seq = ?1";
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = stmt_number(db, stmt_start(db, err, sql, "i", seqs[i]), &at_us[i], err);
    return rc;
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
            db, stmt_start(db, err, "SELECT count(*) FROM entries WHERE feed_id = ?1 AND gone_at IS NULL", "i", to),
            n_items, err);
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The row before this one. It is looked for where it is not noted: a node of a program that did not
 * know the column has written the row, and the log was moved here. */
#define PREV_SEQ                                                                                   \
    "iif(r.prev_seq <> 0 OR r.seq <= e.first_seq, r.prev_seq, coalesce((SELECT p.seq"              \
    " FROM revisions p WHERE p.feed_id = r.feed_id AND p.entry_id = r.entry_id"                    \
    " AND p.seq < r.seq AND p.seq >= e.first_seq ORDER BY p.seq DESC LIMIT 1), 0))"

enum rc revisions_load(struct db *db, int64_t seq, bool with_overlay, struct arena *a,
                       struct revision *out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT r.seq, e.first_seq, r.at_us, r.feed_id, r.batch, r.kind, r.initial,"
                   " e.uid, r.sort_at, r.published_at, r.updated_at, r.title, r.link, r.summary,"
                   " r.author, coalesce(o.doc, r.doc), coalesce(o.ext, r.ext), e.seq, e.deleted,"
                   " e.id_url, " PREV_SEQ " FROM revisions r JOIN entries e ON e.id = r.entry_id"
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
    out->prev_seq = col_int(st, 20);
    stmt_end(st);
    return RC_OK;
}

enum rc revisions_by_seq(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                         struct arena *a, struct revision **out, size_t *n_out, struct err *err)
{
    struct revision *rows = ARENA_ARRAY(a, struct revision, n + 1);
    enum rc rc = RC_OK;
    size_t kept = 0;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = revisions_load(db, seqs[i], with_overlays, a, &rows[kept], err);
        if (rc == RC_OK && rows[kept].seq != 0)
            kept++;
    }
    if (rc != RC_OK)
        return rc;
    *out = rows;
    *n_out = kept;
    return RC_OK;
}

/* ---- pushes ---------------------------------------------------------------------------------- */

_Static_assert(SUB_NEW == 1 << REV_NEW && SUB_CHANGED == 1 << REV_CHANGED &&
                   SUB_DELETED == 1 << REV_DELETED,
               "the next statement looks for the bit of a kind");
#define PUSHED                                                                                     \
    " FROM revisions INDEXED BY revisions_feed WHERE feed_id = ?1 AND seq > ?2"                    \
    " AND (1 << kind) & ?3 AND (initial = 0 OR ?4) ORDER BY seq"

enum rc push_first(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t *seq,
                   struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err, "SELECT seq" PUSHED " LIMIT 1", "iiii", feed_id,
                                  sub->position, (int64_t)sub->events, (int64_t)sub->with_initial),
                       seq, err);
}

enum rc push_batch(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t first,
                   size_t max, int64_t *seqs, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT seq, batch" PUSHED " LIMIT ?5", "iiiii", feed_id, first - 1,
                   (int64_t)sub->events, (int64_t)sub->with_initial, (int64_t)max);
    int64_t batch = 0;
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (n == 0)
            batch = col_int(st, 1);
        if (col_int(st, 1) != batch) { /* the revisions of a batch follow each other in a feed */
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

enum rc push_range(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t after,
                   int64_t before, size_t max, int64_t *seqs, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, "SELECT seq" PUSHED " LIMIT ?5", "iiiii", feed_id, after,
                                  (int64_t)sub->events, (int64_t)sub->with_initial, (int64_t)max);
    size_t n = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (col_int(st, 0) >= before) {
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

enum rc push_count(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t max,
                   int64_t *n, struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err, "SELECT count(*) FROM (SELECT seq" PUSHED " LIMIT ?5)",
                                  "iiiii", feed_id, sub->position, (int64_t)sub->events,
                                  (int64_t)sub->with_initial, max),
                       n, err);
}

enum rc revisions_time_before(struct db *db, int64_t seq, int64_t *at_us, struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT at_us FROM revisions WHERE seq <= ?1 ORDER BY seq DESC"
                                  " LIMIT 1",
                                  "i", seq),
                       at_us, err);
}

/* A binary search by seq. It works because times grow with the seq; missing seqs do not matter. */
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
        if (here == 0 ||
            at <= at_us) { /* there is no row up to the middle, or it is early enough */
            found = here == 0 ? found : here;
            low = middle;
        } else {
            high = here - 1;
        }
    }
    *seq = found;
    return RC_OK;
}
