/* storage/apply_moves.c - gives a feed another URL, and merges feeds that turn out to be the same.
 */
#include "storage/apply_parts.h"
#include "storage/sqlite/archives.h"
#include "storage/sqlite/entries.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/sqlite/feeds.h"

/* How many aliases a feed may get because it moves. Without this limit, a publisher that moves with
 * every answer would fill the table. The first ones are kept, because clients know them. Aliases
 * that come with a merged feed are not limited. */
#define MOVES_NAMED 64

static enum rc note_subs_of(struct txn *t, int64_t feed_id, struct arena *a, struct err *err)
{
    int64_t *ids;
    size_t n;
    enum rc rc = subs_of_feed(t->db, feed_id, a, &ids, &n, err);

    for (size_t i = 0; rc == RC_OK && i < n; i++)
        txn_sub(t, ids[i]);
    return rc;
}

/* Keep the shorter period, if it is shorter than the default: a subscriber asked for it. */
static void keep_level(struct feed *to, const struct feed *from)
{
    if (from->level == LEVEL_EXACT && (to->level != LEVEL_EXACT || from->period_s < to->period_s)) {
        to->level = LEVEL_EXACT;
        to->period_s = from->period_s;
    } else if (from->level == 2 && to->level != LEVEL_EXACT) {
        to->level = 2;
    }
}

/* HTML is not sanitized only if this was set for both feeds. */
static void keep_sanitize(struct feed *to, const struct feed *from)
{
    to->raw_html = to->raw_html && from->raw_html;
}

/* If the feed has no document yet, it gets the head and document of the other feed. */
static enum rc inherit_document(struct txn *t, int64_t from, struct feed_row *to, struct arena *a,
                                struct err *err)
{
    struct feed_row old;
    enum rc rc = feeds_load(t->db, from, true, a, &old, err);

    if (rc != RC_OK || to->fetched || !old.fetched)
        return rc;
    to->fetched = true;
    to->feed.head = old.feed.head;
    to->feed.ext = old.feed.ext;
    to->feed.title = old.feed.title;
    to->feed.site_url = old.feed.site_url;
    to->feed.hints = old.feed.hints;
    to->feed.last_change_at = old.feed.last_change_at;
    rc = head_log_take(t->db, from, to->feed.id, err);
    return rc == RC_OK ? feeds_save_head(t->db, to->feed.id, to->feed.head, to->feed.ext, err) : rc;
}

/* `from` is the same feed as `to`: give its subscriptions, aliases and entries to *to. */
static enum rc merge_feeds(struct txn *t, const struct feed_row *from, struct feed_row *to,
                           struct arena *a, struct err *err)
{
    int64_t old = from->feed.id, id = to->feed.id;
    struct txn_feed *note;
    enum rc rc = note_subs_of(t, old, a, err);

    if (rc == RC_OK)
        rc = aliases_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = sub_feeds_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = feed_events_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = archives_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = revisions_merge(t->db, old, id, a, &to->feed.n_entries, &to->feed.n_items, err);
    if (rc == RC_OK)
        rc = inherit_document(t, old, to, a, err);
    if (rc == RC_OK)
        rc = feeds_delete(t->db, old, err);
    if (rc == RC_OK)
        rc = aliases_add(t->db, id, from->feed.url, from->feed.credential, INT64_MAX, err);
    if (rc == RC_OK && from->feed.page_url.len > 0 &&
        !str_eq(from->feed.page_url, to->feed.page_url))
        rc = aliases_add(t->db, id, from->feed.page_url, from->feed.credential, INT64_MAX, err);
    keep_level(&to->feed, &from->feed);
    keep_sanitize(&to->feed, &from->feed);
    if (from->feed.wanted_at > to->feed.wanted_at)
        to->feed.wanted_at = from->feed.wanted_at;
    note = txn_feed(t, old);
    note->merged_into = id;
    note = txn_feed(t, id);
    note->reload_keys = true;
    return rc;
}

/* The row of a feed as statements have left it. */
static void hold(struct txn *t, const struct feed_row *row)
{
    struct held_feed *f = rows_add_feed(&t->rows, row->feed.id);

    f->row = *row;
    f->has_head = true;
}

/* Give the feed a URL. If another feed has it, the feed becomes part of that one, which is *row
 * then. */
static enum rc take_url(struct txn *t, struct str url, struct feed_row *row, struct moved *out,
                        struct arena *a, struct err *err)
{
    struct feed_row other;
    int64_t owner = 0;
    enum rc rc = feeds_find_own(t->db, url, row->feed.credential, &owner, err);

    if (rc != RC_OK)
        return rc;
    out->is_moved = owner == 0;
    out->is_merged = owner != 0;
    if (owner == 0)
        return RC_OK;
    rc = txn_use_statements(t, err);
    if (rc == RC_OK)
        rc = feeds_load(t->db, owner, true, a, &other, err);
    if (rc == RC_OK)
        rc = merge_feeds(t, row, &other, a, err);
    out->had_document = row->fetched;
    if (rc != RC_OK)
        return rc;
    *row = other;
    hold(t, &other);
    return RC_OK;
}

enum rc apply_move(struct txn *t, const struct feed_check *c, struct feed_row *row,
                   struct moved *out, struct arena *a, struct err *err)
{
    struct str old_url = row->feed.url, page;
    enum rc rc = RC_OK;

    *out = (struct moved){.is_moved = false};
    if (c->url.len > 0 && !str_eq(c->url, old_url))
        rc = take_url(t, c->url, row, out, a, err);
    if (rc != RC_OK)
        return rc;
    page = row->feed.page_url;
    if (!str_is_null(c->page_url))
        page = c->page_url.len > 0 ? c->page_url : STR_NULL;
    if (out->is_moved || !str_eq(page, row->feed.page_url)) {
        if (out->is_moved) {
            row->feed.url = c->url;
            rc = aliases_drop(t->db, c->url, row->feed.credential, err);
        }
        row->feed.page_url = page;
        if (rc == RC_OK)
            rc = feeds_save_urls(t->db, row->feed.id, row->feed.url, page, err);
        if (rc == RC_OK && out->is_moved && !str_eq(old_url, page))
            rc = aliases_add(t->db, row->feed.id, old_url, row->feed.credential, MOVES_NAMED, err);
    }
    for (size_t i = 0; i < c->n_aliases && rc == RC_OK; i++)
        rc =
            aliases_add(t->db, row->feed.id, c->aliases[i], row->feed.credential, MOVES_NAMED, err);
    return rc;
}
