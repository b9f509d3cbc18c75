/* storage/apply_outcome.c - what a fetch came to: the record's new state, the moves and merges of
 * records, and the revisions, in the order in which they are to be read and pushed.
 *
 * The fetcher compared the document with what was known when it was parsed; here every change is
 * checked again against the row, so that two fetches that overlapped cannot store an entry twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/stats.h"
#include "storage/op.h"
#include "storage/sqlite/archives.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/sqlite/upstreams.h"

#define DAY_S 86400

/* Names a feed gets by moving: publishers that move with every answer are not followed for ever.
 * The first ones stay, for those were known. Records that merge bring theirs: somebody made them.
 */
#define MOVES_NAMED 64

/* ---- moves and merges ------------------------------------------------------------------------ */

static enum rc note_subs_of(struct txn *t, int64_t feed_id, struct arena *a, struct err *err)
{
    int64_t *ids;
    size_t n, i;
    enum rc rc = subs_of_feed(t->db, feed_id, a, &ids, &n, err);

    for (i = 0; rc == RC_OK && i < n; i++)
        txn_sub(t, ids[i]);
    return rc;
}

/* Whoever asked for a shorter period than the default keeps it. */
static void keep_level(struct feed_record *to, const struct feed_record *from)
{
    if (from->level == LEVEL_EXACT && (to->level != LEVEL_EXACT || from->period_s < to->period_s)) {
        to->level = LEVEL_EXACT;
        to->period_s = from->period_s;
    } else if (from->level == 2 && to->level != LEVEL_EXACT) {
        to->level = 2;
    }
}

/* Unsafe HTML is let in only where both were told to. */
static void keep_sanitize(struct feed_record *to, const struct feed_record *from)
{
    to->raw_html = to->raw_html && from->raw_html;
}

/* A record that has no document yet takes that of the other. */
static enum rc inherit_document(struct txn *t, int64_t from, struct feed_row *to, struct arena *a,
                                struct err *err)
{
    struct feed_row old;
    enum rc rc = feeds_load(t->db, from, true, a, &old, err);

    if (rc != RC_OK || to->fetched || !old.fetched)
        return rc;
    to->fetched = true;
    to->rec.head = old.rec.head;
    to->rec.ext = old.rec.ext;
    to->rec.title = old.rec.title;
    to->rec.site_url = old.rec.site_url;
    to->rec.hints = old.rec.hints;
    to->rec.last_change_at = old.rec.last_change_at;
    rc = head_log_take(t->db, from, to->rec.id, err);
    return rc == RC_OK ? feeds_save_head(t->db, to->rec.id, to->rec.head, to->rec.ext, err) : rc;
}

/* `from` turned out to be what `to` is: *to gets its subscriptions, names and entries. */
static enum rc merge_records(struct txn *t, const struct feed_row *from, struct feed_row *to,
                             struct arena *a, struct err *err)
{
    int64_t old = from->rec.id, id = to->rec.id;
    struct txn_feed *note;
    enum rc rc = note_subs_of(t, old, a, err);

    if (rc == RC_OK)
        rc = aliases_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = sub_feeds_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = archives_move(t->db, old, id, err);
    if (rc == RC_OK)
        rc = revisions_merge(t->db, old, id, a, &to->rec.n_entries, &to->rec.n_items, err);
    if (rc == RC_OK)
        rc = inherit_document(t, old, to, a, err);
    if (rc == RC_OK)
        rc = feeds_delete(t->db, old, err);
    if (rc == RC_OK)
        rc = aliases_add(t->db, id, from->rec.url, from->rec.credential, INT64_MAX, err);
    if (rc == RC_OK && from->rec.page_url.len > 0 && !str_eq(from->rec.page_url, to->rec.page_url))
        rc = aliases_add(t->db, id, from->rec.page_url, from->rec.credential, INT64_MAX, err);
    keep_level(&to->rec, &from->rec);
    keep_sanitize(&to->rec, &from->rec);
    if (from->rec.wanted_at > to->rec.wanted_at)
        to->rec.wanted_at = from->rec.wanted_at;
    note = txn_feed(t, old);
    note->merged_into = id;
    note = txn_feed(t, id);
    note->reload_keys = true;
    return rc;
}

/* Give the record the URLs of the outcome; *row becomes another record when that has them. */
static enum rc move_record(struct txn *t, const struct fetch_outcome *o, struct feed_row *row,
                           bool *merged, bool *moved, struct arena *a, struct err *err)
{
    struct feed_row other;
    struct str old_url = row->rec.url, page = row->rec.page_url;
    int64_t owner = 0;
    enum rc rc = RC_OK;

    *merged = *moved = false;
    if (!str_is_null(o->url) && o->url.len > 0 && !str_eq(o->url, old_url)) {
        rc = feeds_find_own(t->db, o->url, row->rec.credential, &owner, err);
        if (rc == RC_OK && owner != 0) {
            rc = feeds_load(t->db, owner, true, a, &other, err);
            if (rc == RC_OK)
                rc = merge_records(t, row, &other, a, err);
            if (rc != RC_OK)
                return rc;
            *row = other;
            page = other.rec.page_url;
            *merged = true;
        } else {
            *moved = true;
        }
    }
    if (!str_is_null(o->page_url))
        page = o->page_url.len > 0 ? o->page_url : STR_NULL;
    if (rc == RC_OK && (*moved || !str_eq(page, row->rec.page_url))) {
        if (*moved) {
            row->rec.url = o->url;
            rc = aliases_drop(t->db, o->url, row->rec.credential, err);
        }
        row->rec.page_url = page;
        if (rc == RC_OK)
            rc = feeds_save_urls(t->db, row->rec.id, row->rec.url, page, err);
        if (rc == RC_OK && *moved && !str_eq(old_url, page))
            rc = aliases_add(t->db, row->rec.id, old_url, row->rec.credential, MOVES_NAMED, err);
    }
    for (size_t i = 0; i < o->n_aliases && rc == RC_OK; i++)
        rc = aliases_add(t->db, row->rec.id, o->aliases[i], row->rec.credential, MOVES_NAMED, err);
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

struct pending {
    const struct entry_change *change;
    struct entry_row entry;
    size_t position; /* in the document */
    int64_t sort_at;
    bool dated;
    enum revision_kind kind;
    unsigned char doc_hash[16];
};

/* An absolute IRI: a scheme, a colon, something, and no blank or quote in it. Two feeds that carry
 * the same one carry the same entry; other ids mean something only within their feed. */
static int64_t iri_hash(struct str uid)
{
    unsigned char hash[16];
    int64_t n;
    size_t i;
    ssize_t colon = str_chr(uid, ':');

    if (colon < 2 || (size_t)colon + 1 == uid.len)
        return 0;
    for (i = 0; i < uid.len; i++) {
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

/* The date that orders merges. An entry without one has the time it came in, and a later version
 * of it the time that came in: it moves to the front. One of the past stands where its document
 * does. */
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
        at = received + DAY_S; /* a date far ahead would stay on top for ever */
    p->sort_at = at;
}

/* The publisher's own date, by which versions of an entry are told apart: microseconds. */
static int64_t own_date(const struct entry_change *c)
{
    if (c->updated_at != TIME_UNKNOWN)
        return c->updated_at * 1000000 + c->updated_us;
    return c->published_at != TIME_UNKNOWN ? c->published_at * 1000000 : TIME_UNKNOWN;
}

/* Oldest first; entries of one date from the document's last to its first, so that the newest of
 * all comes to be the first in the document. */
static int by_age(const void *x, const void *y)
{
    const struct pending *a = x, *b = y;

    if (a->sort_at != b->sort_at)
        return a->sort_at < b->sort_at ? -1 : 1;
    return a->position > b->position ? -1 : a->position < b->position;
}

/* As the stream has them. */
static int by_place(const void *x, const void *y)
{
    const struct pending *a = x, *b = y;

    return a->change->place < b->change->place ? -1 : a->change->place > b->change->place;
}

/* No event: the essence is what it was, or was found to be by the one who compared. */
static bool is_quiet(const struct pending *p)
{
    const struct entry_change *c = p->change;

    return memcmp(p->entry.essence, c->essence, sizeof c->essence) == 0 ||
           (c->volatile_only &&
            memcmp(p->entry.essence, c->old_essence, sizeof c->old_essence) == 0);
}

static enum rc keep_marks(struct txn *t, struct pending *p, struct err *err)
{
    if (p->kind == REV_DELETED ||
        (p->entry.has_marks && marks_same(&p->entry.marks, &p->change->marks)))
        return RC_OK;
    return entries_mark(t->db, &p->entry, &p->change->marks, err);
}

/* The same entry with another document: shown from now on, but no event. */
static enum rc replace_document(struct txn *t, struct pending *p, bool *visible, struct err *err)
{
    const struct entry_change *c = p->change;
    bool differs = memcmp(p->entry.doc_hash, p->doc_hash, sizeof p->doc_hash) != 0, shown;
    bool same = memcmp(p->entry.essence, c->essence, sizeof c->essence) == 0;
    struct content_row content = {.entry_id = 0};
    enum rc rc = keep_marks(t, p, err);

    if (rc == RC_OK && differs && c->is_record) /* what is shown has more than the feed says */
        rc = contents_find(t->db, p->entry.id, &content, err);
    shown = differs && (content.entry_id == 0 || content.state != CONTENT_STORED);
    if (rc == RC_OK && shown) {
        *visible = true;
        rc = overlays_put(t->db, p->entry.seq, c->doc, c->ext, err);
    }
    if (rc != RC_OK || (!differs && same))
        return rc;
    memcpy(p->entry.doc_hash, p->doc_hash, sizeof p->doc_hash);
    memcpy(p->entry.essence, c->essence, sizeof c->essence);
    p->entry.updated_us = own_date(c);
    return entries_update(t->db, &p->entry, err);
}

/* Does the order in which things come say what is later? Else their dates do. */
static bool is_in_order(const struct fetch_outcome *o)
{
    return o->piece.known && !str_is_null(o->piece.cursor);
}

/* A deletion that is older than the entry's own date is none (RFC 6721 §3), unless it came in
 * order. */
static bool is_deletion(const struct pending *p, bool in_order, bool archived)
{
    const struct entry_change *c = p->change;

    if (p->entry.id == 0 || p->entry.deleted)
        return false;
    if (in_order)
        return true;
    if (archived && p->entry.updated_us == TIME_UNKNOWN) /* a later document has shown it */
        return false;
    /* whole seconds: nothing is known of its place in the second */
    return c->updated_at == TIME_UNKNOWN || p->entry.updated_us == TIME_UNKNOWN ||
           own_date(c) >= p->entry.updated_us ||
           (c->updated_us == 0 && c->updated_at == p->entry.updated_us / 1000000);
}

/* What an archive shows is the past: it counts when the entry is not known and was not deleted
 * after it, or when it is the later version of it by the publisher's own dates (RFC 5005
 * section 4.2). */
static enum rc check_archived(struct txn *t, int64_t feed_id, const struct pending *p, bool *counts,
                              struct err *err)
{
    int64_t at = own_date(p->change), dead_us;
    enum rc rc;

    if (p->entry.id != 0) {
        *counts = p->entry.updated_us != TIME_UNKNOWN && at > p->entry.updated_us;
        return RC_OK;
    }
    rc = graves_find(t->db, feed_id, p->change->uid, &dead_us, err);
    *counts = rc == RC_OK && (dead_us == TIME_UNKNOWN || at > dead_us);
    return rc;
}

/* Deliveries may come late, when a poll or another one has brought what followed: what is older by
 * the publisher's dates does not take its place, nor that of a deletion. */
static bool is_late(const struct pending *p)
{
    return p->change->updated_at != TIME_UNKNOWN && p->entry.updated_us != TIME_UNKNOWN &&
           own_date(p->change) < p->entry.updated_us;
}

/* A harvested document may still show what a record was before its deletion. A complete one shows
 * what there is, but what led nowhere still does. */
static enum rc check_record(struct txn *t, const struct fetch_outcome *o, const struct pending *p,
                            bool *counts, struct err *err)
{
    struct content_row content;
    enum rc rc = RC_OK;

    if (!o->past.records || !p->entry.deleted || own_date(p->change) > p->entry.updated_us)
        return RC_OK;
    *counts = o->complete;
    if (*counts) {
        rc = contents_find(t->db, p->entry.id, &content, err);
        *counts = rc == RC_OK && (content.entry_id == 0 || content.state != CONTENT_GONE);
    }
    return rc;
}

/* The row of a change. It was compared with a record that has become part of another one: there it
 * may have another uid. */
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

/* Look at each change beside its row and keep those that are revisions. */
static enum rc check_changes(struct txn *t, const struct fetch_outcome *o, int64_t feed_id,
                             int64_t received, bool merged, struct arena *a, struct pending **out,
                             size_t *n_out, bool *visible, struct err *err)
{
    struct pending *list = ARENA_ARRAY(a, struct pending, o->n_changes + 1);
    struct map seen = MAP_INIT;
    enum rc rc = RC_OK;
    size_t i, n = 0;

    for (i = 0; i < o->n_changes && rc == RC_OK; i++) {
        struct pending p = {.change = &o->changes[i], .position = i};
        bool deletes = p.change->kind == REV_DELETED, counts = true;

        if (map_put(&seen, p.change->uid, list) != NULL)
            continue; /* twice in one document: the first counts */
        rc = find_entry(t, feed_id, p.change, merged, a, &p.entry, err);
        if (rc != RC_OK)
            break;
        if (!str_eq(p.entry.uid, p.change->uid) && map_put(&seen, p.entry.uid, list) != NULL)
            continue;
        digest_content(str_concat(a, p.change->doc, p.change->ext), p.doc_hash);
        date_of(&p, received);
        if (!deletes && !str_is_null(o->archive))
            rc = check_archived(t, feed_id, &p, &counts, err);
        if (rc == RC_OK && !deletes && counts)
            rc = check_record(t, o, &p, &counts, err);
        if (rc != RC_OK || !counts)
            continue;
        if (deletes) {
            if (!is_deletion(&p, is_in_order(o), !str_is_null(o->archive)))
                continue;
            p.sort_at = p.entry.sort_at;
            p.dated = p.entry.dated;
            p.kind = REV_DELETED;
        } else if (p.entry.id == 0) {
            p.kind = REV_NEW;
        } else if (!p.entry.deleted && is_quiet(&p)) {
            rc = replace_document(t, &p, visible, err);
            continue;
        } else {
            p.kind = REV_CHANGED;
        }
        if (p.kind == REV_CHANGED && o->is_delivery && !is_in_order(o) && is_late(&p))
            continue;
        list[n++] = p;
    }
    map_release(&seen, NULL);
    if (n > 1)
        qsort(list, n, sizeof *list, is_in_order(o) ? by_place : by_age);
    *out = list;
    *n_out = n;
    return rc;
}

/* The date under which a revision is shown. It does not go back from one version to the next, a
 * tombstone is not older than what it deletes, and what comes after it is later than it, whatever
 * the publisher says: readers go by these dates alone (RFC 5005 section 4.2, RFC 6721 section 3).
 */
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
    struct directory_key key = {.feed_id = row->rec.id, .old_seq = e->seq};
    bool was_there = e->id != 0 && !e->deleted;
    enum rc rc;

    e->seq = r->seq;
    e->sort_at = r->sort_at;
    e->deleted = r->kind == REV_DELETED;
    if (e->id == 0) {
        row->rec.n_items++;
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
    row->rec.n_entries += (e->deleted ? 0 : 1) - (was_there ? 1 : 0);
    return rc;
}

static enum rc append(struct txn *t, struct feed_row *row, struct pending *p, int64_t received,
                      bool initial, int64_t batch, struct err *err)
{
    const struct entry_change *c = p->change;
    struct entry_row *e = &p->entry;
    struct revision r = {.seq = txn_next_seq(t),
                         .at_us = txn_next_at_us(t),
                         .feed_id = row->rec.id,
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
    enum rc rc = shown_date(t, p, received, &r.updated_at, err);

    if (rc != RC_OK)
        return rc;
    e->updated_us = own_date(c);
    if (p->kind == REV_DELETED)
        e->dead_at = r.updated_at > r.at_us / 1000000 ? r.updated_at : r.at_us / 1000000;
    e->dated = p->dated;
    memcpy(e->essence, c->essence, sizeof e->essence);
    memcpy(e->doc_hash, p->doc_hash, sizeof e->doc_hash);
    rc = apply_revision(t, row, e, &r, err);
    if (rc == RC_OK)
        rc = keep_marks(t, p, err);
    if (rc == RC_OK && c->is_record && p->kind != REV_DELETED)
        rc = contents_want(t->db, e->id, row->rec.id, err);
    else if (rc == RC_OK && row->rec.harvest_to != TIME_UNKNOWN && p->kind != REV_NEW)
        rc = contents_drop(t->db, e->id, err);
    return rc;
}

enum rc apply_changes(struct txn *t, struct op *op, struct feed_row *row, int64_t received,
                      bool merged, bool *visible)
{
    const struct fetch_outcome *o = &op->as.outcome;
    bool first = is_in_order(o) && (row->rec.cursor_state & CURSOR_FIRST) != 0;
    bool initial = !row->fetched || !str_is_null(o->archive) || first;
    int64_t *counts[] = {[REV_NEW] = &op->result.n_new,
                         [REV_CHANGED] = &op->result.n_changed,
                         [REV_DELETED] = &op->result.n_deleted};
    int64_t batch = t->last_seq + 1;
    struct pending *list;
    size_t n, i;
    enum rc rc;

    rc = check_changes(t, o, row->rec.id, received, merged, &op->arena, &list, &n, visible,
                       &op->err);
    for (i = 0; i < n && rc == RC_OK; i++) {
        rc = append(t, row, &list[i], received, initial, batch, &op->err);
        ++*counts[list[i].kind];
    }
    if (rc != RC_OK || n == 0)
        return rc;
    *visible = true;
    row->rec.last_change_at = received;
    txn_feed(t, row->rec.id)->first_seq = batch;
    op->result.last_seq = t->last_seq;
    return RC_OK;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* Null keeps, empty clears. True when that is a change. */
static bool take(struct str *field, struct str value)
{
    if (str_is_null(value) || str_eq(*field, value)) /* null and empty are equal */
        return false;
    *field = value.len == 0 ? STR_NULL : value;
    return true;
}

/* `since`: seq of the first revision that may come with this head. A new one is kept in the log of
 * heads only when its name or place is new: its dates and counters change with every fetch. */
static enum rc store_head(struct txn *t, const struct fetch_outcome *o, struct feed_row *row,
                          int64_t since, bool *visible, struct err *err)
{
    bool changed = take(&row->rec.head, o->head), renamed;
    enum rc rc = RC_OK;

    changed |= take(&row->rec.ext, o->head_ext);
    renamed = take(&row->rec.title, o->title);
    renamed |= take(&row->rec.site_url, o->site_url);
    *visible |= renamed;
    row->rec.hints = o->hints;
    if (renamed || !row->fetched)
        rc = head_log_add(t->db, since, &row->rec, err);
    if (rc != RC_OK || (!changed && row->fetched))
        return rc;
    *visible = true;
    return feeds_save_head(t->db, row->rec.id, row->rec.head, row->rec.ext, err);
}

static void store_state(const struct fetch_outcome *o, struct feed_record *r, int64_t checked_at,
                        bool merged)
{
    r->last_check_at = checked_at;
    if (o->ok)
        r->last_success_at = checked_at;
    r->last_error = o->ok ? STR_NULL : o->error;
    r->last_status = o->status;
    r->state = o->state;
    r->n_errors = o->n_errors;
    r->next_fetch_at = o->next_fetch_at;
    r->next_reason = o->next_reason;
    if (o->level != LEVEL_KEEP && !merged) { /* it was weighed against the record that is gone */
        r->level = o->level;
        if (o->level != LEVEL_EXACT)
            r->period_s = 0;
    }
    /* nor does this record hold all that was compared, or it is to be read in another way from now
     * on: it is read whole next time */
    if (merged || o->raw_html != r->raw_html) {
        r->etag = r->last_modified = STR_NULL;
        r->has_body_hash = false;
        return;
    }
    take(&r->etag, o->etag);
    take(&r->last_modified, o->last_modified);
    if (o->has_body_hash) {
        r->has_body_hash = true;
        memcpy(r->body_hash, o->body_hash, sizeof r->body_hash);
    }
}

/* ---- Smart Feeds ----------------------------------------------------------------------------- */

/* Another piece was stored since this one was asked for: it may hold what is newer. */
static bool is_overtaken(const struct fetch_outcome *o, const struct feed_record *r)
{
    return o->piece.known && !str_eq(o->piece.from, r->cursor); /* null and empty are equal */
}

/* The record stands behind the piece. A cursor that is refused twice in a row proves that this is
 * no stream, whose end could be reached. */
static void advance(const struct doc_piece *piece, struct feed_record *r)
{
    bool is_new = str_is_null(r->cursor);
    unsigned first = is_new ? CURSOR_FIRST : r->cursor_state & CURSOR_FIRST;

    if (piece->is_refused)
        r->cursor_state = (r->cursor_state & CURSOR_REFUSED ? 0 : first) | CURSOR_REFUSED;
    else
        r->cursor_state = piece->more ? first : 0;
    r->cursor = piece->cursor;
    if (str_is_null(r->cursor))
        r->cursor_state = 0;
    else
        r->has_body_hash = false; /* the body says nothing of the piece that is asked for next */
}

/* What a hub delivered: entries, and that it works. */
static enum rc apply_delivery(struct txn *t, struct op *op)
{
    const struct fetch_outcome *o = &op->as.outcome;
    bool visible = false;
    struct feed_row row;
    enum rc rc = feeds_load(t->db, o->feed_id, false, &op->arena, &row, &op->err);

    if (rc == RC_OK && is_overtaken(o, &row.rec)) {
        op->result.is_overtaken = true;
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = apply_changes(t, op, &row, o->checked_at, false, &visible);
    if (rc == RC_OK && o->has_identity)
        rc = feeds_save_identity(t->db, row.rec.id, &o->identity, &op->err);
    if (rc == RC_OK)
        rc = upstreams_delivered(t->db, row.rec.id, o->checked_at, &op->err);
    if (rc != RC_OK || (!visible && !o->piece.known))
        return rc;
    if (o->piece.known)
        advance(&o->piece, &row.rec);
    if (visible)
        row.rec.version = txn_next_version(t);
    txn_feed(t, row.rec.id);
    op->result.id = row.rec.id;
    return feeds_save(t->db, &row, &op->err);
}

enum rc apply_outcome(struct txn *t, struct op *op)
{
    const struct fetch_outcome *o = &op->as.outcome;
    int64_t checked_at = o->checked_at > 0 ? o->checked_at : clock_now_s();
    int64_t since = t->last_seq + 1;
    bool merged, visible, pinged = false;
    struct feed_row row;
    enum rc rc;

    if (o->is_delivery)
        return apply_delivery(t, op);
    if (!str_is_null(o->archive))
        return apply_archive(t, op);
    rc = feeds_load(t->db, o->feed_id, o->has_document, &op->arena, &row, &op->err);
    if (rc == RC_OK && o->trust != o->trust_was)
        rc = upstreams_trust(t->db, o->feed_id, o->trust_was, o->trust, &op->err);
    if (rc == RC_OK && o->state == FEED_GONE && row.rec.state != FEED_GONE)
        rc = hub_feed_gone(t, o->feed_id, &op->arena, &op->err);
    if (rc == RC_OK) {
        pinged = row.rec.n_pings != o->n_pings;
        rc = move_record(t, o, &row, &merged, &visible, &op->arena, &op->err);
    }
    if (rc != RC_OK)
        return rc;
    visible |= merged;
    pinged |= merged && row.rec.next_reason == REASON_PING;
    store_state(o, &row.rec, checked_at, merged);
    if (pinged) { /* after the fetch began, which may not show what the ping announced */
        row.rec.next_fetch_at = checked_at;
        row.rec.next_reason = REASON_PING;
    }
    op->result.is_overtaken = is_overtaken(o, &row.rec);
    if (o->has_document && !op->result.is_overtaken) {
        rc = apply_changes(t, op, &row, checked_at, merged, &visible);
        if (rc == RC_OK && o->has_identity && !merged)
            rc = feeds_save_identity(t->db, row.rec.id, &o->identity, &op->err);
        if (rc == RC_OK)
            rc = store_head(t, o, &row, since, &visible, &op->err);
        if (row.rec.last_change_at == TIME_UNKNOWN) /* a feed without entries has a date, too */
            row.rec.last_change_at = checked_at;
        row.fetched = true;
    }
    if (o->piece.known && !op->result.is_overtaken)
        advance(&o->piece, &row.rec);
    if (o->raw_html != row.rec.raw_html && !str_is_null(row.rec.cursor))
        row.rec.cursor = STR(""); /* it is read anew, in the other way */
    else if (o->piece.more || op->result.is_overtaken)
        op->result.next_cursor = row.rec.cursor;
    if (rc == RC_OK)
        rc = apply_past(t, op, &row, checked_at, &visible);
    if (rc != RC_OK)
        return rc;
    if (visible)
        row.rec.version = txn_next_version(t);
    txn_feed(t, row.rec.id);
    op->result.id = row.rec.id;
    return feeds_save(t->db, &row, &op->err);
}
