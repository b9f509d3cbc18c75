/* storage/apply_entries.c - makes revisions from the entries of a document, in the order in which
 * they are read and pushed.
 *
 * The fetcher has compared the document with the entries that were known when it was parsed. Here
 * each change is compared again with the stored row, so that two documents at the same time cannot
 * store an entry twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/map.h"
#include "storage/apply_parts.h"
#include "storage/sqlite/archives.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/entries.h"
#include "storage/sqlite/revisions.h"

#define DAY_S 86400

/* ---- one change and its row ------------------------------------------------------------------ */

struct pending {
    const struct entry_change *change;
    struct entry_row entry;
    size_t index; /* in the document */
    int64_t sort_at;
    bool dated;
    enum revision_kind kind;
    unsigned char doc_hash[16];
};

/* The hash of a uid that is an absolute IRI: a scheme, a colon, some more text, without blanks and
 * quotes. Entries of two feeds with the same absolute IRI are the same entry; other ids are unique
 * only within their feed. 0: it is not an absolute IRI. */
static int64_t iri_hash(struct str uid)
{
    unsigned char hash[16];
    int64_t n;
    ssize_t colon = str_chr(uid, ':');

    if (colon < 2 || (size_t)colon + 1 == uid.len)
        return 0;
    for (size_t i = 0; i < uid.len; i++) {
        unsigned char c = (unsigned char)uid.ptr[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        bool in_scheme =
            letter || (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));

        if (c <= ' ' || c == '"' || c == '<' || c == '>' || (i < (size_t)colon && !in_scheme))
            return 0;
    }
    digest_content(uid, hash);
    memcpy(&n, hash, sizeof n);
    n &= INT64_MAX;
    return n == 0 ? 1 : n;
}

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

    return memcmp(p->entry.essence, c->essence, sizeof c->essence) == 0 ||
           (c->volatile_only &&
            memcmp(p->entry.essence, c->old_essence, sizeof c->old_essence) == 0);
}

/* Take over the marks of the version that came; the entry is written after this. True: they differ
 * from those before, which are in *was. */
static bool take_marks(struct pending *p, struct entry_row *was)
{
    *was = p->entry;
    if (p->kind == REV_DELETED ||
        (p->entry.has_marks && marks_same(&p->entry.marks, &p->change->marks)))
        return false;
    p->entry.has_marks = true;
    p->entry.marks = p->change->marks;
    return true;
}

/* After the entry was written: is it to be found by other keys? */
static enum rc keep_keys(struct txn *t, const struct pending *p, const struct entry_row *was,
                         struct err *err)
{
    return entries_set_keys(t->db, &p->entry, was->has_marks ? &was->marks : NULL, err);
}

/* Replace the stored document of an entry without a revision. */
static enum rc replace_document(struct txn *t, struct pending *p, bool *visible, struct err *err)
{
    const struct entry_change *c = p->change;
    bool differs = memcmp(p->entry.doc_hash, p->doc_hash, sizeof p->doc_hash) != 0, shown;
    bool same = memcmp(p->entry.essence, c->essence, sizeof c->essence) == 0;
    struct content_row content = {.entry_id = 0};
    struct entry_row was;
    bool is_marked = take_marks(p, &was);
    enum rc rc = is_marked ? keep_keys(t, p, &was, err) : RC_OK;

    if (rc == RC_OK && differs && c->is_metadata) /* the stored document may have the content */
        rc = contents_find(t->db, p->entry.id, &content, err);
    shown = differs && (content.entry_id == 0 || content.state != CONTENT_STORED);
    if (rc == RC_OK && shown) {
        *visible = true;
        rc = overlays_put(t->db, p->entry.seq, c->doc, c->ext, err);
    }
    if (rc != RC_OK || (!differs && same && !is_marked))
        return rc;
    if (differs || !same) {
        memcpy(p->entry.doc_hash, p->doc_hash, sizeof p->doc_hash);
        memcpy(p->entry.essence, c->essence, sizeof c->essence);
        p->entry.updated_us = own_date(c);
    }
    return entries_update(t->db, &p->entry, err);
}

/* Does this deletion count? Not if it is older than the entry's own date (RFC 6721 §3), unless the
 * order of arrival shows that it is later. */
static bool is_deletion(const struct pending *p, enum arrival by)
{
    const struct entry_change *c = p->change;

    if (p->entry.id == 0 || p->entry.deleted)
        return false;
    if (by == ARRIVAL_STREAM)
        return true;
    if (by == ARRIVAL_ARCHIVE &&
        p->entry.updated_us == TIME_UNKNOWN) /* a later document has shown the entry */
        return false;
    /* compare whole seconds: the fraction of the second may be unknown */
    return c->updated_at == TIME_UNKNOWN || p->entry.updated_us == TIME_UNKNOWN ||
           own_date(c) >= p->entry.updated_us ||
           (c->updated_us == 0 && c->updated_at == p->entry.updated_us / 1000000);
}

/* Does an entry of an archive document count? It shows the past, so it counts only if the entry is
 * unknown and was not deleted later, or if it is a later version by the publisher's own dates
 * (RFC 5005 section 4.2). */
static enum rc check_archived(struct txn *t, int64_t feed_id, const struct pending *p, bool *counts,
                              struct err *err)
{
    int64_t at = own_date(p->change), dead_us;
    enum rc rc;

    if (p->entry.id != 0) {
        *counts = p->entry.updated_us != TIME_UNKNOWN && at > p->entry.updated_us;
        return RC_OK;
    }
    rc = tombstones_find(t->db, feed_id, p->change->uid, &dead_us, err);
    *counts = rc == RC_OK && (dead_us == TIME_UNKNOWN || at > dead_us);
    return rc;
}

/* Is a delivered entry older than the stored version or deletion, by the publisher's dates? A
 * delivery may come late, after a poll or another delivery has brought a newer version. */
static bool is_late(const struct pending *p)
{
    return p->change->updated_at != TIME_UNKNOWN && p->entry.updated_us != TIME_UNKNOWN &&
           own_date(p->change) < p->entry.updated_us;
}

/* Does a change count although its metadata record was deleted? A harvested document may still show
 * how the entry was before its deletion. A complete one shows what there is now; but an entry that
 * was deleted because its content is gone stays deleted. */
static enum rc check_metadata(struct txn *t, const struct arrived *in, const struct pending *p,
                              bool *counts, struct err *err)
{
    struct content_row content;
    enum rc rc = RC_OK;

    if (!in->metadata || !p->entry.deleted || own_date(p->change) > p->entry.updated_us)
        return RC_OK;
    *counts = in->complete;
    if (*counts) {
        rc = contents_find(t->db, p->entry.id, &content, err);
        *counts = rc == RC_OK && (content.entry_id == 0 || content.state != CONTENT_GONE);
    }
    return rc;
}

/* Find the row of a change. `merged`: the document was compared with a feed that has become part of
 * this one; here, the entry may have another uid. */
static enum rc find_entry(struct txn *t, int64_t feed_id, const struct entry_change *c, bool merged,
                          struct arena *a, struct entry_row *out, struct err *err)
{
    enum rc rc = entries_find(t->db, feed_id, c->uid, out, err);

    if (rc != RC_OK || out->id != 0 || !merged || c->kind == REV_DELETED)
        return rc;
    rc = entries_twin(t->db, feed_id, &c->marks, a, out, err);
    if (rc == RC_OK && out->id == 0)
        rc = entries_find(t->db, feed_id, c->uid, out, err);
    return rc;
}

/* Compare a change with its row. *kind: the kind of revision that it makes; *counts false: it does
 * not make a revision. A change that only replaces the document is written at once. */
static enum rc check_change(struct txn *t, const struct arrived *in, int64_t feed_id,
                            struct pending *p, bool *counts, bool *visible, struct err *err)
{
    enum rc rc = RC_OK;

    *counts = true;
    if (p->change->kind == REV_DELETED) {
        *counts = is_deletion(p, in->by);
        p->sort_at = p->entry.sort_at;
        p->dated = p->entry.dated;
        p->kind = REV_DELETED;
        return RC_OK;
    }
    if (in->by == ARRIVAL_ARCHIVE)
        rc = check_archived(t, feed_id, p, counts, err);
    if (rc == RC_OK && *counts)
        rc = check_metadata(t, in, p, counts, err);
    if (rc != RC_OK || !*counts)
        return rc;
    p->kind = p->entry.id == 0 ? REV_NEW : REV_CHANGED;
    if (p->kind == REV_CHANGED && !p->entry.deleted && is_quiet(p)) {
        *counts = false;
        return replace_document(t, p, visible, err);
    }
    if (p->kind == REV_CHANGED && in->by == ARRIVAL_DELIVERY && is_late(p))
        *counts = false;
    return RC_OK;
}

/* Compare each change with its row, and collect those that make a revision. */
static enum rc check_changes(struct txn *t, const struct arrived *in, int64_t feed_id,
                             struct arena *a, struct pending **out, size_t *n_out, bool *visible,
                             struct err *err)
{
    struct pending *list = ARENA_ARRAY(a, struct pending, in->batch->n + 1);
    struct map seen = MAP_INIT;
    enum rc rc = RC_OK;
    size_t n = 0;

    for (size_t i = 0; i < in->batch->n && rc == RC_OK; i++) {
        struct pending p = {.change = &in->batch->changes[i], .index = i};
        bool counts;

        if (map_put(&seen, p.change->uid, list) != NULL)
            continue; /* it is twice in the document; the first one counts */
        rc = find_entry(t, feed_id, p.change, in->merged, a, &p.entry, err);
        if (rc != RC_OK)
            break;
        if (!str_eq(p.entry.uid, p.change->uid) && map_put(&seen, p.entry.uid, list) != NULL)
            continue;
        digest_content(str_concat(a, p.change->doc, p.change->ext), p.doc_hash);
        date_of(&p, in->at);
        rc = check_change(t, in, feed_id, &p, &counts, visible, err);
        if (rc == RC_OK && counts)
            list[n++] = p;
    }
    map_release(&seen, NULL);
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
static enum rc shown_date(struct txn *t, const struct pending *p, int64_t received, int64_t *out,
                          struct err *err)
{
    int64_t at = p->change->updated_at, dead_at = p->entry.dead_at, before, shown;
    enum rc rc = RC_OK;

    if (p->kind != REV_NEW) {
        shown = at != TIME_UNKNOWN                        ? at
                : p->change->published_at != TIME_UNKNOWN ? p->change->published_at
                : p->kind == REV_DELETED                  ? TIME_UNKNOWN
                                                          : received;
        rc = revisions_shown_at(t->db, p->entry.seq, &before, err);
        if (rc == RC_OK && before > shown)
            at = before;
    }
    if (p->kind != REV_DELETED && dead_at != TIME_UNKNOWN && at <= dead_at) {
        at = received > dead_at ? received : dead_at + 1;
    }
    *out = at;
    return rc;
}

enum rc apply_revision(struct txn *t, struct feed_row *row, struct entry_row *e,
                       const struct revision *r, struct err *err)
{
    struct directory_key key = {.feed_id = row->feed.id, .old_seq = e->seq};
    bool was_there = e->id != 0 && !e->deleted;
    enum rc rc;

    e->seq = r->seq;
    e->sort_at = r->sort_at;
    e->deleted = r->kind == REV_DELETED;
    if (e->id == 0) {
        row->feed.n_items++;
        e->first_seq = r->seq;
        e->iri_hash = iri_hash(e->uid);
        rc = entries_insert(t->db, e, err);
    } else {
        rc = entries_update(t->db, e, err);
        if (rc == RC_OK)
            rc = overlays_drop(t->db, key.old_seq, err);
    }
    if (rc == RC_OK)
        rc = revisions_append(t->db, r, e->id, err);
    if (!e->deleted)
        key.key = (struct merge_key){e->sort_at, e->seq, e->iri_hash};
    txn_key(t, &key);
    row->feed.n_entries += (e->deleted ? 0 : 1) - (was_there ? 1 : 0);
    return rc;
}

static enum rc append(struct txn *t, struct feed_row *row, struct pending *p, int64_t received,
                      bool initial, int64_t batch, struct err *err)
{
    const struct entry_change *c = p->change;
    struct entry_row *e = &p->entry;
    struct revision r = {.seq = txn_next_seq(t),
                         .at_us = txn_next_at_us(t),
                         .feed_id = row->feed.id,
                         .batch = batch,
                         .kind = p->kind,
                         .initial = initial,
                         .sort_at = p->sort_at,
                         .published_at = c->published_at,
                         .updated_at = c->updated_at,
                         .title = c->title,
                         .link = c->link,
                         .summary = c->summary,
                         .author = c->author,
                         .doc = c->doc,
                         .ext = c->ext};
    struct entry_row was;
    enum rc rc = shown_date(t, p, received, &r.updated_at, err);
    bool is_marked;

    if (rc != RC_OK)
        return rc;
    is_marked = take_marks(p, &was);
    e->updated_us = own_date(c);
    if (p->kind == REV_DELETED)
        e->dead_at = r.updated_at > r.at_us / 1000000 ? r.updated_at : r.at_us / 1000000;
    e->dated = p->dated;
    memcpy(e->essence, c->essence, sizeof e->essence);
    memcpy(e->doc_hash, p->doc_hash, sizeof e->doc_hash);
    rc = apply_revision(t, row, e, &r, err);
    if (rc == RC_OK && is_marked)
        rc = keep_keys(t, p, &was, err);
    if (rc == RC_OK && c->is_metadata && p->kind != REV_DELETED)
        rc = contents_want(t->db, e->id, row->feed.id, err);
    else if (rc == RC_OK && row->feed.harvest_to != TIME_UNKNOWN && p->kind != REV_NEW)
        rc = contents_drop(t->db, e->id, err);
    return rc;
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

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = append(t, row, &list[i], in->at, initial, batch, &op->err);
        ++*counts[list[i].kind];
    }
    if (rc != RC_OK || n == 0)
        return rc;
    *visible = true;
    row->feed.last_change_at = in->at;
    txn_feed(t, row->feed.id)->first_seq = batch;
    op->result.last_seq = t->last_seq;
    return RC_OK;
}
