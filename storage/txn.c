/* storage/txn.c - the notes are lists in the order of the changes; txn_fold() sorts them. */
#include "storage/txn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/engine.h"
#include "storage/rows_hub.h"
#include "storage/rows_subs.h"
#include "storage/wants.h"

struct txn_mark txn_mark(const struct txn *t)
{
    return (struct txn_mark){t->n_feeds,  t->n_subs,   t->n_tried_subs, t->n_keys, t->n_settled,
                             t->n_edited, t->last_seq, t->last_at_us,   t->version};
}

void txn_undo(struct txn *t, struct txn_mark mark)
{
    t->n_feeds = mark.n_feeds;
    t->n_subs = mark.n_subs;
    t->n_tried_subs = mark.n_tried_subs;
    t->n_keys = mark.n_keys;
    t->n_settled = mark.n_settled;
    t->n_edited = mark.n_edited;
    t->last_seq = mark.last_seq;
    t->last_at_us = mark.last_at_us;
    t->version = mark.version;
}

void txn_reset(struct txn *t)
{
    t->n_feeds = t->n_subs = t->n_tried_subs = t->n_keys = t->n_settled = t->n_edited = 0;
    t->has_hub_news = t->has_view_news = false;
    rows_reset(&t->rows);
}

void txn_release(struct txn *t)
{
    mem_free(t->feeds);
    mem_free(t->subs);
    mem_free(t->tried_subs);
    mem_free(t->keys);
    mem_free(t->settled);
    mem_free(t->edited);
    rows_release(&t->rows);
    *t = (struct txn){0};
}

struct txn_feed *txn_feed(struct txn *t, int64_t id)
{
    t->feeds = mem_grow(t->feeds, &t->cap_feeds, t->n_feeds + 1, sizeof *t->feeds);
    t->feeds[t->n_feeds] = (struct txn_feed){.id = id, .order = t->n_feeds};
    return &t->feeds[t->n_feeds++];
}

void txn_revisions(struct txn *t, int64_t feed_id, int64_t first)
{
    txn_feed(t, feed_id)->first_seq = first;
}

void txn_sub(struct txn *t, int64_t id)
{
    t->subs = mem_grow(t->subs, &t->cap_subs, t->n_subs + 1, sizeof *t->subs);
    t->subs[t->n_subs++] = id;
}

void txn_sub_tried(struct txn *t, int64_t id)
{
    txn_sub(t, id);
    t->tried_subs =
        mem_grow(t->tried_subs, &t->cap_tried_subs, t->n_tried_subs + 1, sizeof *t->tried_subs);
    t->tried_subs[t->n_tried_subs++] = id;
}

void txn_edited(struct txn *t, int64_t feed_id)
{
    t->edited = mem_grow(t->edited, &t->cap_edited, t->n_edited + 1, sizeof *t->edited);
    t->edited[t->n_edited++] = feed_id;
}

bool txn_has_changed(const struct txn *t, int64_t feed_id)
{
    for (size_t i = 0; i < t->n_feeds; i++)
        if (t->feeds[i].id == feed_id)
            return true;
    for (size_t i = 0; i < t->n_edited; i++)
        if (t->edited[i] == feed_id)
            return true;
    return false;
}

void txn_key(struct txn *t, const struct directory_key *k)
{
    t->keys = mem_grow(t->keys, &t->cap_keys, t->n_keys + 1, sizeof *t->keys);
    t->keys[t->n_keys++] = *k;
}

void txn_settled(struct txn *t, struct hub_settled settled)
{
    t->settled = mem_grow(t->settled, &t->cap_settled, t->n_settled + 1, sizeof *t->settled);
    t->settled[t->n_settled++] = settled;
}

enum rc txn_more(struct txn *t, const struct wants *w, struct err *err)
{
    return t->db->writes->load(t->db, &t->rows, w, err);
}

enum rc txn_hold_feed(struct txn *t, int64_t id, bool with_head, struct err *err)
{
    const struct held_feed *f = rows_feed(&t->rows, id);
    struct wants w = {.feeds = NULL};
    enum rc rc;

    if (f != NULL && (f->is_missing || f->has_head || !with_head))
        return RC_OK;
    wants_add_feed(&w, &(struct want_feed){.id = id, .with_head = with_head});
    rc = txn_more(t, &w, err);
    wants_release(&w);
    return rc;
}

/* Is the subscription held as it is wanted? */
static bool holds_sub(struct rows *r, const struct want_sub *want)
{
    const struct held_sub *sub = rows_sub(r, want->id);

    if (sub == NULL || (want->with_lease && rows_lease(r, want->id) == NULL))
        return false;
    if (!sub->held.exists)
        return true;
    if ((want->with_dead && !sub->has_dead) ||
        ((want->with_feeds || want->with_rows) && !sub->has_feeds))
        return false;
    for (size_t i = 0; want->with_rows && i < sub->n_feeds; i++)
        if (sub->feeds[i]->held.exists && rows_feed(r, sub->feeds[i]->row.feed_id) == NULL)
            return false;
    return true;
}

enum rc txn_hold_sub(struct txn *t, const struct want_sub *want, struct held_sub **out,
                     struct err *err)
{
    struct wants w = {.feeds = NULL};
    enum rc rc = RC_OK;

    if (!holds_sub(&t->rows, want)) {
        wants_add_sub(&w, want);
        rc = txn_more(t, &w, err);
        wants_release(&w);
    }
    *out = rows_sub(&t->rows, want->id);
    return rc;
}

static int by_id_and_order(const void *x, const void *y)
{
    const struct txn_feed *a = x, *b = y;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

/* Does the note leave open what the feed's row is now? A note of revisions does not: another note
 * with the row follows it. */
static bool is_unknown(const struct txn_feed *f)
{
    return f->row == NULL && f->first_seq == 0;
}

void txn_fold(struct txn *t)
{
    size_t n = 0;

    if (t->n_feeds > 1)
        qsort(t->feeds, t->n_feeds, sizeof *t->feeds, by_id_and_order);
    for (size_t i = 0; i < t->n_feeds; i++) {
        const struct txn_feed *f = &t->feeds[i];
        struct txn_feed *last = n > 0 ? &t->feeds[n - 1] : NULL;

        if (last == NULL || last->id != f->id) {
            t->feeds[n] = *f;
            t->feeds[n++].is_read = f->is_read || is_unknown(f);
            continue;
        }
        last->is_new |= f->is_new;
        last->is_pinged |= f->is_pinged;
        last->is_by_hand |= f->is_by_hand;
        last->is_wanted |= f->is_wanted;
        last->has_time |= f->has_time;
        if (f->is_answered)
            last->answer = f->answer;
        last->is_answered |= f->is_answered;
        last->has_event |= f->has_event;
        last->has_names |= f->has_names;
        last->reload_keys |= f->reload_keys;
        if (f->row != NULL)
            last->row = f->row;
        last->is_read |= f->is_read || is_unknown(f);
        if (f->merged_into != 0)
            last->merged_into = f->merged_into;
        if (last->first_seq == 0)
            last->first_seq = f->first_seq;
        if (f->event_seq != 0)
            last->event_seq = f->event_seq;
    }
    t->n_feeds = n;
    if (t->n_subs > 1)
        qsort(t->subs, t->n_subs, sizeof *t->subs, by_number);
    n = 0;
    for (size_t i = 0; i < t->n_subs; i++)
        if (n == 0 || t->subs[n - 1] != t->subs[i])
            t->subs[n++] = t->subs[i];
    t->n_subs = n;
}

int64_t txn_next_seq(struct txn *t)
{
    return ++t->last_seq;
}

int64_t txn_next_at_us(struct txn *t)
{
    int64_t now = clock_now_us();

    t->last_at_us = now > t->last_at_us ? now : t->last_at_us + 1;
    return t->last_at_us;
}

int64_t txn_next_version(struct txn *t)
{
    int64_t now = clock_now_us();

    /* Versions are made from the clock. Otherwise a database that was restored from a backup would
     * give out numbers again that mean something else in clients' ETags and in memcached. */
    t->version = now > t->version ? now : t->version + 1;
    return t->version;
}

/* ---- numbers that are known only after the commit -------------------------------------------- */

void txn_count_here(struct txn *t)
{
    t->last_seq = t->last_at_us = t->version = NUMBERS_HERE;
    t->notice = 0;
    t->edition = t->dir == NULL ? 0 : directory_newest_edition(t->dir);
}

static void settle(int64_t *n, int64_t base)
{
    *n = txn_number(*n, base);
}

void txn_settle(struct txn *t, const struct txn_base *base)
{
    settle(&t->last_seq, base->seq);
    settle(&t->last_at_us, base->at_us);
    settle(&t->version, base->version);
    t->notice = base->notice;
    for (size_t i = 0; i < t->n_feeds; i++) {
        settle(&t->feeds[i].first_seq, base->seq);
        settle(&t->feeds[i].event_seq, base->seq);
        if (t->feeds[i].row != NULL) {
            settle(&t->feeds[i].row->feed.version, base->version);
            settle(&t->feeds[i].row->feed.last_seq, base->seq);
        }
    }
    for (size_t i = 0; i < t->n_keys; i++) {
        settle(&t->keys[i].old_seq, base->seq);
        settle(&t->keys[i].key.seq, base->seq);
    }
}
