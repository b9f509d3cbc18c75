/* storage/sqlite/held_rows.c - see held_rows.h. */
#include "storage/sqlite/held_rows.h"

#include "storage/rows_upstreams.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/held_hub.h"
#include "storage/sqlite/held_past.h"
#include "storage/sqlite/held_places.h"
#include "storage/sqlite/held_subs.h"
#include "storage/sqlite/hosts.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/stmt.h"
#include "storage/sqlite/named_views.h"
#include "storage/sqlite/tokens.h"
#include "storage/sqlite/upstreams.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/entries.h"
#include "storage/sqlite/feeds.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Hold the row of a feed that is not held yet. */
static enum rc hold_feed(struct db *db, struct rows *r, int64_t id, bool with_head,
                         struct held_feed **out, struct err *err)
{
    struct err why = ERR_INIT;
    struct feed_row row;
    enum rc rc = feeds_load(db, id, with_head, &r->arena, &row, &why);

    if (rc != RC_OK && rc != RC_NOT_FOUND) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    *out = rows_add_feed(r, id);
    (*out)->is_missing = rc == RC_NOT_FOUND;
    (*out)->has_head = with_head;
    if (rc == RC_OK)
        (*out)->row = row;
    return RC_OK;
}

enum rc held_feed_load(struct db *db, struct rows *r, int64_t id, bool with_head, struct err *err)
{
    struct held_feed *f = rows_feed(r, id);
    enum rc rc = f == NULL ? hold_feed(db, r, id, with_head, &f, err) : RC_OK;

    if (rc != RC_OK || f->is_missing)
        return rc;
    if (with_head && !f->has_head)
        rc = heads_load(db, id, &r->arena, &f->row.feed, err);
    f->has_head |= with_head && rc == RC_OK;
    return rc;
}

/* Read what belongs to an entry beside its row. */
static enum rc load_rest(struct db *db, struct held_entry *e, struct err *err)
{
    enum rc rc = revisions_shown_at(db, e->row.seq, &e->shown_at, err);

    if (rc == RC_OK)
        rc = contents_find(db, e->row.id, &e->content, err);
    e->has_content = rc == RC_OK && e->content.entry_id != 0;
    return rc;
}

/* Hold an entry that is not held yet. `row`: its row, or that of a missing one. */
static enum rc hold_entry(struct db *db, struct rows *r, const struct entry_row *row,
                          struct err *err)
{
    struct held_entry *e = rows_add_entry(r, row->feed_id, row->uid);
    struct str uid = e->row.uid;

    e->row = *row;
    e->row.uid = uid;
    e->was_seq = row->seq;
    e->had_marks = row->has_marks;
    e->old_marks = row->marks;
    return row->id != 0 ? load_rest(db, e, err) : RC_OK;
}

/* Has the feed never had an entry, as far as is known without looking? */
static bool has_no_entries(struct rows *r, int64_t feed_id)
{
    const struct held_feed *f = rows_feed(r, feed_id);

    return f != NULL && !f->is_missing && !f->row.fetched && f->row.feed.n_items == 0 && f->row.feed.n_taken == 0;
}

static enum rc load_entry(struct db *db, struct rows *r, const struct want_row *w, struct err *err)
{
    struct entry_row row = entries_missing(w->feed_id, w->text);
    enum rc rc = RC_OK;

    if (rows_entry(r, w->feed_id, w->text) != NULL)
        return RC_OK;
    if (!has_no_entries(r, w->feed_id))
        rc = entries_find(db, w->feed_id, w->text, &row, err);
    return rc == RC_OK ? hold_entry(db, r, &row, err) : rc;
}

/* Read the newest revision of an entry. */
static enum rc load_newest(struct db *db, struct rows *r, struct held_entry *e, struct err *err)
{
    struct revision *newest = ARENA_NEW(&r->arena, struct revision);

    e->newest = newest;
    return revisions_load(db, e->was_seq, false, &r->arena, newest, err);
}

static enum rc load_entry_by_id(struct db *db, struct rows *r, const struct want_entry *w,
                                struct err *err)
{
    struct held_entry *e = NULL;
    struct entry_row row;
    enum rc rc = entries_load(db, w->id, &r->arena, &row, err);

    if (rc == RC_OK && row.id != 0) {
        e = rows_entry(r, row.feed_id, row.uid);
        if (e == NULL)
            rc = hold_entry(db, r, &row, err);
        e = rows_entry(r, row.feed_id, row.uid);
    }
    if (rc == RC_OK && e != NULL && w->with_revision && e->newest == NULL)
        rc = load_newest(db, r, e, err);
    if (rc == RC_OK && rows_find(r, ROW_ENTRY_ID, w->id, STR_NULL) == NULL)
        rows_add_entry_id(r, w->id, e);
    return rc;
}

static enum rc load_entries_of_key(struct db *db, struct rows *r, const struct want_key *w,
                                   struct err *err)
{
    struct entry_row list[WANT_KEY_MOST];
    size_t n = 0;
    enum rc rc = entries_of_key(db, w->feed_id, w->key, WANT_KEY_MOST, &r->arena, list, &n, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (rows_entry(r, w->feed_id, list[i].uid) == NULL)
            rc = hold_entry(db, r, &list[i], err);
    return rc;
}

static enum rc load_time(struct db *db, struct rows *r, int64_t seq, struct err *err)
{
    struct held_time *time = rows_find(r, ROW_TIME, seq, STR_NULL);

    if (time == NULL)
        time = rows_add(r, ROW_TIME, seq, STR_NULL);
    return revisions_time_before(db, seq, &time->at_us, err);
}

static enum rc load_upstream(struct db *db, struct rows *r, struct str token, struct err *err)
{
    struct held_upstream_row *u = rows_upstream(r, token);
    enum rc rc;

    if (u != NULL)
        return RC_OK;
    u = rows_add_upstream_row(r, token);
    rc = upstreams_load(db, token, &r->arena, &u->row, &u->held.exists, err);
    u->held.is_stored = u->held.exists;
    return rc;
}

/* This transaction is the only one: all ids after the last one are free. */
static enum rc load_ids(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    static const char *const tables[NEW_ROWS] = {"feeds", "subscriptions", "hub_intents", "tokens"};
    enum rc rc = RC_OK;

    for (size_t i = 0; i < NEW_ROWS && rc == RC_OK; i++) {
        if (w->n_new[i] == 0 || r->ids[i].next != 0)
            continue;
        rc = stmt_number(db,
                         stmt_start(db, err, "SELECT seq FROM sqlite_sequence WHERE name = ?1", "s",
                                    str_from(tables[i])),
                         &r->ids[i].next, err);
        r->ids[i].next++;
    }
    return rc;
}

enum rc held_load(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    enum rc rc = load_ids(db, r, w, err);

    for (size_t i = 0; i < w->n_feeds && rc == RC_OK; i++)
        rc = held_feed_load(db, r, w->feeds[i].id, w->feeds[i].with_head, err);
    for (size_t i = 0; i < w->entries.n && rc == RC_OK; i++)
        rc = load_entry(db, r, &w->entries.at[i], err);
    for (size_t i = 0; i < w->n_ids && rc == RC_OK; i++)
        rc = load_entry_by_id(db, r, &w->ids[i], err);
    for (size_t i = 0; i < w->n_keys && rc == RC_OK; i++)
        rc = load_entries_of_key(db, r, &w->keys[i], err);
    for (size_t i = 0; i < w->n_times && rc == RC_OK; i++)
        rc = load_time(db, r, w->times[i], err);
    for (size_t i = 0; i < w->n_tokens && rc == RC_OK; i++)
        rc = load_upstream(db, r, w->tokens[i], err);
    if (rc == RC_OK && w->counts_tokens)
        rc = tokens_count(db, &r->n_tokens, err);
    for (size_t i = 0; i < w->n_callers && rc == RC_OK; i++)
        rc = held_token_load(db, r, w->callers[i], err);
    if (rc == RC_OK && w->has_views)
        rc = held_views_load(db, r, err);
    if (rc == RC_OK)
        rc = held_past_load(db, r, w, err);
    if (rc == RC_OK)
        rc = held_places_load(db, r, w, err);
    if (rc == RC_OK)
        rc = held_subs_load(db, r, w->subs.at, w->subs.n, err);
    if (rc == RC_OK)
        rc = held_hub_load(db, r, w, err);
    return rc == RC_OK ? held_matches_load(db, r, w->matches, w->n_matches, err) : rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc write_entry(struct db *db, struct held_entry *e, struct err *err)
{
    enum rc rc =
        e->row.id == 0 ? entries_insert(db, &e->row, err) : entries_update(db, &e->row, err);

    if (rc == RC_OK && e->row.has_marks &&
        (!e->had_marks || !marks_same(&e->row.marks, &e->old_marks)))
        rc = entries_set_keys(db, &e->row, e->had_marks ? &e->old_marks : NULL, err);
    if (rc == RC_OK && e->was_seq != 0 && e->was_seq != e->row.seq)
        rc = overlays_drop(db, e->was_seq, err);
    return rc;
}

/* What has an entry or a revision as its parent. */
static enum rc write_rest(struct db *db, const struct held_entry *e, struct err *err)
{
    enum rc rc = RC_OK;

    if (e->has_new_overlay)
        rc = overlays_put(db, e->row.seq, e->overlay_doc, e->overlay_ext, err);
    if (rc == RC_OK && e->has_new_content)
        rc = e->has_content ? contents_put(db, e->row.id, &e->content, err)
                            : contents_drop(db, e->row.id, err);
    return rc;
}

static enum rc write_entries(struct db *db, struct rows *r, struct err *err)
{
    const struct shelf *s = &r->shelves[ROW_ENTRY];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_touched && rc == RC_OK; i++)
        rc = write_entry(db, (struct held_entry *)s->touched[i], err);
    for (size_t i = 0; i < r->n_revisions && rc == RC_OK; i++)
        rc = revisions_append(db, &r->revisions[i].row, r->revisions[i].entry->row.id, err);
    for (size_t i = 0; i < s->n_touched && rc == RC_OK; i++)
        rc = write_rest(db, (const struct held_entry *)s->touched[i], err);
    return rc;
}

static enum rc write_feed(struct db *db, const struct held_feed *f, struct err *err)
{
    const struct feed *feed = &f->row.feed;
    enum rc rc = RC_OK;

    if (f->is_new) {
        rc = feeds_insert(db, &f->row, err);
        return rc == RC_OK && f->saves_head
                   ? feeds_save_head(db, feed->id, feed->head, feed->ext, err)
                   : rc;
    }
    if (f->saves_identity)
        rc = feeds_save_identity(db, feed->id, &feed->identity, err);
    if (rc == RC_OK && f->saves_head)
        rc = feeds_save_head(db, feed->id, feed->head, feed->ext, err);
    if (rc == RC_OK && f->saves_urls)
        rc = feeds_save_urls(db, feed->id, feed->url, feed->page_url, err);
    if (rc == RC_OK && f->saves_count)
        rc = feeds_save_count(db, feed->id, feed->n_subscriptions, err);
    if (rc == RC_OK && f->saves_row)
        rc = feeds_save(db, &f->row, err);
    return rc;
}

static enum rc write_upstream(struct db *db, const struct held_upstream *u, struct err *err)
{
    if (u->delivered_at != 0)
        return upstreams_delivered(db, u->feed_id, u->delivered_at, err);
    if (u->announced_at != 0)
        return upstreams_announced(db, u->feed_id, u->announced_at, err);
    return upstreams_trust(db, u->feed_id, u->trust_was, u->trust, err);
}

static enum rc held_upstream_write(struct db *db, struct held *held, struct err *err)
{
    const struct upstream *row = &((struct held_upstream_row *)held)->row;
    enum rc rc = RC_OK;

    if (held->changes & UPSTREAM_TAKES_CURRENT)
        rc = upstreams_take_current(db, row->feed_id, row->token, err);
    if (rc == RC_OK && !held->exists)
        return held->is_stored ? upstreams_drop(db, row->token, err) : RC_OK;
    if (rc == RC_OK)
        rc = upstreams_put(db, row, err);
    if (rc == RC_OK && held->changes & UPSTREAM_WRITES_TRUST)
        rc = upstreams_set_trust(db, row, err);
    return rc;
}

/* The kinds that are written row by row, in the order of enum row_kind: a row comes after those to
 * which it refers. */
static enum rc write_kinds(struct db *db, struct rows *r, struct err *err)
{
    static enum rc (*const write[ROW_KINDS])(struct db *, struct held *, struct err *) = {
        [ROW_NOTE] = held_note_write,         [ROW_SUB] = held_sub_write,
        [ROW_SUB_FEED] = held_sub_feed_write, [ROW_DEAD] = held_dead_write,
        [ROW_INTENT] = held_intent_write,     [ROW_LEASE] = held_lease_write,
        [ROW_UPSTREAM] = held_upstream_write, [ROW_TOKEN] = held_token_write,
        [ROW_VIEW] = held_view_write,         [ROW_HOST] = held_host_write};
    enum rc rc = RC_OK;

    for (size_t k = 0; k < ROW_KINDS; k++)
        for (size_t i = 0; write[k] != NULL && i < r->shelves[k].n_touched && rc == RC_OK; i++)
            rc = write[k](db, r->shelves[k].touched[i], err);
    return rc;
}

enum rc held_write(struct db *db, struct rows *r, struct err *err)
{
    const struct shelf *feeds = &r->shelves[ROW_FEED];
    enum rc rc;

    if (!rows_is_dirty(r))
        return RC_OK;
    rc = write_entries(db, r, err);
    for (size_t i = 0; i < feeds->n_touched && rc == RC_OK; i++)
        rc = write_feed(db, (const struct held_feed *)feeds->touched[i], err);
    for (size_t i = 0; i < r->n_heads && rc == RC_OK; i++)
        rc = head_log_add(db, r->heads[i].since_seq, r->heads[i].feed, err);
    for (size_t i = 0; i < r->n_events && rc == RC_OK; i++)
        rc = feed_events_add(db, &r->events[i], err);
    for (size_t i = 0; i < r->n_upstreams && rc == RC_OK; i++)
        rc = write_upstream(db, &r->upstreams[i], err);
    if (rc == RC_OK)
        rc = held_past_write(db, r, err);
    if (rc == RC_OK)
        rc = held_places_write(db, r, err);
    if (rc == RC_OK)
        rc = write_kinds(db, r, err);
    if (rc == RC_OK)
        rows_written(r);
    return rc;
}
