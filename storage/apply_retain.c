/* storage/apply_retain.c - takes the oldest revisions of one feed, a few at a time.
 *
 * What is taken and the horizon of the feed change in one transaction, which looks at the positions
 * of subscriptions again. What is to go was found by the keeper (keeper.c), which only knows how
 * old is old enough. */
#include "storage/apply_parts.h"
#include "storage/engine.h"

#include "base/clock.h"

#define LOOK_ROWS 16   /* revisions that are read, and taken, at once: they may be large */
#define LOOKS_MAX 256  /* so often in one operation */
#define ENTRY_ROWS 256 /* entries that are read at once; they have no documents */
#define ENTRY_LOOKS_MAX 16

/* A stream has no document that shows what there is. */
static struct str shown_by(const struct feed *feed)
{
    return str_is_null(feed->cursor) ? feed->shown : STR("");
}

static struct retention how_of(const struct feed *feed, int64_t limit, int64_t needed_after)
{
    return (struct retention){.limit = limit < needed_after ? limit : needed_after,
                              .shown = shown_by(feed)};
}

/* What was taken is part of it, too. */
static void add(struct taken *all, const struct taken *part)
{
    all->n += part->n;
    all->n_entries += part->n_entries;
    all->n_live += part->n_live;
    if (part->last_seq > all->last_seq) {
        all->last_seq = part->last_seq;
        all->last_at_us = part->last_at_us;
    }
}

/* Take what goes, a few rows at a time, until all was looked at or the time is over. *all: without
 * lists. *more: there may be others. result.is_settled: nothing is held back by a subscription
 * either. */
static enum rc take(struct txn *t, struct op *op, const struct feed *feed, struct taken *all,
                    bool *more)
{
    int64_t after = op->as.retain.after, until_us = clock_mono_us() + op->as.retain.budget_us;
    struct retention how = {.limit = 0};
    enum rc rc = RC_OK;

    *all = (struct taken){.n = 0};
    *more = true;
    for (int i = 0; i < LOOKS_MAX && rc == RC_OK && *more; i++) {
        struct old_revisions old;
        struct taken what;

        if (i > 0 && clock_mono_us() >= until_us)
            break;
        rc = t->db->writes->old_revisions(t->db, feed->id, after, op->as.retain.limit, LOOK_ROWS,
                                          &op->arena, &old, &op->err);
        if (rc != RC_OK)
            return rc;
        how = how_of(feed, op->as.retain.limit, old.needed_after);
        retention_choose(&how, old.rows, old.n, &op->arena, &what);
        if (what.n > 0)
            rc = t->db->writes->take_revisions(t->db, feed->id, &what, clock_now_s(), &op->err);
        add(all, &what);
        *more = old.n == LOOK_ROWS && old.rows[old.n - 1].seq <= how.limit;
        if (old.n > 0)
            after = old.rows[old.n - 1].seq;
    }
    op->result.last_seq = *more ? after : 0;
    op->result.is_settled = !*more && all->n == 0 && how.limit == op->as.retain.limit;
    return rc;
}

/* Its document must be read whole once, so that it is known what it shows. */
static bool is_unknown(const struct feed *feed)
{
    return str_is_null(feed->cursor) && str_is_null(feed->shown) &&
           (feed->has_body_hash || !str_is_null(feed->etag) || !str_is_null(feed->last_modified));
}

static enum rc note(struct txn *t, struct op *op, const struct taken *what)
{
    struct feed_row *row = ARENA_NEW(&op->arena, struct feed_row);
    enum rc rc = txn_hold_feed(t, op->as.retain.feed_id, false, &op->err);

    if (rc != RC_OK)
        return rc;
    *row = rows_feed(&t->rows, op->as.retain.feed_id)->row;
    if (what->n > 0) {
        if (what->last_seq > row->feed.horizon) {
            row->feed.horizon = what->last_seq;
            row->feed.horizon_us = what->last_at_us;
        }
        row->feed.n_taken += (int64_t)what->n;
        row->feed.n_items -= (int64_t)what->n_entries;
        row->feed.n_entries -= (int64_t)what->n_live;
    }
    if (is_unknown(&row->feed)) {
        row->feed.etag = row->feed.last_modified = STR_NULL;
        row->feed.has_body_hash = false;
    }
    apply_save(t, op, row, what->n > 0);
    txn_feed(t, row->feed.id)->reload_keys = what->n > 0;
    return RC_OK;
}

enum rc apply_retain(struct txn *t, struct op *op)
{
    const struct held_feed *f = rows_feed(&t->rows, op->as.retain.feed_id);
    struct feed feed = f->row.feed;
    struct taken what = {.n = 0};
    bool more = false;
    enum rc rc;

    if (f->is_missing || f->is_new)
        return RC_OK;
    rc = t->db->writes->write(t->db, t, &op->err);
    if (rc == RC_OK)
        rc = take(t, op, &feed, &what, &more);
    if (rc == RC_OK && what.n == 0 && !is_unknown(&feed)) {
        op->result.has_more = more;
        return RC_OK;
    }
    rows_forget(&t->rows);
    if (rc == RC_OK)
        rc = note(t, op, &what);
    op->result.n_deleted = (int64_t)what.n;
    op->result.has_more = more || what.n > 0;
    op->result.id = feed.id;
    return rc;
}

enum rc apply_end_entries(struct txn *t, struct op *op)
{
    const struct held_feed *f = rows_feed(&t->rows, op->as.end_entries);
    const struct writes *writes = t->db->writes;
    struct gone_entry after = {.gone_at = 0}, *rows;
    int64_t now = clock_now_s(), id = op->as.end_entries;
    struct str shown;
    struct ended what;
    size_t n = ENTRY_ROWS, n_ended = 0;
    enum rc rc;

    if (f->is_missing || f->is_new)
        return RC_OK;
    shown = str_dup(&op->arena, shown_by(&f->row.feed));
    rc = writes->write(t->db, t, &op->err);
    rows_forget(&t->rows);
    for (int i = 0; i < ENTRY_LOOKS_MAX && rc == RC_OK && n == ENTRY_ROWS; i++) {
        rc = writes->gone_entries(t->db, id, &after, now - RETENTION_LOOK_S, ENTRY_ROWS, &op->arena,
                                  &rows, &n, &op->err);
        if (rc != RC_OK || n == 0)
            break;
        after = rows[n - 1];
        retention_end(rows, n, shown, now, &op->arena, &what);
        rc = writes->end_entries(t->db, id, &what, now, &op->err);
        n_ended += what.n_ended;
    }
    op->result.n_deleted = (int64_t)n_ended;
    return rc;
}
