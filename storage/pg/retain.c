/* storage/pg/retain.c - see retain.h. */
#include "storage/pg/retain.h"

/* A subscription without an endpoint is given nothing. Setting a position back locks the feeds of
 * the subscription, so none is set back while we look. */
static const char sql_needed[] =
    "SELECT least((SELECT min(s.position) FROM sub_feeds f JOIN subscriptions s ON s.id = f.sub_id"
    " WHERE f.feed_id = $1 AND s.endpoint IS NOT NULL), (SELECT min(d.seq) - 1 FROM sub_feeds f"
    " JOIN dead_letters d ON d.sub_id = f.sub_id WHERE f.feed_id = $1), 9223372036854775807)";

static const char sql_old[] =
    "SELECT r.seq, r.at_us, r.entry_id, e.first_seq, e.seq, coalesce(c.at_us, 0), e.deleted, e.uid"
    " FROM revisions r JOIN entries e ON e.id = r.entry_id LEFT JOIN revisions c ON c.seq = e.seq"
    " WHERE r.feed_id = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq LIMIT $4";

/* $1: revisions. */
static const char *const statements[] = {
    "DELETE FROM bodies b USING revisions r WHERE r.seq = ANY ($1) AND b.id = r.body",
    "DELETE FROM overlays WHERE seq = ANY ($1)",
    "DELETE FROM terms WHERE seq = ANY ($1)",
    "DELETE FROM revisions WHERE seq = ANY ($1)",
};

/* $1: the feed, $2: its new horizon. As in storage/sqlite/retain.c. */
static const char *const of_feed[] = {
    "DELETE FROM feed_events WHERE feed_id = $1 AND seq <= $2",
    "DELETE FROM head_log WHERE feed_id = $1 AND since_seq IN (SELECT h.since_seq FROM"
    " (SELECT since_seq, lead(since_seq) OVER w AS next, lag(since_seq) OVER w AS before"
    " FROM head_log WHERE feed_id = $1 AND since_seq <= $2 WINDOW w AS (ORDER BY since_seq)) h"
    " WHERE h.next IS NOT NULL AND h.before IS NOT NULL AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.feed_id = $1"
    " AND r.seq < h.next AND r.seq >= h.since_seq))",
};

static const char sql_gone[] =
    "SELECT id, gone_at, uid FROM entries WHERE feed_id = $1 AND gone_at IS NOT NULL"
    " AND gone_at <= $2 AND (gone_at, id) > ($3, $4) ORDER BY gone_at, id LIMIT $5";

/* $1: the feed, $2: entries. */
static const char *const end_statements[] = {
    "DELETE FROM entry_keys WHERE feed_id = $1 AND entry_id = ANY ($2)",
    "DELETE FROM entries WHERE feed_id = $1 AND id = ANY ($2)",
};
static const char sql_shown[] = "UPDATE entries SET gone_at = $2 WHERE id = ANY ($1)";

/* $1: entries. */
static const char sql_contents[] = "DELETE FROM contents WHERE entry_id = ANY ($1)";
static const char sql_entries[] =
    "UPDATE entries SET gone_at = $2, deleted = CASE deleted WHEN 0 THEN 2 ELSE deleted END"
    " WHERE id = ANY ($1)";

enum rc pg_old_revisions(struct pg_link *l, struct pg_params *p, int64_t feed_id, int64_t after,
                         int64_t limit, size_t max, struct arena *a, struct old_revisions *out,
                         struct err *err)
{
    struct pg_answer needed, old;
    enum rc rc;

    pg_params_reset(p);
    pg_put_int(p, feed_id);
    pg_queue(l, sql_needed, p, "i", &needed);
    pg_params_reset(p);
    pg_put_int(p, feed_id);
    pg_put_int(p, after);
    pg_put_int(p, limit);
    pg_put_int(p, (int64_t)max);
    pg_queue(l, sql_old, p, "iiiiiiis", &old);
    rc = pg_run(l, err);
    if (rc != RC_OK)
        return rc;
    out->needed_after = pg_get_int(&needed, 0, 0);
    out->rows = ARENA_ARRAY(a, struct old_revision, old.n + 1);
    for (out->n = 0; out->n < old.n; out->n++) {
        size_t i = out->n;

        out->rows[i] = (struct old_revision){.seq = pg_get_int(&old, i, 0),
                                             .at_us = pg_get_int(&old, i, 1),
                                             .entry_id = pg_get_int(&old, i, 2),
                                             .first_seq = pg_get_int(&old, i, 3),
                                             .last_seq = pg_get_int(&old, i, 4),
                                             .last_at_us = pg_get_int(&old, i, 5),
                                             .lives = pg_get_int(&old, i, 6) == 0,
                                             .uid = pg_get_str(&old, i, 7, a)};
    }
    return RC_OK;
}

enum rc pg_take_revisions(struct pg_link *l, struct pg_params *p, int64_t feed_id,
                          const struct taken *what, int64_t now, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        pg_params_reset(p);
        pg_put_ints(p, what->seqs, what->n);
        pg_queue(l, statements[i], p, "", NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(of_feed); i++) {
        pg_params_reset(p);
        pg_put_int(p, feed_id);
        pg_put_int(p, what->last_seq);
        pg_queue(l, of_feed[i], p, "", NULL);
    }
    pg_params_reset(p);
    pg_put_ints(p, what->entries, what->n_entries);
    pg_queue(l, sql_contents, p, "", NULL);
    pg_put_int(p, now);
    pg_queue(l, sql_entries, p, "", NULL);
    return pg_run(l, err);
}

enum rc pg_gone_entries(struct pg_link *l, struct pg_params *p, int64_t feed_id,
                        const struct gone_entry *after, int64_t before, size_t max, struct arena *a,
                        struct gone_entry **out, size_t *n, struct err *err)
{
    struct pg_answer gone;
    enum rc rc;

    pg_params_reset(p);
    pg_put_int(p, feed_id);
    pg_put_int(p, before);
    pg_put_int(p, after->gone_at);
    pg_put_int(p, after->id);
    pg_put_int(p, (int64_t)max);
    pg_queue(l, sql_gone, p, "iis", &gone);
    rc = pg_run(l, err);
    *n = rc == RC_OK ? gone.n : 0;
    *out = ARENA_ARRAY(a, struct gone_entry, *n + 1);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = (struct gone_entry){pg_get_int(&gone, i, 0), pg_get_int(&gone, i, 1),
                                        pg_get_str(&gone, i, 2, a)};
    return rc;
}

enum rc pg_end_entries(struct pg_link *l, struct pg_params *p, int64_t feed_id,
                       const struct ended *what, int64_t now, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(end_statements); i++) {
        pg_params_reset(p);
        pg_put_int(p, feed_id);
        pg_put_ints(p, what->ended, what->n_ended);
        pg_queue(l, end_statements[i], p, "", NULL);
    }
    pg_params_reset(p);
    pg_put_ints(p, what->shown, what->n_shown);
    pg_put_int(p, now);
    pg_queue(l, sql_shown, p, "", NULL);
    return pg_run(l, err);
}
