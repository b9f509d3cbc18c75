/* storage/apply_moves.c - gives a feed another URL, and merges feeds that turn out to be the same.
 */
#include <inttypes.h>

#include "base/log.h"
#include "storage/apply_parts.h"
#include "storage/engine.h"
#include "storage/rows_places.h"
#include "storage/wants.h"

/* How many aliases a feed may get because it moves. Without this limit, a publisher that moves with
 * every answer would fill the table. The first ones are kept, because clients know them. Aliases
 * that come with a merged feed are not limited. */
#define MOVES_NAMED 64

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

/* Files are mirrored if those of one of the feeds were, for both since then. */
static void keep_mirror(struct feed *to, const struct feed *from)
{
    if (to->mirror_from == 0 || (from->mirror_from > 0 && from->mirror_from < to->mirror_from))
        to->mirror_from = from->mirror_from;
}

/* Were they refused? Then they are of no use. Any other failure (no answer, an error of the publisher) says
 * nothing of them. 407: the proxy refuses. */
static bool is_refused(const struct feed *f)
{
    return f->last_status == 401 || f->last_status == 403 || f->last_status == 407;
}

/* Both say themselves to which origin they go. With those of `from` the document at the URL of `to` has
 * just been read. They win only if `to` has none, or its own were refused: an admin gave those; and what
 * is private stays so. What was read with others says nothing of what these show. */
static void keep_secrets(struct feed *to, const struct feed *from)
{
    if (str_is_null(from->secrets) || str_eq(to->secrets, from->secrets) ||
        (!str_is_null(to->secrets) && !is_refused(to)))
        return;
    if (!str_is_null(to->secrets))
        log_warn("feeds", "secrets_replaced", "feed=%lld from=%lld status=%d", (long long)to->id,
                 (long long)from->id, to->last_status);
    to->secrets = from->secrets;
    to->etag = to->last_modified = STR_NULL;
    to->has_body_hash = false;
}

/* The feed, which has no document yet, gets the head and document of the other one. */
static void inherit_document(struct txn *t, const struct feed_row *from, struct feed_row *to)
{
    to->fetched = true;
    to->feed.head = from->feed.head;
    to->feed.ext = from->feed.ext;
    to->feed.title = from->feed.title;
    to->feed.site_url = from->feed.site_url;
    to->feed.hints = from->feed.hints;
    to->feed.last_change_at = from->feed.last_change_at;
    rows_save_head(&t->rows, to);
}

static void note_merge(struct txn *t, int64_t from, int64_t to, const struct merged_feeds *m)
{
    for (size_t i = 0; i < m->n_subs; i++)
        txn_sub(t, m->subs[i]);
    txn_feed(t, from)->merged_into = to;
    txn_feed(t, to)->reload_keys = true;
    if (m->loser != 0)
        txn_feed(t, m->loser)->has_names = true;
}

/* Write all rows, forget them, and hold these two. */
static enum rc hold_both(struct txn *t, int64_t from, int64_t to, struct err *err)
{
    struct wants w = {.feeds = NULL};
    enum rc rc = t->db->writes->write(t->db, t, err);

    rows_forget(&t->rows);

    wants_add_feed(&w, &(struct want_feed){.id = from, .with_head = true});
    wants_add_feed(&w, &(struct want_feed){.id = to, .with_head = true});
    if (rc == RC_OK)
        rc = txn_more(t, &w, err);
    wants_release(&w);
    return rc;
}

/* Their next document says which of these it shows. */
static struct str both_shown(struct arena *a, const struct feed *from, const struct feed *to)
{
    return str_is_null(from->shown) || str_is_null(to->shown) ? STR_NULL
                                                             : str_concat(a, from->shown, to->shown);
}

/* The feed *row is the same as the feed `id` at `url`, of which it becomes a part. *row is that one
 * then. */
static enum rc merge_into(struct txn *t, int64_t id, struct str url, struct feed_row *row,
                          struct arena *a, struct err *err)
{
    struct merged_feeds merged;
    struct feed_row from, to;
    bool inherits;
    enum rc rc = hold_both(t, row->feed.id, id, err);

    if (rc != RC_OK)
        return rc;
    from = rows_feed(&t->rows, row->feed.id)->row;
    to = rows_feed(&t->rows, id)->row;
    if (!str_eq(to.feed.url, url)) /* before it was held, somebody has moved or ended it */
        return err_set(err, RC_AGAIN, "the feed %" PRId64 " was changed meanwhile", id);
    inherits = !to.fetched && from.fetched;
    rc = t->db->writes->merge_feeds(t->db, &from.feed, &to.feed, inherits, a, &merged, err);
    if (rc != RC_OK)
        return rc;
    rows_feed(&t->rows, from.feed.id)->is_missing = true;
    to.feed.n_entries = merged.n_entries;
    to.feed.n_items = merged.n_items;
    to.feed.n_subscriptions = merged.n_subscriptions;
    if (from.feed.horizon > to.feed.horizon) {
        to.feed.horizon = from.feed.horizon;
        to.feed.horizon_us = from.feed.horizon_us;
    }
    to.feed.n_taken += from.feed.n_taken;
    if (from.feed.last_seq > to.feed.last_seq)
        to.feed.last_seq = from.feed.last_seq;
    if (from.feed.newest_at > to.feed.newest_at)
        to.feed.newest_at = from.feed.newest_at;
    to.feed.keep = keep_widest(&from.feed.keep, &to.feed.keep);
    to.feed.shown = both_shown(a, &from.feed, &to.feed);
    to.feed.is_list |= from.feed.is_list;
    if (inherits)
        inherit_document(t, &from, &to);
    keep_level(&to.feed, &from.feed);
    keep_sanitize(&to.feed, &from.feed);
    keep_mirror(&to.feed, &from.feed);
    keep_secrets(&to.feed, &from.feed);
    if (from.feed.wanted_at > to.feed.wanted_at)
        to.feed.wanted_at = from.feed.wanted_at;
    note_merge(t, from.feed.id, id, &merged);
    *row = to;
    return RC_OK;
}

/* The URL was perhaps an alias of a feed, which loses it. */
static void note_loser(struct txn *t, const struct feed *feed, struct str url)
{
    const struct held_place *p = rows_place(&t->rows, url, feed->credential);

    if (p != NULL && p->alias_of != 0)
        txn_feed(t, p->alias_of)->has_names = true;
}

/* Give the feed a URL. If another feed has it, the feed becomes part of that one, which is *row
 * then. */
static enum rc take_url(struct txn *t, struct str url, struct feed_row *row, struct moved *out,
                        struct arena *a, struct err *err)
{
    int64_t owner = rows_place(&t->rows, url, row->feed.credential)->owner;

    out->is_moved = owner == 0;
    out->is_merged = owner != 0;
    out->had_document = out->is_merged && row->fetched;
    if (out->is_merged)
        return merge_into(t, owner, url, row, a, err);
    note_loser(t, &row->feed, url);
    place_move(&t->rows, &row->feed, url);
    row->feed.url = url;
    return RC_OK;
}

enum rc apply_move(struct txn *t, struct op *op, const struct feed_check *c, struct feed_row *row,
                   struct moved *out)
{
    struct str old_url = row->feed.url, page;
    enum rc rc = RC_OK;

    *out = (struct moved){.is_moved = false};
    if (c->url.len > 0 && !str_eq(c->url, old_url))
        rc = take_url(t, c->url, row, out, &op->arena, &op->err);
    if (rc == RC_OK && out->is_merged)
        rc = apply_hold_again(t, op, c->feed_id, row->feed.id);
    if (rc != RC_OK)
        return rc;
    page = row->feed.page_url;
    if (!str_is_null(c->page_url))
        page = c->page_url.len > 0 ? c->page_url : STR_NULL;
    if (out->is_moved || !str_eq(page, row->feed.page_url)) {
        place_page(&t->rows, &row->feed, page);
        row->feed.page_url = page;
        rows_save_urls(&t->rows, row);
    }
    if (out->is_moved || c->n_aliases > 0)
        txn_feed(t, row->feed.id)->has_names = true;
    if (out->is_moved && !str_eq(old_url, page))
        place_add_alias(&t->rows, &row->feed, old_url, MOVES_NAMED);
    for (size_t i = 0; i < c->n_aliases; i++) {
        note_loser(t, &row->feed, c->aliases[i]);
        place_add_alias(&t->rows, &row->feed, c->aliases[i], MOVES_NAMED);
    }
    return RC_OK;
}
