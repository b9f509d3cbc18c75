/* storage/apply_entries.c - makes revisions from the entries of a document, in the order in which
 * they are read and pushed.
 *
 * The fetcher has compared the document with the entries that were known when it was parsed. Here
 * each change is compared again with the stored row, so that two documents at the same time cannot
 * store an entry twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "model/shown.h"
#include "storage/apply_parts.h"
#include "storage/iri.h"
#include "storage/rows_past.h"
#include "storage/twins.h"
#include "storage/wants.h"

#define DAY_S 86400

/* ---- one change and its row ------------------------------------------------------------------ */

struct pending {
    const struct entry_change *change;
    struct held_entry *entry;
    size_t index; /* in the document */
    int64_t sort_at;
    bool dated;
    enum revision_kind kind;
    unsigned char doc_hash[16];
};

/* Set the date by which views are ordered. An entry without a date gets the time when it came in; a
 * later version gets the time when that version came in, so the entry moves to the front. An entry
 * from the past without a date gets the time of its document. */
static void date_of(struct pending *p, int64_t received)
{
    int64_t at = p->change->published_at;

    if (p->change->updated_at > at)
        at = p->change->updated_at; /* TIME_UNKNOWN is less than any time */
    p->dated = at != TIME_UNKNOWN;
    if (!p->dated)
        at = p->change->stands_at != 0 && p->change->stands_at < received ? p->change->stands_at
                                                                          : received;
    else if (at > received + DAY_S)
        at = received + DAY_S; /* with a date far in the future it would stay on top for ever */
    p->sort_at = at;
}

/* The publisher's own date of this version, in microseconds. */
static int64_t own_date(const struct entry_change *c)
{
    if (c->updated_at != TIME_UNKNOWN)
        return c->updated_at * 1000000 + c->updated_us;
    return c->published_at != TIME_UNKNOWN ? c->published_at * 1000000 : TIME_UNKNOWN;
}

/* The hash of doc and ext, one after the other. Most entries have no ext, and are not copied. */
static void hash_document(const struct entry_change *c, struct arena *a, unsigned char out[16])
{
    digest_content(c->ext.len == 0 ? c->doc : str_concat(a, c->doc, c->ext), out);
}

/* Oldest first. Of entries with the same date, the last one in the document comes first, so that
 * the first one in the document becomes the newest. */
static int by_age(const void *x, const void *y)
{
    const struct pending *a = x, *b = y;

    if (a->sort_at != b->sort_at)
        return a->sort_at < b->sort_at ? -1 : 1;
    return a->index > b->index ? -1 : a->index < b->index;
}

/* In the order of the stream. */
static int by_item_index(const void *x, const void *y)
{
    const struct pending *a = x, *b = y;
    size_t i = a->change->item_index, k = b->change->item_index;

    return i < k ? -1 : i > k;
}

/* True: the change does not make a revision, because the essence has not changed. */
static bool is_quiet(const struct pending *p)
{
    const struct entry_change *c = p->change;

    return memcmp(p->entry->row.essence, c->essence, sizeof c->essence) == 0 ||
           (c->volatile_only &&
            memcmp(p->entry->row.essence, c->old_essence, sizeof c->old_essence) == 0);
}

/* Take over the marks of the version that came. */
static void take_marks(struct pending *p)
{
    struct entry_row *row = &p->entry->row;

    if (p->kind == REV_DELETED)
        return;
    row->has_marks = true;
    row->marks = p->change->marks;
}

/* Replace the stored document of an entry without a revision. */
static void replace_document(struct txn *t, struct pending *p, bool *visible)
{
    const struct entry_change *c = p->change;
    struct held_entry *e = p->entry;
    bool differs = memcmp(e->row.doc_hash, p->doc_hash, sizeof p->doc_hash) != 0;
    bool same = memcmp(e->row.essence, c->essence, sizeof c->essence) == 0;
    /* the stored document may have the content */
    bool is_stored = c->is_metadata && e->has_content && e->content.state == CONTENT_STORED;

    if (!differs && same && e->row.has_marks && marks_same(&e->row.marks, &c->marks))
        return;
    rows_touch(&t->rows, ROW_ENTRY, e);
    take_marks(p);
    if (differs && !is_stored) {
        *visible = true;
        e->has_new_overlay = true;
        e->overlay_doc = c->doc;
        e->overlay_ext = c->ext;
    }
    if (differs || !same) {
        memcpy(e->row.doc_hash, p->doc_hash, sizeof p->doc_hash);
        memcpy(e->row.essence, c->essence, sizeof c->essence);
        e->row.updated_us = own_date(c);
    }
}

/* Does this deletion count? Not if it is older than the entry's own date (RFC 6721 §3), unless the
 * order of arrival shows that it is later. */
static bool is_deletion(const struct pending *p, enum arrival by)
{
    const struct entry_change *c = p->change;

    if (p->entry->row.seq == 0 || p->entry->row.deleted)
        return false;
    if (by == ARRIVAL_STREAM)
        return true;
    if (by == ARRIVAL_ARCHIVE &&
        p->entry->row.updated_us == TIME_UNKNOWN) /* a later document has shown the entry */
        return false;
    /* compare whole seconds: the fraction of the second may be unknown */
    return c->updated_at == TIME_UNKNOWN || p->entry->row.updated_us == TIME_UNKNOWN ||
           own_date(c) >= p->entry->row.updated_us ||
           (c->updated_us == 0 && c->updated_at == p->entry->row.updated_us / 1000000);
}

/* Does an entry of an archive document count? It shows the past, so it counts only if the entry is
 * unknown and was not deleted later, or if it is a later version by the publisher's own dates
 * (RFC 5005 section 4.2). */
static bool counts_from_archive(struct txn *t, int64_t feed_id, const struct pending *p)
{
    int64_t at = own_date(p->change), dead_us;

    if (p->entry->row.seq != 0)
        return p->entry->row.updated_us != TIME_UNKNOWN && at > p->entry->row.updated_us;
    dead_us = rows_grave(&t->rows, feed_id, p->change->uid)->when_us;
    return dead_us == TIME_UNKNOWN || at > dead_us;
}

/* Is a delivered entry older than the stored version or deletion, by the publisher's dates? A
 * delivery may come late, after a poll or another delivery has brought a newer version. */
static bool is_late(const struct pending *p)
{
    return p->change->updated_at != TIME_UNKNOWN && p->entry->row.updated_us != TIME_UNKNOWN &&
           own_date(p->change) < p->entry->row.updated_us;
}

/* Does a change count although its metadata record was deleted? A harvested document may still show
 * how the entry was before its deletion. A complete one shows what there is now; but an entry that
 * was deleted because its content is gone stays deleted. */
static bool counts_as_metadata(const struct arrived *in, const struct pending *p)
{
    const struct held_entry *e = p->entry;

    if (!in->metadata || !e->row.deleted || own_date(p->change) > e->row.updated_us)
        return true;
    return in->complete && (!e->has_content || e->content.state != CONTENT_GONE);
}

/* The document was compared with a feed that has become part of this one; here, its entries may
 * have other uids. They are recognised by their marks. Which feed this is was not known before the
 * transaction, so the rows that may be the same entries are loaded now. */
static enum rc load_twins(struct txn *t, const struct arrived *in, int64_t feed_id,
                          struct twins *twins, struct arena *a, struct err *err)
{
    struct wants w = {.feeds = NULL};
    enum rc rc;

    for (size_t i = 0; i < in->batch->n; i++) {
        const struct entry_change *c = &in->batch->changes[i];

        if (c->kind != REV_DELETED && rows_entry(&t->rows, feed_id, c->uid)->row.seq == 0)
            wants_add_marks(&w, feed_id, &c->marks);
    }
    rc = txn_more(t, &w, err);
    wants_release(&w);
    if (rc == RC_OK)
        twins_fill(twins, &t->rows, feed_id, a);
    return rc;
}

/* The row of a change. `twins`: where to look for it under another uid; NULL: nowhere. */
static struct held_entry *find_entry(struct txn *t, int64_t feed_id, const struct entry_change *c,
                                     const struct twins *twins)
{
    struct held_entry *e = rows_entry(&t->rows, feed_id, c->uid), *twin = NULL;

    if (twins != NULL && e->row.seq == 0 && c->kind != REV_DELETED)
        twin = twins_find(twins, &c->marks);
    return twin == NULL ? e : twin;
}

/* Compare a change with its row. True: it makes a revision, of the kind p->kind. A change that only
 * replaces the document does so at once. */
static bool check_change(struct txn *t, const struct arrived *in, int64_t feed_id,
                         struct pending *p, bool *visible)
{
    if (p->change->kind == REV_DELETED) {
        p->sort_at = p->entry->row.sort_at;
        p->dated = p->entry->row.dated;
        p->kind = REV_DELETED;
        return is_deletion(p, in->by);
    }
    if ((in->by == ARRIVAL_ARCHIVE && !counts_from_archive(t, feed_id, p)) ||
        !counts_as_metadata(in, p))
        return false;
    p->kind = p->entry->row.seq == 0 ? REV_NEW : REV_CHANGED;
    if (p->entry->row.deleted == ENTRY_TAKEN && is_quiet(p))
        return false; /* what retention took is shown again, as it was */
    if (p->kind == REV_CHANGED && !p->entry->row.deleted && is_quiet(p)) {
        replace_document(t, p, visible);
        return false;
    }
    return p->kind != REV_CHANGED || in->by != ARRIVAL_DELIVERY || !is_late(p);
}

/* Compare each change with its row, and collect those that make a revision. */
static enum rc check_changes(struct txn *t, const struct arrived *in, int64_t feed_id,
                             struct arena *a, struct pending **out, size_t *n_out, bool *visible,
                             struct err *err)
{
    struct pending *list = ARENA_ARRAY(a, struct pending, in->batch->n + 1);
    struct map seen = MAP_INIT;
    struct twins twins = TWINS_INIT;
    enum rc rc = in->merged ? load_twins(t, in, feed_id, &twins, a, err) : RC_OK;
    size_t n = 0;

    for (size_t i = 0; i < in->batch->n && rc == RC_OK; i++) {
        struct pending p = {.change = &in->batch->changes[i], .index = i};

        if (map_put(&seen, p.change->uid, list) != NULL)
            continue; /* it is twice in the document; the first one counts */
        p.entry = find_entry(t, feed_id, p.change, in->merged ? &twins : NULL);
        if (!str_eq(p.entry->row.uid, p.change->uid) &&
            map_put(&seen, p.entry->row.uid, list) != NULL)
            continue;
        hash_document(p.change, a, p.doc_hash);
        date_of(&p, in->at);
        if (check_change(t, in, feed_id, &p, visible))
            list[n++] = p;
    }
    map_release(&seen, NULL);
    twins_release(&twins);
    if (n > 1)
        qsort(list, n, sizeof *list, in->by == ARRIVAL_STREAM ? by_item_index : by_age);
    *out = list;
    *n_out = n;
    return rc;
}

/* The date with which a revision is shown. Clients decide by these dates alone (RFC 5005 section
 * 4.2, RFC 6721 section 3). So whatever the publisher says, a version is not older than the version
 * before it, a tombstone is not older than the entry that it deletes, and a version after a
 * tombstone is later than the tombstone. */
static int64_t shown_date(const struct pending *p, int64_t received)
{
    int64_t at = p->change->updated_at, dead_at = p->entry->row.dead_at, shown;

    if (p->kind != REV_NEW) {
        shown = at != TIME_UNKNOWN                        ? at
                : p->change->published_at != TIME_UNKNOWN ? p->change->published_at
                : p->kind == REV_DELETED                  ? TIME_UNKNOWN
                                                          : received;
        if (p->entry->shown_at > shown)
            at = p->entry->shown_at;
    }
    if (p->kind != REV_DELETED && dead_at != TIME_UNKNOWN && at <= dead_at)
        at = received > dead_at ? received : dead_at + 1;
    return at;
}

void apply_revision(struct txn *t, struct feed_row *row, struct held_entry *e,
                    const struct revision *r)
{
    struct directory_key key = {.feed_id = row->feed.id, .old_seq = e->row.seq};
    bool is_new = e->row.seq == 0, was_there = !is_new && !e->row.deleted;
    bool was_gone = e->row.gone_at != TIME_UNKNOWN;
    struct revision linked = *r;

    linked.prev_seq = e->row.seq;
    e->row.seq = r->seq;
    e->row.sort_at = r->sort_at;
    e->row.deleted = r->kind == REV_DELETED;
    if (is_new || was_gone) { /* retention took its first revision */
        row->feed.n_items++;
        e->row.first_seq = r->seq;
    }
    if (is_new)
        e->row.iri_hash = iri_of_uid(e->row.uid);
    e->row.gone_at = TIME_UNKNOWN;
    rows_append(&t->rows, e, &linked);
    row->feed.last_seq = r->seq;
    if (!e->row.deleted) {
        key.key = (struct merge_key){e->row.sort_at, e->row.seq, e->row.iri_hash};
        if (r->sort_at > row->feed.newest_at)
            row->feed.newest_at = r->sort_at;
    }
    txn_key(t, &key);
    row->feed.n_entries += (e->row.deleted ? 0 : 1) - (was_there ? 1 : 0);
}

static void append(struct txn *t, struct feed_row *row, struct pending *p, int64_t received,
                   bool initial, int64_t batch)
{
    const struct entry_change *c = p->change;
    struct held_entry *e = p->entry;
    struct revision r = {.seq = txn_next_seq(t),
                         .at_us = txn_next_at_us(t),
                         .feed_id = row->feed.id,
                         .batch = batch,
                         .kind = p->kind,
                         .initial = initial,
                         .sort_at = p->sort_at,
                         .published_at = c->published_at,
                         .updated_at = shown_date(p, received),
                         .title = c->title,
                         .link = c->link,
                         .summary = c->summary,
                         .author = c->author,
                         .doc = c->doc,
                         .ext = c->ext};

    rows_touch(&t->rows, ROW_ENTRY, e);
    take_marks(p);
    e->row.updated_us = own_date(c);
    if (p->kind == REV_DELETED) /* r.at_us may not be known yet */
        e->row.dead_at = r.updated_at > received ? r.updated_at : received;
    e->row.dated = p->dated;
    memcpy(e->row.essence, c->essence, sizeof e->row.essence);
    memcpy(e->row.doc_hash, p->doc_hash, sizeof e->row.doc_hash);
    apply_revision(t, row, e, &r);
    if (c->is_metadata && p->kind != REV_DELETED) {
        e->has_content = e->has_new_content = true;
        e->content = content_new(row->feed.id);
    } else if (row->feed.harvest_to != TIME_UNKNOWN && p->kind != REV_NEW) {
        e->has_new_content |= e->has_content;
        e->has_content = false;
    }
}

/* Note the dates of what has just been published: how long it took to be stored is measured. */
static void note_published(struct op *op, const struct pending *list, size_t n)
{
    op->published_at = ARENA_ARRAY(&op->arena, int64_t, n);
    for (size_t i = 0; i < n; i++) {
        const struct entry_change *c = list[i].change;
        int64_t at = c->published_at != TIME_UNKNOWN ? c->published_at : c->updated_at;

        if (list[i].kind == REV_NEW && at != TIME_UNKNOWN)
            op->published_at[op->n_published++] = at;
    }
}

/* Does the quota hold for what came so (D105)? It is there for a publisher that brings more and more. What
 * was there before anyone looked is taken whole, or it would come as news one day later. So are
 * documents of the past and pieces of a stream, which are not read again: a stream that was held
 * back would fall behind for good. */
static bool has_quota(const struct feed_row *row, enum arrival by)
{
    return row->fetched && (by == ARRIVAL_POLL || by == ARRIVAL_DELIVERY);
}

/* Leave out new entries that are more than the feed may bring, the oldest ones: what a document shows
 * on top is what readers look for, and the rest is taken while the document still shows it. The list
 * begins with the oldest. Returns how many of it are left. */
static size_t keep_to_quota(const struct txn *t, struct store_result *result, int64_t feed_id,
                            struct pending *list, size_t n)
{
    int64_t room = quotas_room(t->quotas, feed_id, clock_now_s()) - result->n_counted;
    int64_t n_over = room > 0 ? -room : 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        n_over += list[i].kind == REV_NEW;
    for (size_t i = 0; i < n; i++) {
        bool is_new = list[i].kind == REV_NEW;

        if (is_new && n_over-- > 0) {
            result->n_left_out++;
            continue;
        }
        result->n_counted += is_new;
        list[kept++] = list[i];
    }
    return kept;
}

/* A hub delivers what its publisher's document shows. A poll says afterwards what that is. */
static void note_shown(struct op *op, struct feed *feed, const struct pending *list, size_t n)
{
    AUTO(buf_release) struct buf shown = BUF_INIT(BUF_ANY);

    if (str_is_null(feed->shown))
        return;
    buf_str(&shown, feed->shown);
    for (size_t i = 0; i < n; i++) { /* what is new has not been shown: that is not looked for */
        struct str uid = list[i].entry->row.uid;

        if (list[i].kind == REV_NEW || (list[i].kind == REV_CHANGED && !shown_has(feed->shown, uid)))
            shown_add(&shown, uid);
    }
    feed->shown = str_dup(&op->arena, buf_view(&shown));
}

enum rc apply_entries(struct txn *t, struct op *op, struct feed_row *row, const struct arrived *in,
                      bool *visible)
{
    bool first = in->by == ARRIVAL_STREAM && (row->feed.cursor_state & CURSOR_FIRST) != 0;
    bool initial = !row->fetched || in->by == ARRIVAL_ARCHIVE || first;
    int64_t *counts[] = {[REV_NEW] = &op->result.n_new,
                         [REV_CHANGED] = &op->result.n_changed,
                         [REV_DELETED] = &op->result.n_deleted};
    int64_t batch = t->last_seq + 1;
    struct pending *list;
    size_t n;
    enum rc rc = check_changes(t, in, row->feed.id, &op->arena, &list, &n, visible, &op->err);

    op->n_published = 0;
    if (rc == RC_OK && has_quota(row, in->by))
        n = keep_to_quota(t, &op->result, row->feed.id, list, n);
    if (rc != RC_OK || n == 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        append(t, row, &list[i], in->at, initial, batch);
        ++*counts[list[i].kind];
    }
    if (in->by == ARRIVAL_POLL || in->by == ARRIVAL_DELIVERY)
        note_shown(op, &row->feed, list, n);
    if (!initial)
        note_published(op, list, n);
    *visible = true;
    row->feed.last_change_at = in->at;
    txn_revisions(t, row->feed.id, batch);
    op->result.last_seq = t->last_seq;
    return RC_OK;
}
