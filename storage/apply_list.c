/* storage/apply_list.c - stores the result of a request for a list of feeds: the state of its
 * record, and what it changes in the subscriptions that follow it, all in one transaction. What is
 * to change was decided by the source (fetcher/list_plan.h). */
#include "storage/apply_parts.h"

#include <string.h>

#include "storage/rows_subs.h"
#include "storage/wants.h"

/* The list as the subscription follows it; NULL: it does not any more, or in another folder. */
static const struct held_sub_feed *followed(struct txn *t, const struct list_sync *s,
                                            int64_t list_id)
{
    const struct held_sub_feed *list = rows_sub_feed(&t->rows, s->sub_id, list_id);

    return list == NULL || list->row.listed != LISTED_LIST || !str_eq(list->row.folder, s->folder)
               ? NULL
               : list;
}

/* The feed that the list names comes into the subscription. `place`: its order. */
static enum rc add_feed(struct txn *t, struct op *op, struct held_sub *sub,
                        const struct feed_ref *ref, int64_t place)
{
    static const struct feed_settings none = {.level = LEVEL_KEEP, .sanitize = SANITIZE_KEEP};
    struct sub_feed feed = {.feed_id = apply_find_or_make(t, ref),
                            .url = str_is_null(ref->shown_url) ? ref->url : ref->shown_url,
                            .name = ref->details.name,
                            .folder = ref->details.folder,
                            .category = ref->details.category,
                            .listed = LISTED_PRESENT};
    enum rc rc = txn_hold_feed(t, feed.feed_id, false, &op->err);

    if (rc != RC_OK)
        return rc;
    rows_join_feed(&t->rows, sub, place, &feed);
    txn_feed(t, feed.feed_id);
    return apply_settings(t, feed.feed_id, &none, &op->arena, &op->err);
}

static void change_feed(struct txn *t, int64_t sub_id, const struct list_change *change)
{
    struct held_sub_feed *feed = rows_sub_feed(&t->rows, sub_id, change->feed_id);

    if (feed == NULL || feed->row.listed == LISTED_LIST)
        return;
    rows_touch(&t->rows, ROW_SUB_FEED, feed);
    feed->row.name = change->name;
    feed->row.folder = change->folder;
    feed->row.listed = change->listed;
}

static enum rc sync_sub(struct txn *t, struct op *op, const struct list_sync *s, int64_t list_id,
                        bool *is_void)
{
    struct held_sub *sub;
    enum rc rc =
        txn_hold_sub(t, &(struct want_sub){.id = s->sub_id, .with_feeds = true}, &sub, &op->err);
    int64_t place;

    if (rc != RC_OK || !sub->held.exists)
        return rc;
    if (followed(t, s, list_id) == NULL) { /* the others go on */
        *is_void = true;
        return RC_OK;
    }
    rows_touch(&t->rows, ROW_SUB, sub);
    place = rows_next_place(sub);
    for (size_t i = 0; i < s->n_added && rc == RC_OK; i++)
        rc = add_feed(t, op, sub, &s->added[i], place + (int64_t)i);
    for (size_t i = 0; i < s->n_changed; i++)
        change_feed(t, s->sub_id, &s->changed[i]);
    for (size_t i = 0; i < s->n_dropped && rc == RC_OK; i++)
        rc = apply_drop_feed(t, op, s->sub_id, s->dropped[i]);
    txn_sub(t, s->sub_id);
    return rc;
}

/* The next answer must be whole. */
static void read_anew(struct feed *feed)
{
    feed->etag = feed->last_modified = STR_NULL;
    feed->has_body_hash = false;
}

static void take_answer(const struct list_outcome *o, struct feed *feed)
{
    if (!o->check.ok)
        return;
    if (o->has_body_hash) {
        feed->has_body_hash = true;
        memcpy(feed->body_hash, o->body_hash, sizeof o->body_hash);
    }
    if (!str_is_null(o->title))
        feed->title = o->title.len > 0 ? o->title : STR_NULL;
}

enum rc apply_list(struct txn *t, struct op *op)
{
    const struct list_outcome *o = &op->as.list;
    bool is_void = false;
    struct checked c;
    enum rc rc = apply_check(t, op, &o->check, false, &c);

    if (rc != RC_OK || c.is_void)
        return rc;
    for (size_t i = 0; i < o->n_syncs && rc == RC_OK && !c.merged; i++)
        rc = sync_sub(t, op, &o->syncs[i], c.row.feed.id, &is_void);
    if (rc != RC_OK)
        return rc;
    take_answer(o, &c.row.feed);
    /* somebody has begun to follow it after the request began, or in another folder */
    if (is_void || c.merged || c.row.feed.n_pings != o->check.n_pings)
        read_anew(&c.row.feed);
    if (is_void)
        c.row.feed.next_fetch_at = c.at;
    if (o->has_news) {
        c.visible = true;
        c.row.feed.last_change_at = c.at;
    }
    apply_save(t, op, &c.row, c.visible);
    return RC_OK;
}
