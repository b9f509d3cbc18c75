/* storage/pg/forget_feed.c - see forget_feed.h. */
#include "storage/pg/forget_feed.h"

/* Which feeds a subscription has changes under its lock. */
static const char sql_subs[] =
    "SELECT id FROM subscriptions WHERE id IN (SELECT sub_id FROM sub_feeds WHERE feed_id = $1)"
    " ORDER BY id FOR NO KEY UPDATE";

/* Tables without references first; all else goes with the row of the feed. */
static const char *const statements[] = {
    "DELETE FROM dead_letters d USING revisions r WHERE r.feed_id = $1 AND r.seq = d.seq",
    "DELETE FROM bodies b USING revisions r WHERE r.feed_id = $1 AND b.id = r.body",
    "DELETE FROM overlays o USING revisions r WHERE r.feed_id = $1 AND o.seq = r.seq",
    "DELETE FROM terms t USING revisions r WHERE r.feed_id = $1 AND t.seq = r.seq",
    "DELETE FROM revisions WHERE feed_id = $1",
    "DELETE FROM entry_keys WHERE feed_id = $1",
    "DELETE FROM contents WHERE feed_id = $1",
    "DELETE FROM entries WHERE feed_id = $1",
    "DELETE FROM sub_feeds WHERE feed_id = $1",
    "DELETE FROM feeds WHERE id = $1",
};

enum rc pg_forget_feed(struct pg_link *l, struct pg_params *p, int64_t id, struct arena *a,
                       int64_t **subs, size_t *n_subs, struct err *err)
{
    struct pg_answer found;
    enum rc rc;

    pg_params_reset(p);
    pg_put_int(p, id);
    pg_queue(l, sql_subs, p, "i", &found);
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        pg_params_reset(p);
        pg_put_int(p, id);
        pg_queue(l, statements[i], p, "", NULL);
    }
    rc = pg_run(l, err);
    if (rc != RC_OK)
        return rc;
    *subs = ARENA_ARRAY(a, int64_t, found.n + 1);
    for (*n_subs = 0; *n_subs < found.n; ++*n_subs)
        (*subs)[*n_subs] = pg_get_int(&found, *n_subs, 0);
    return RC_OK;
}
