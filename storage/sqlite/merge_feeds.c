/* storage/sqlite/merge_feeds.c - see merge_feeds.h. */
#include "storage/sqlite/merge_feeds.h"

#include "storage/merged_name.h"
#include "storage/sqlite/archives.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/stmt.h"
#include "storage/sqlite/subscriptions.h"

static enum rc move_children(struct db *db, int64_t from, int64_t to, bool with_heads,
                             struct arena *a, struct merged_feeds *out, struct err *err)
{
    enum rc rc = aliases_move(db, from, to, err);

    if (rc == RC_OK)
        rc = sub_feeds_move(db, from, to, err);
    if (rc == RC_OK)
        rc = feed_events_move(db, from, to, err);
    if (rc == RC_OK)
        rc = archives_move(db, from, to, err);
    if (rc == RC_OK && with_heads)
        rc = head_log_take(db, from, to, err);
    return rc == RC_OK ? revisions_merge(db, from, to, a, &out->n_entries, &out->n_items, err) : rc;
}

enum rc merge_feeds(struct db *db, const struct feed *from, const struct feed *to, bool with_heads,
                    struct arena *a, struct merged_feeds *out, struct err *err)
{
    bool has_page = from->page_url.len > 0 && !str_eq(from->page_url, to->page_url);
    int64_t n_subscriptions;
    enum rc rc = subs_of_feed(db, from->id, a, &out->subs, &out->n_subs, err);

    if (rc == RC_OK)
        rc = move_children(db, from->id, to->id, with_heads, a, out, err);
    if (rc == RC_OK)
        rc = feeds_delete(db, from->id, err);
    if (rc == RC_OK)
        rc = aliases_add(db, to->id, from->url, from->credential, err);
    if (rc == RC_OK)
        rc = aliases_add(db, to->id, merged_name(a, from->id), from->credential, err);
    out->loser = 0;
    if (rc == RC_OK && has_page)
        rc = aliases_find(db, from->page_url, from->credential, &out->loser, err);
    if (out->loser == to->id)
        out->loser = 0;
    if (rc == RC_OK && has_page)
        rc = aliases_add(db, to->id, from->page_url, from->credential, err);
    if (rc != RC_OK)
        return rc;
    rc = stmt_number(
        db, stmt_start(db, err, "SELECT n_subscriptions FROM feeds WHERE id = ?1", "i", to->id),
        &n_subscriptions, err);
    out->n_subscriptions = (int)n_subscriptions;
    return rc;
}
