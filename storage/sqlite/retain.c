/* storage/sqlite/retain.c - see retain.h. */
#include "storage/sqlite/retain.h"

#include "storage/sqlite/stmt.h"
#include "storage/sqlite/views.h"

/* A subscription without an endpoint is given nothing. */
static enum rc read_needed(struct db *db, int64_t feed_id, int64_t *out, struct err *err)
{
    return stmt_number(
        db,
        stmt_start(db, err,
                   "SELECT min(coalesce((SELECT min(s.position) FROM sub_feeds f"
                   " JOIN subscriptions s ON s.id = f.sub_id"
                   " WHERE f.feed_id = ?1 AND s.endpoint IS NOT NULL), ?2),"
                   " coalesce((SELECT min(d.seq) - 1 FROM sub_feeds f"
                   " JOIN dead_letters d ON d.sub_id = f.sub_id WHERE f.feed_id = ?1), ?2))",
                   "ii", feed_id, INT64_MAX),
        out, err);
}

enum rc old_revisions(struct db *db, int64_t feed_id, int64_t after, int64_t limit, size_t max,
                      struct arena *a, struct old_revisions *out, struct err *err)
{
    enum rc rc = read_needed(db, feed_id, &out->needed_after, err);
    sqlite3_stmt *st;
    int got = -1;

    out->rows = ARENA_ARRAY(a, struct old_revision, max + 1);
    out->n = 0;
    if (rc != RC_OK)
        return rc;
    st = stmt_start(db, err,
                    "SELECT r.seq, r.at_us, r.entry_id, e.first_seq, e.seq, coalesce(c.at_us, 0),"
                    " e.deleted = 0, e.uid FROM revisions r INDEXED BY revisions_feed"
                    " CROSS JOIN entries e ON e.id = r.entry_id"
                    " LEFT JOIN revisions c ON c.seq = e.seq"
                    " WHERE r.feed_id = ?1 AND r.seq > ?2 AND r.seq <= ?3 ORDER BY r.seq LIMIT ?4",
                    "iiii", feed_id, after, limit, (int64_t)max);
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        out->rows[out->n++] = (struct old_revision){.seq = col_int(st, 0),
                                                    .at_us = col_int(st, 1),
                                                    .entry_id = col_int(st, 2),
                                                    .first_seq = col_int(st, 3),
                                                    .last_seq = col_int(st, 4),
                                                    .last_at_us = col_int(st, 5),
                                                    .lives = col_int(st, 6) != 0,
                                                    .uid = col_str(st, 7, a)};
    return got < 0 ? RC_IO : RC_OK;
}

/* ?1: the feed, ?2: its new horizon. The head of a revision is the last one before it. The first
 * one stays: permanent documents have its addresses. An operation takes revisions in several parts, and
 * this follows each of them: what one part leaves, because a later part has its revisions, the later
 * one takes. What was taken is not looked at again, so once at the end would save little. */
static const char *const of_feed[] = {
    "DELETE FROM feed_events WHERE feed_id = ?1 AND seq <= ?2",
    "DELETE FROM head_log WHERE feed_id = ?1 AND since_seq IN (SELECT h.since_seq FROM"
    " (SELECT since_seq, lead(since_seq) OVER w AS next, lag(since_seq) OVER w AS before"
    " FROM head_log WHERE feed_id = ?1 AND since_seq <= ?2 WINDOW w AS (ORDER BY since_seq)) h"
    " WHERE h.next IS NOT NULL AND h.before IS NOT NULL AND NOT EXISTS (SELECT 1 FROM revisions r "
    "WHERE r.feed_id = ?1"
    " AND r.seq < h.next AND r.seq >= h.since_seq))",
};

enum rc take_revisions(struct db *db, int64_t feed_id, const struct taken *what, int64_t now,
                       struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct str seqs = id_list(&scratch, what->seqs, what->n);
    struct str entries = id_list(&scratch, what->entries, what->n_entries);
    enum rc rc =
        stmt_run(db, err, "DELETE FROM revisions WHERE seq IN (SELECT value FROM json_each(?1))",
                 "s", seqs); /* with their overlays */

    for (size_t i = 0; i < ARRAY_LEN(of_feed) && rc == RC_OK; i++)
        rc = stmt_run(db, err, of_feed[i], "ii", feed_id, what->last_seq);
    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "DELETE FROM contents WHERE entry_id IN (SELECT value FROM json_each(?1))",
                      "s", entries);
    return rc == RC_OK ? stmt_run(db, err,
                                  "UPDATE entries SET gone_at = ?2, deleted = iif(deleted = 0, 2,"
                                  " deleted) WHERE id IN (SELECT value FROM json_each(?1))",
                                  "si", entries, now)
                       : rc;
}

enum rc gone_entries(struct db *db, int64_t feed_id, const struct gone_entry *after, int64_t before,
                     size_t max, struct arena *a, struct gone_entry **out, size_t *n,
                     struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT id, gone_at, uid FROM entries INDEXED BY entries_gone WHERE feed_id = ?1"
                   " AND gone_at IS NOT NULL AND gone_at <= ?2 AND (gone_at, id) > (?3, ?4)"
                   " ORDER BY gone_at, id LIMIT ?5",
                   "iiiii", feed_id, before, after->gone_at, after->id, (int64_t)max);
    int got = -1;

    *out = ARENA_ARRAY(a, struct gone_entry, max + 1);
    *n = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        (*out)[(*n)++] = (struct gone_entry){col_int(st, 0), col_int(st, 1), col_str(st, 2, a)};
    return got < 0 ? RC_IO : RC_OK;
}

enum rc end_entries(struct db *db, int64_t feed_id, const struct ended *what, int64_t now,
                    struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct str ended = id_list(&scratch, what->ended, what->n_ended);
    struct str shown = id_list(&scratch, what->shown, what->n_shown);
    enum rc rc = stmt_run(db, err,
                          "DELETE FROM entry_keys WHERE feed_id = ?1"
                          " AND entry_id IN (SELECT value FROM json_each(?2))",
                          "is", feed_id, ended);

    if (rc == RC_OK)
        rc = stmt_run(db, err, "DELETE FROM entries WHERE id IN (SELECT value FROM json_each(?1))",
                      "s", ended);
    return rc == RC_OK ? stmt_run(db, err,
                                  "UPDATE entries SET gone_at = ?2"
                                  " WHERE id IN (SELECT value FROM json_each(?1))",
                                  "si", shown, now)
                       : rc;
}

enum rc gone_feeds(struct db *db, int64_t after, int64_t before, size_t max, int64_t *ids,
                   size_t *n, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT DISTINCT feed_id FROM entries INDEXED BY entries_gone"
                                  " WHERE gone_at IS NOT NULL AND feed_id > ?1 AND gone_at <= ?2"
                                  " ORDER BY feed_id LIMIT ?3",
                                  "iii", after, before, (int64_t)max);
    int got = -1;

    *n = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        ids[(*n)++] = col_int(st, 0);
    return got < 0 ? RC_IO : RC_OK;
}

static enum rc read_one(struct db *db, sqlite3_stmt *st, struct log_horizon *out, struct err *err)
{
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *out = (struct log_horizon){.seq = 0};
    if (got == 0)
        return RC_OK;
    *out = (struct log_horizon){col_int(st, 0), col_int(st, 1), col_int(st, 2)};
    stmt_end(st);
    return RC_OK;
}

/* The condition of the index feeds_horizon, which has a row only for feeds that lack something. */
enum rc feeds_horizon(struct db *db, const int64_t *ids, size_t n, bool all,
                      struct log_horizon *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    /* asked for each batch of events. Times rise with the numbers of the log */
    static const char of_all[] = "SELECT horizon, horizon_us, 0 FROM feeds INDEXED BY feeds_highest"
                                 " WHERE horizon > 0 ORDER BY horizon DESC LIMIT 1";
    static const char of_some[] =
        "SELECT coalesce(max(horizon), 0), coalesce(max(horizon_us), 0), coalesce(sum(n_taken), 0)"
        " FROM feeds INDEXED BY feeds_horizon WHERE horizon > 0"
        " AND id IN (SELECT value FROM json_each(?1))";

    return read_one(db,
                    all ? stmt_start(db, err, of_all, "")
                        : stmt_start(db, err, of_some, "s", id_list(&scratch, ids, n)),
                    out, err);
}

#define WISHES_OF                                                                                  \
    "SELECT f.id, f.keep_s, f.keep_entries, count(s.id), coalesce(min(s.keep_s), 0),"              \
    " coalesce(min(s.keep_entries), 0), coalesce(max(s.keep_s), 0), coalesce(max(s.keep_entries)," \
    " 0) FROM (SELECT id, keep_s, keep_entries FROM feeds WHERE id > ?1 "
#define WISHES_END                                                                                 \
    " ORDER BY id LIMIT ?2) f LEFT JOIN sub_feeds x ON x.feed_id = f.id LEFT JOIN subscriptions s" \
    " ON s.id = x.sub_id GROUP BY f.id ORDER BY f.id"

enum rc keep_wishes(struct db *db, int64_t after, size_t max, bool all, struct keep_wishes *out,
                    size_t *n, struct err *err)
{
    static const char of_all[] = WISHES_OF WISHES_END;
    static const char wished[] =
        WISHES_OF "AND id IN (SELECT id FROM feeds INDEXED BY feeds_keep WHERE (keep_s > 0 OR "
                  "keep_entries > 0)"
                  " UNION SELECT y.feed_id FROM subscriptions z INDEXED BY subscriptions_keep"
                  " CROSS JOIN sub_feeds y ON y.sub_id = z.id"
                  " WHERE (z.keep_s > 0 OR z.keep_entries > 0))" WISHES_END;
    sqlite3_stmt *st = stmt_start(db, err, all ? of_all : wished, "ii", after, (int64_t)max);
    int got = -1;

    *n = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        out[(*n)++] = (struct keep_wishes){.feed_id = col_int(st, 0),
                                           .own = {col_int(st, 1), col_int(st, 2)},
                                           .n_subs = col_int(st, 3),
                                           .least = {col_int(st, 4), col_int(st, 5)},
                                           .most = {col_int(st, 6), col_int(st, 7)}};
    return got < 0 ? RC_IO : RC_OK;
}
