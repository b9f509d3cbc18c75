/* storage/apply_check.c - stores what all requests for a feed itself bring: the state of the feed's
 * row, the head, and the entries of the document. */
#include <inttypes.h>

#include "base/clock.h"
#include "model/fetch_note.h"
#include "storage/apply_parts.h"
#include "storage/wants.h"

/* Set a field: null keeps it, empty clears it. True: the field has changed. */
static bool take(struct str *field, struct str value)
{
    if (str_is_null(value) || str_eq(*field, value)) /* str_eq(): null and empty are equal */
        return false;
    *field = value.len == 0 ? STR_NULL : value;
    return true;
}

/* Store the head. `since`: seq of the first revision that may come with this head. The log of heads
 * gets a new head only if the title, the site, an author or a language has changed, because dates
 * and counters in a head change with every document. */
static void store_head(struct txn *t, const struct doc_head *h, struct feed_row *row, int64_t since,
                       bool *visible)
{
    bool changed = take(&row->feed.head, h->json), renamed;

    changed |= take(&row->feed.ext, h->ext);
    renamed = take(&row->feed.title, h->title);
    renamed |= take(&row->feed.site_url, h->site_url);
    *visible |= renamed;
    row->feed.hints = h->hints;
    if (renamed || h->speaks_anew || !row->fetched)
        rows_add_head(&t->rows, since, &row->feed);
    if (!changed && row->fetched)
        return;
    *visible = true;
    rows_save_head(&t->rows, row);
}

/* What was learned of the row that is gone after a merge says nothing of the other one. */
static void store_pace(const struct feed_check *c, struct checked *out)
{
    struct feed *feed = &out->row.feed;

    if (str_is_null(c->pace) || out->merged)
        return;
    take(&feed->pace, c->pace);
    feed->need_class = c->need_class;
    if (feed->level == 1)
        feed->period_s = c->own_period_s;
}

static void store_state(const struct feed_check *c, struct checked *out)
{
    struct feed *feed = &out->row.feed;

    feed->last_check_at = out->at;
    if (c->ok)
        feed->last_success_at = out->at;
    feed->last_error = c->ok ? STR_NULL : c->error;
    feed->last_status = c->status;
    feed->state = c->state;
    feed->n_errors = c->n_errors;
    feed->n_gone = c->n_gone;
    feed->gone_since = c->gone_since;
    feed->move = c->move;
    feed->next_fetch_at = feed->is_paused ? TIME_UNKNOWN : c->next_fetch_at;
    feed->next_reason = feed->is_paused ? REASON_PAUSED : c->next_reason;
    /* after a merge, the new level was computed for the row that is gone */
    if (c->level != LEVEL_KEEP && !out->merged) {
        feed->level = c->level;
        if (c->level != LEVEL_EXACT)
            feed->period_s = 0;
    }
    store_pace(c, out);
    if (out->reads_anew) {
        feed->etag = feed->last_modified = STR_NULL;
        feed->has_body_hash = false;
    } else {
        take(&feed->etag, c->etag);
        take(&feed->last_modified, c->last_modified);
        take(&feed->validators_url, c->validators_url);
    }
}

enum rc apply_load(struct txn *t, struct op *op, int64_t feed_id, bool with_head,
                   struct feed_row *out)
{
    enum rc rc = txn_hold_feed(t, feed_id, with_head, &op->err);
    const struct held_feed *f = rows_feed(&t->rows, feed_id);

    if (rc != RC_OK)
        return rc;
    if (f->is_missing || f->is_new) /* what belongs to a new one was not loaded */
        return err_set(&op->err, RC_NOT_FOUND, "there is no feed %" PRId64, feed_id);
    *out = f->row;
    return RC_OK;
}

/* After a poll, the trust in the feed's upstream hub has changed. */
static void store_trust(struct txn *t, const struct feed_check *c)
{
    struct held_upstream u = {.feed_id = c->feed_id, .trust_was = c->trust_was, .trust = c->trust};

    if (c->trust != c->trust_was)
        rows_add_upstream(&t->rows, &u);
}

enum rc apply_hold_again(struct txn *t, struct op *op, int64_t from, int64_t id)
{
    struct wants w = {.feeds = NULL};
    enum rc rc;

    op_wants(op, &w);
    if (from != id)
        wants_follow(&w, from, id);
    rc = txn_more(t, &w, &op->err);
    wants_release(&w);
    return rc;
}

/* The publisher has ended the feed. Get its row as the end of subscriptions has left it. */
static enum rc end_subs(struct txn *t, struct op *op, int64_t feed_id, bool with_head,
                        struct feed_row *out)
{
    enum rc rc = apply_subs_of_gone_feed(t, feed_id, &op->arena, &op->err);

    return rc == RC_OK ? apply_load(t, op, feed_id, with_head, out) : rc;
}

/* Has another node stored a later request since? What it stores while our request is under way can
 * be older than that: it was frozen, or its database was away. Its clock is not compared with ours
 * if nothing was stored. */
static bool is_overtaken(const struct feed_check *c, int64_t last_check_at)
{
    return c->after_check_at != 0 && last_check_at > c->after_check_at &&
           last_check_at > c->began_at;
}

bool apply_is_of_another(struct str secrets, const struct feed *feed)
{
    return !str_eq(secrets, feed->secrets);
}

enum rc apply_check(struct txn *t, struct op *op, const struct feed_check *c, bool with_head,
                    struct checked *out)
{
    struct moved moved;
    enum feed_state was;
    bool pinged;
    enum rc rc;

    *out = (struct checked){.at = c->checked_at > 0 ? c->checked_at : clock_now_s(),
                            .since = t->last_seq + 1};
    rc = apply_load(t, op, c->feed_id, with_head, &out->row);
    if (rc != RC_OK)
        return rc;
    out->is_void = is_overtaken(c, out->row.feed.last_check_at) ||
                   apply_is_of_another(c->secrets, &out->row.feed);
    if (out->is_void) {
        op->result.id = c->feed_id;
        op->result.is_overtaken = true;
        return RC_OK;
    }
    store_trust(t, c);
    if (c->state == FEED_GONE && out->row.feed.state != FEED_GONE)
        rc = end_subs(t, op, c->feed_id, with_head, &out->row);
    if (rc != RC_OK)
        return rc;
    was = out->row.feed.state;
    pinged = out->row.feed.n_pings != c->n_pings;
    rc = apply_move(t, op, c, &out->row, &moved);
    if (rc != RC_OK)
        return rc;
    out->merged = moved.is_merged;
    out->visible = moved.is_moved || moved.is_merged;
    /* A feed that had no document yet (a web page that led here) was not compared with anything. So
     * nothing of the document is missing in the row into which it was merged. */
    out->reads_anew = moved.had_document || c->raw_html != out->row.feed.raw_html;
    pinged |= moved.is_merged && out->row.feed.next_reason == REASON_PING;
    store_state(c, out);
    if (pinged && !out->row.feed.is_paused) { /* the ping came after the request began, so the answer may be too old */
        out->row.feed.next_fetch_at = out->at;
        out->row.feed.next_reason = REASON_PING;
    }
    if (moved.is_moved)
        apply_event(t, out->row.feed.id, FEED_EVENT_MOVED, out->row.feed.url);
    apply_health_events(t, &out->row, was, out->at);
    return RC_OK;
}

enum rc apply_document(struct txn *t, struct op *op, const struct doc_head *head,
                       const struct new_identity *identity, const struct arrived *in,
                       struct checked *c)
{
    enum rc rc = apply_entries(t, op, &c->row, in, &c->visible);

    if (rc != RC_OK)
        return rc;
    if (identity->is_set && !c->merged) {
        c->row.feed.identity = identity->policy;
        rows_save_identity(&t->rows, &c->row);
    }
    store_head(t, head, &c->row, c->since, &c->visible);
    if (c->row.feed.last_change_at == TIME_UNKNOWN) /* so that a feed without entries has a date */
        c->row.feed.last_change_at = c->at;
    c->row.fetched = true;
    return RC_OK;
}

void apply_note_fetch(struct op *op, const struct feed_check *c, bool is_gap,
                      struct checked *checked)
{
    struct feed *feed = &checked->row.feed;

    feed->history = fetch_notes_add(&op->arena, feed->history,
                                    &(struct fetch_note){.at = checked->at,
                                                         .reason = c->reason,
                                                         .status = c->status,
                                                         .ok = c->ok,
                                                         .is_gap = is_gap,
                                                         .n_new = op->result.n_new,
                                                         .n_changed = op->result.n_changed,
                                                         .n_deleted = op->result.n_deleted,
                                                         .next_at = feed->next_fetch_at,
                                                         .next_reason = feed->next_reason});
}

void apply_quota(const struct txn *t, struct op *op, struct feed *feed)
{
    if (op->result.n_left_out == 0)
        return;
    feed->etag = feed->last_modified = STR_NULL; /* the document must be read once more */
    feed->has_body_hash = false;
    if (feed->state != FEED_OK && feed->state != FEED_QUOTA)
        return;
    feed->state = FEED_QUOTA;
    feed->last_error = str_printf(&op->arena,
                                  "it has brought the %" PRId64 " new entries that one feed may "
                                  "bring within a day; what is more is taken later",
                                  quotas_most(t->quotas));
    if (feed->is_paused || feed->next_reason == REASON_PING)
        return;
    feed->next_fetch_at = quotas_until(t->quotas, feed->id, clock_now_s());
    feed->next_reason = REASON_QUOTA;
}

void apply_save(struct txn *t, struct op *op, struct feed_row *row, bool visible)
{
    struct feed_row *saved = ARENA_NEW(&op->arena, struct feed_row);

    if (visible)
        row->feed.version = txn_next_version(t);
    *saved = *row;
    txn_feed(t, row->feed.id)->row = saved;
    op->result.id = row->feed.id;
    rows_save_feed(&t->rows, row);
}
