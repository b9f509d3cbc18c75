/* storage/sqlite/forget_feed.c - see forget_feed.h. */
#include "storage/sqlite/forget_feed.h"

#include "storage/sqlite/stmt.h"
#include "storage/sqlite/subscriptions.h"

/* In this order, because of what refers to what. All else goes with the row of the feed. The rows
 * of the index of words stay, as they do when two feeds merge (schema.sql, terms). */
static const char *const statements[] = {
    "DELETE FROM dead_letters WHERE seq IN (SELECT seq FROM revisions WHERE feed_id = ?1)",
    "DELETE FROM revisions WHERE feed_id = ?1",
    "DELETE FROM entry_keys WHERE feed_id = ?1",
    "DELETE FROM entries WHERE feed_id = ?1",
    "DELETE FROM sub_feeds WHERE feed_id = ?1",
    "DELETE FROM feeds WHERE id = ?1",
};

enum rc forget_feed(struct db *db, int64_t id, struct arena *a, int64_t **subs, size_t *n_subs,
                    struct err *err)
{
    enum rc rc = subs_of_feed(db, id, a, subs, n_subs, err);

    for (size_t i = 0; i < ARRAY_LEN(statements) && rc == RC_OK; i++)
        rc = stmt_run(db, err, statements[i], "i", id);
    return rc;
}
