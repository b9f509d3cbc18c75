/* storage/filtered.c - see filtered.h.
 *
 * There are two lists to begin with: the candidates that the index gives, and the keys of the view
 * in its order. Which is shorter is not known before. So both are read to a bound that grows: when
 * the list of candidates ends before the bound, those that belong to the view are put into its
 * order, and judged; else the keys of the view up to the bound are, those of them that the index
 * does not rule out. No more is read than a small multiple of the shorter list.
 *
 * Views in which of the entries that are alike one is shown are read here too, also without a
 * filter: then all keys of the view match. */
#include "storage/filtered.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "storage/alike.h"
#include "storage/iri.h"
#include "storage/store_priv.h"

#define BOUND_FIRST 256 /* of both lists */
#define BOUND_FACTOR 4
#define BATCH_MAX 64  /* rows that are read and judged together */
#define CHAIN_MAX 64  /* earlier revisions of an entry that are judged */
#define LOOK_MAX 1024 /* rows that filtered_seqs() judges: some 50 ms */

/* What one call is about, and what it has found. */
struct hunt {
    struct reader *r;
    struct db *db;
    struct view view; /* with its feeds named, ascending, or all of them */
    const struct filter *filter;
    int64_t indexed;      /* the index knows revisions up to this one */
    struct arena *arena;  /* of the caller */
    struct arena scratch; /* for the whole call */
    struct arena batch;   /* for one batch */
    struct revision *rows;
    size_t n, cap, n_skipped;
    bool has_no_texts; /* only the numbers of the rows are wanted */
    size_t look_max;   /* rows to judge, at most; 0: as many as it takes */
    size_t n_looked;
    int64_t looked_to; /* number of the last row that was judged */
    struct map shown;  /* uids that entries of several feeds may share */
    struct map feeds;  /* struct feed, by its id */
    struct map judged; /* seqs; a round begins where the one before began */
    bool is_done;      /* nothing more is wanted, or can follow */
    bool is_cut;       /* the first of these; there may be more rows */
    struct alikes alikes;
};

static struct str key_of(const int64_t *n)
{
    return str_of((const char *)n, sizeof *n);
}

/* Can the index narrow it down? */
static bool has_terms(const struct hunt *h)
{
    return h->filter != NULL && h->filter->terms != NULL;
}

static bool is_log(const struct view *v)
{
    return v->order == VIEW_LOG || v->order == VIEW_LOG_DESC;
}

/* ---- one revision ---------------------------------------------------------------------------- */

/* Hold the feeds of these rows. One that is gone has no head. */
static enum rc load_feeds(struct hunt *h, const struct revision *rows, size_t n, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(&h->batch, int64_t, n + 1);
    struct feed *feeds;
    size_t n_ids = 0, n_feeds;
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        if (map_get(&h->feeds, key_of(&rows[i].feed_id)) == NULL) {
            map_put(&h->feeds, key_of(&rows[i].feed_id), ARENA_NEW(&h->scratch, struct feed));
            ids[n_ids++] = rows[i].feed_id;
        }
    if (n_ids == 0)
        return RC_OK;
    rc = h->db->reads->feeds_by_id(h->db, ids, n_ids, &h->scratch, &feeds, &n_feeds, err);
    for (size_t i = 0; rc == RC_OK && i < n_feeds; i++)
        *(struct feed *)map_get(&h->feeds, key_of(&feeds[i].id)) = feeds[i];
    return rc;
}

/* The feeds of these rows with their heads: out[n]. In a log a head is that of the time of the row,
 * so that what a log has once told stays so. */
static enum rc find_heads(struct hunt *h, const struct revision *rows, size_t n, struct feed *out,
                          struct err *err)
{
    int64_t *seqs = ARENA_ARRAY(&h->batch, int64_t, n + 1);
    enum rc rc = load_feeds(h, rows, n, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        out[i] = *(const struct feed *)map_get(&h->feeds, key_of(&rows[i].feed_id));
        seqs[i] = rows[i].seq;
    }
    return rc == RC_OK && n > 0 && is_log(&h->view)
               ? h->db->reads->head_log_at(h->db, out, seqs, n, &h->batch, err)
               : rc;
}

/* The dates by which the filter judges these rows, those that order the view: out[n]. */
static enum rc find_dates(struct hunt *h, const struct revision *rows, size_t n, int64_t *out,
                          struct err *err)
{
    const struct filter *f = h->filter;
    bool is_bounded = f != NULL && (f->after_at > INT64_MIN || f->before_at < INT64_MAX);
    bool by_first = h->view.order == VIEW_RECEIVED && is_bounded;
    int64_t *firsts = ARENA_ARRAY(&h->batch, int64_t, n + 1);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        firsts[i] = rows[i].first_seq;
        out[i] = h->view.order == VIEW_CHANGED ? rows[i].at_us / 1000000 : rows[i].sort_at;
    }
    if (by_first)
        rc = h->db->reads->revisions_times(h->db, firsts, n, out, err);
    for (size_t i = 0; i < n && by_first && rc == RC_OK; i++)
        out[i] /= 1000000;
    return rc;
}

/* Which of these rows match: out[n]. */
static enum rc judge(struct hunt *h, const struct revision *rows, size_t n, bool *out,
                     struct err *err)
{
    const struct filter *f = h->filter;
    struct feed *feeds =
        f != NULL && f->needs_head ? ARENA_ARRAY(&h->batch, struct feed, n + 1) : NULL;
    int64_t *dates = ARENA_ARRAY(&h->batch, int64_t, n + 1);
    enum rc rc = feeds != NULL ? find_heads(h, rows, n, feeds, err) : RC_OK;

    if (rc == RC_OK)
        rc = find_dates(h, rows, n, dates, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct arena_mark mark = arena_mark(&h->batch);

        out[i] = revision_has_entry(&rows[i]) &&
                 (f == NULL || filter_matches(f, &rows[i], feeds != NULL ? feeds[i].head : STR_NULL,
                                              dates[i], &h->batch));
        arena_rewind(&h->batch, mark);
    }
    return rc;
}

static enum rc judge_for(void *ctx, const struct revision *rows, size_t n, bool *out,
                         struct err *err)
{
    return judge(ctx, rows, n, out, err);
}

/* ---- what has left --------------------------------------------------------------------------- */

/* Which of these rows, that do not match, told something before: out[n]. In a log the revision
 * before counts, in a view of current revisions any earlier one. */
static enum rc judge_before(struct hunt *h, const struct revision *rows, size_t n, bool *out,
                            struct err *err)
{
    int64_t *prev = ARENA_ARRAY(&h->batch, int64_t, n + 1);
    int depth = is_log(&h->view) ? 1 : CHAIN_MAX;

    for (size_t i = 0; i < n; i++) {
        prev[i] = rows[i].prev_seq;
        out[i] = false;
    }
    for (; depth > 0; depth--) {
        int64_t *seqs = ARENA_ARRAY(&h->batch, int64_t, n + 1);
        bool *match = ARENA_ARRAY(&h->batch, bool, n + 1);
        struct revision *found;
        size_t n_seqs = 0, n_found, k = 0;
        enum rc rc;

        for (size_t i = 0; i < n; i++)
            if (prev[i] != 0 && !out[i])
                seqs[n_seqs++] = prev[i];
        if (n_seqs == 0)
            return RC_OK;
        rc = h->db->reads->revisions_by_seq(h->db, seqs, n_seqs, false, &h->batch, &found, &n_found,
                                            err);
        if (rc == RC_OK)
            rc = judge(h, found, n_found, match, err);
        if (rc != RC_OK)
            return rc;
        for (size_t i = 0; i < n; i++) {
            if (prev[i] == 0 || out[i])
                continue;
            if (k < n_found && found[k].seq == prev[i]) {
                out[i] = match[k];
                prev[i] = found[k++].prev_seq;
            } else {
                prev[i] = 0;
            }
        }
    }
    for (size_t i = 0; i < n && !is_log(&h->view); i++)
        out[i] |= prev[i] != 0;
    return RC_OK;
}

/* The same for those of the batch that do not match, if the view shows such rows. */
static enum rc find_left(struct hunt *h, const struct revision *rows, size_t n, const bool *match,
                         bool *left, struct err *err)
{
    struct revision *others = ARENA_ARRAY(&h->batch, struct revision, n + 1);
    bool *were = ARENA_ARRAY(&h->batch, bool, n + 1);
    size_t n_others = 0;
    enum rc rc;

    if (!h->view.with_deleted)
        return RC_OK;
    for (size_t i = 0; i < n; i++)
        if (!match[i])
            others[n_others++] = rows[i];
    rc = judge_before(h, others, n_others, were, err);
    for (size_t i = 0, k = 0; i < n && rc == RC_OK; i++)
        if (!match[i])
            left[i] = were[k++];
    return rc;
}

/* ---- a batch --------------------------------------------------------------------------------- */

void filtered_leave(struct revision *row)
{
    row->kind = REV_LEFT;
    row->title = row->link = row->summary = row->author = row->doc = row->ext = STR_NULL;
}

/* A row of the answer. */
static struct revision shown_row(struct arena *a, const struct revision *row, bool has_left)
{
    struct revision copy = *row;
    struct str *const texts[] = {&copy.uid,     &copy.id_url, &copy.title, &copy.link,
                                 &copy.summary, &copy.author, &copy.doc,   &copy.ext};

    if (has_left)
        filtered_leave(&copy);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!str_is_null(*texts[i]))
            *texts[i] = str_dup(a, *texts[i]);
    return copy;
}

/* Does the view show another entry with the same id already? */
static bool is_double(struct hunt *h, const struct revision *row)
{
    const struct view *v = &h->view;

    if (!order_is_by_date(v->order) || v->with_doubles || v->alike != NULL ||
        iri_of_uid(row->uid) == 0)
        return false;
    return map_put(&h->shown, row->uid, h) != NULL;
}

static void add_row(struct hunt *h, const struct revision *row, bool has_left)
{
    if (h->n == h->cap) {
        struct revision *more = ARENA_ARRAY(h->arena, struct revision, 2 * h->cap + 16);

        if (h->n > 0)
            memcpy(more, h->rows, h->n * sizeof *more);
        h->rows = more;
        h->cap = 2 * h->cap + 16;
    }
    h->rows[h->n++] =
        h->has_no_texts ? (struct revision){.seq = row->seq} : shown_row(h->arena, row, has_left);
    h->is_done |= h->n == h->view.len;
}

static void show(struct hunt *h, const struct revision *row, bool has_left)
{
    if (is_double(h, row))
        return;
    if (h->n_skipped < h->view.skip)
        h->n_skipped++;
    else
        add_row(h, row, has_left);
}

/* Nothing after this row can match: the view is ordered by the date that the filter bounds. */
static bool is_last(const struct hunt *h, const struct revision *row)
{
    return h->view.order == VIEW_NEWEST && h->filter != NULL && row->sort_at < h->filter->after_at;
}

/* Of the rows that match, leave those of which no other is shown. */
static enum rc hide_alikes(struct hunt *h, const struct revision *rows, size_t n, bool *match,
                           struct err *err)
{
    struct revision *matching = ARENA_ARRAY(&h->batch, struct revision, n + 1);
    bool *shown = ARENA_ARRAY(&h->batch, bool, n + 1);
    size_t n_matching = 0;
    enum rc rc;

    if (h->view.alike == NULL || !order_is_by_date(h->view.order))
        return RC_OK;
    for (size_t i = 0; i < n; i++)
        if (match[i])
            matching[n_matching++] = rows[i];
    rc = alikes_pick(&h->alikes, matching, n_matching, shown, err);
    for (size_t i = 0, k = 0; i < n && rc == RC_OK; i++)
        if (match[i])
            match[i] = shown[k++];
    return rc;
}

/* Rows that were judged: each matches, or is told to have left, or deleted, or is not told. */
struct batch {
    struct revision *rows;
    size_t n;
    bool *match, *left;
};

static enum rc judge_batch(struct hunt *h, const int64_t *seqs, size_t n, struct batch *b,
                           struct err *err)
{
    enum rc rc = h->db->reads->revisions_by_seq(h->db, seqs, n, !is_log(&h->view), &h->batch,
                                                &b->rows, &b->n, err);

    b->match = ARENA_ARRAY(&h->batch, bool, n + 1);
    b->left = ARENA_ARRAY(&h->batch, bool, n + 1);
    if (rc == RC_OK)
        rc = judge(h, b->rows, b->n, b->match, err);
    return rc == RC_OK ? find_left(h, b->rows, b->n, b->match, b->left, err) : rc;
}

/* Is the row, which has an entry, told without it? */
static bool has_left(const struct batch *b, size_t i)
{
    return b->left[i] && revision_has_entry(&b->rows[i]);
}

static enum rc take_batch(struct hunt *h, const int64_t *seqs, size_t n, struct err *err)
{
    struct batch b = {.n = 0};
    enum rc rc = judge_batch(h, seqs, n, &b, err);

    if (rc == RC_OK)
        rc = hide_alikes(h, b.rows, b.n, b.match, err);
    for (size_t i = 0; i < b.n && rc == RC_OK && !h->is_done; i++) {
        h->is_done = is_last(h, &b.rows[i]);
        h->looked_to = b.rows[i].seq;
        if (b.match[i] || b.left[i])
            show(h, &b.rows[i], has_left(&b, i));
    }
    h->n_looked += n;
    h->is_cut |= h->is_done || (h->look_max > 0 && h->n_looked >= h->look_max);
    h->is_done |= h->is_cut;
    arena_release(&h->batch);
    return rc;
}

/* Judge these revisions, which are in the order of the view, until there are enough. */
static enum rc take(struct hunt *h, const int64_t *seqs, size_t n, struct err *err)
{
    size_t batch = 8;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK && !h->is_done; i += batch) {
        batch = i > 0 && 2 * batch <= BATCH_MAX ? 2 * batch : batch;
        rc = take_batch(h, seqs + i, n - i < batch ? n - i : batch, err);
    }
    return rc;
}

/* ---- by the keys of the view ----------------------------------------------------------------- */

/* The first `max` keys of the view in its order. */
static enum rc first_keys(struct hunt *h, size_t max, int64_t *seqs, size_t *n, struct err *err)
{
    const struct view *v = &h->view;
    struct merge_range range = {
        .after_seq = v->after_seq, .before_seq = v->before_seq, .len = max, .keeps_doubles = true};
    int64_t *iris;

    if (!order_is_by_date(v->order))
        return h->db->reads->view_keys(h->db, v, max, &h->batch, seqs, n, err);
    if (v->order == VIEW_NEWEST &&
        directory_merge(h->r->store->dir, v->feed_ids, v->n_feeds, &range, &h->batch, seqs, n))
        return RC_OK;
    iris = ARENA_ARRAY(&h->batch, int64_t, max + 1);
    return h->db->reads->newest_keys(h->db, v, max, &h->batch, seqs, iris, n, err);
}

/* Leave out those that the index rules out, and those that were judged. */
static enum rc thin_out(struct hunt *h, int64_t *seqs, size_t *n, struct err *err)
{
    int64_t *known = ARENA_ARRAY(&h->batch, int64_t, *n + 1);
    bool *meets = ARENA_ARRAY(&h->batch, bool, *n + 1);
    size_t n_new = 0, n_known = 0, kept = 0, k = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < *n; i++)
        if (map_put(&h->judged, key_of(&seqs[i]), h) == NULL)
            seqs[n_new++] = seqs[i];
    for (size_t i = 0; i < n_new && has_terms(h); i++)
        if (seqs[i] <= h->indexed)
            known[n_known++] = seqs[i];
    if (n_known > 0)
        rc = h->db->reads->terms_among(h->db, h->filter->terms, known, n_known, &h->batch, meets,
                                       err);
    for (size_t i = 0; i < n_new && rc == RC_OK; i++)
        if (k == n_known || seqs[i] != known[k] || meets[k++])
            seqs[kept++] = seqs[i];
    *n = kept;
    return rc;
}

static enum rc walk(struct hunt *h, size_t bound, struct err *err)
{
    int64_t *seqs = ARENA_ARRAY(&h->scratch, int64_t, bound + 1);
    size_t n = 0, n_keys;
    enum rc rc = first_keys(h, bound, seqs, &n, err);

    n_keys = n;
    if (rc == RC_OK)
        rc = thin_out(h, seqs, &n, err);
    arena_release(&h->batch);
    if (rc == RC_OK)
        rc = take(h, seqs, n, err);
    h->is_done |= n_keys < bound;
    return rc;
}

/* ---- by candidates --------------------------------------------------------------------------- */

/* The number by which the view is limited and, but for the newest entries, ordered. */
static int64_t place_of(const struct view *v, const struct revision_key *k)
{
    return order_is_by_creation(v->order) ? k->first_seq : k->seq;
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

/* Does the view have this revision? */
static bool has_key(const struct view *v, const struct revision_key *k)
{
    int64_t place = place_of(v, k);

    if (k->seq == 0 || place <= v->after_seq || place >= v->before_seq)
        return false;
    if (!v->all_feeds &&
        bsearch(&k->feed_id, v->feed_ids, v->n_feeds, sizeof k->feed_id, by_number) == NULL)
        return false;
    if (is_log(v))
        return v->with_deleted || k->kind != REV_DELETED;
    return k->seq == k->last_seq && (!k->gone || v->with_deleted);
}

static int newest_first(const void *x, const void *y)
{
    const struct revision_key *a = x, *b = y;

    if (a->sort_at != b->sort_at)
        return a->sort_at > b->sort_at ? -1 : 1;
    return a->seq > b->seq ? -1 : a->seq < b->seq;
}

static int by_first(const void *x, const void *y)
{
    const struct revision_key *a = x, *b = y;

    return a->first_seq < b->first_seq ? -1 : a->first_seq > b->first_seq;
}

static int by_seq(const void *x, const void *y)
{
    const struct revision_key *a = x, *b = y;

    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void sort_keys(const struct view *v, struct revision_key *keys, size_t n)
{
    if (n < 2)
        return;
    qsort(keys, n, sizeof *keys,
          v->order == VIEW_NEWEST          ? newest_first
          : order_is_by_creation(v->order) ? by_first
                                           : by_seq);
    if (v->order != VIEW_LOG_DESC && !order_descends(v->order))
        return;
    for (size_t i = 0; i < n / 2; i++) {
        struct revision_key swap = keys[i];

        keys[i] = keys[n - 1 - i];
        keys[n - 1 - i] = swap;
    }
}

/* Leave out the feeds of the view without revisions after its beginning. False: none is left. */
static bool keep_newer(struct hunt *h, struct view *v)
{
    int64_t *ids;

    if (v->all_feeds)
        return true;
    ids = ARENA_ARRAY(&h->batch, int64_t, v->n_feeds + 1);
    v->n_feeds = directory_newer(h->r->store->dir, v->feed_ids, v->n_feeds, v->after_seq, ids);
    v->feed_ids = ids;
    return v->n_feeds > 0;
}

/* All revisions that may match, as long as there are fewer than `bound`: those of the index, and
 * those of the view's feeds that the index does not know yet. */
static enum rc find_candidates(struct hunt *h, size_t bound, int64_t *seqs, size_t *n,
                               struct err *err)
{
    const struct view *v = &h->view;
    bool by_place = !order_is_by_creation(v->order);
    int64_t after = by_place ? v->after_seq : 0, before = by_place ? v->before_seq : INT64_MAX;
    int64_t known = before <= h->indexed ? before : h->indexed + 1;
    struct view rest = *v;
    size_t n_rest = 0;
    enum rc rc = h->db->reads->terms_find(h->db, h->filter->terms, after, known, bound, &h->batch,
                                          seqs, n, err);

    if (rc != RC_OK || *n == bound)
        return rc;
    rest.order = VIEW_LOG;
    rest.after_seq = after > h->indexed ? after : h->indexed;
    rest.before_seq = before;
    rest.with_deleted = true;
    if (rest.after_seq >= reader_end(h->r) || !keep_newer(h, &rest))
        return RC_OK;
    rc = h->db->reads->view_keys(h->db, &rest, bound - *n, &h->batch, seqs + *n, &n_rest, err);
    *n += n_rest;
    return rc;
}

/* *is_whole: there were fewer candidates than `bound`, and all of them were looked at. */
static enum rc intersect(struct hunt *h, size_t bound, bool *is_whole, struct err *err)
{
    int64_t *seqs = ARENA_ARRAY(&h->scratch, int64_t, bound + 1);
    struct revision_key *keys;
    size_t n, kept = 0;
    enum rc rc = find_candidates(h, bound, seqs, &n, err);

    *is_whole = rc == RC_OK && n < bound;
    if (!*is_whole)
        return rc;
    keys = ARENA_ARRAY(&h->scratch, struct revision_key, n + 1);
    rc = h->db->reads->revision_keys(h->db, seqs, n, keys, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (has_key(&h->view, &keys[i]) && map_get(&h->judged, key_of(&keys[i].seq)) == NULL)
            keys[kept++] = keys[i];
    sort_keys(&h->view, keys, kept);
    for (size_t i = 0; i < kept; i++)
        seqs[i] = keys[i].seq;
    arena_release(&h->batch);
    if (rc == RC_OK)
        rc = take(h, seqs, kept, err);
    h->is_done = true;
    return rc;
}

/* ---- the call -------------------------------------------------------------------------------- */

static enum rc run(struct hunt *h, struct err *err)
{
    struct index_place place;
    enum rc rc = h->db->reads->index_place(h->db, &place, err);

    h->indexed = place.seq;
    alikes_init(&h->alikes, &(struct alike_view){.r = h->r,
                                                 .db = h->db,
                                                 .view = &h->view,
                                                 .indexed = place.seq,
                                                 .has = has_key,
                                                 .judge = judge_for,
                                                 .ctx = h});
    for (size_t bound = BOUND_FIRST; rc == RC_OK && !h->is_done; bound *= BOUND_FACTOR) {
        bool is_whole = false;

        if (has_terms(h))
            rc = intersect(h, bound, &is_whole, err);
        if (rc == RC_OK && !is_whole)
            rc = walk(h, bound, err);
    }
    return rc;
}

/* The last microsecond before a time. */
static int64_t before_time(int64_t at)
{
    int64_t most = INT64_MAX / 1000000;

    return (at > most ? most : at < -most ? -most : at) * 1000000 - 1;
}

/* Bound a view by times of the log as the filter says: there the numbers rise with the time. */
static enum rc bound_by_time(struct hunt *h, struct err *err)
{
    int64_t last = reader_end(h->r) - 1, seq;
    const struct filter *f = h->filter;
    struct view *v = &h->view;
    enum rc rc = RC_OK;

    if (f == NULL || !order_is_by_date(v->order) || v->order == VIEW_NEWEST)
        return RC_OK;
    if (f->after_at > INT64_MIN) {
        rc = h->db->reads->revisions_at(h->db, before_time(f->after_at), last, &seq, err);
        if (rc == RC_OK && seq > v->after_seq)
            v->after_seq = seq;
    }
    if (rc == RC_OK && f->before_at < INT64_MAX) {
        rc = h->db->reads->revisions_at(h->db, before_time(f->before_at), last, &seq, err);
        if (rc == RC_OK && seq < v->before_seq)
            v->before_seq = seq + 1;
    }
    return rc;
}

/* Name the feeds, ascending, and end the view where the log ends. */
static void fix_view(struct hunt *h)
{
    struct view *v = &h->view;
    int64_t end = reader_end(h->r), *ids;

    if (v->order != VIEW_NEWEST) /* which has no numbers */
        v->before_seq = v->before_seq < end ? v->before_seq : end;
    if (order_is_by_date(v->order))
        v->with_deleted = false;
    if (order_is_by_date(v->order) && v->all_feeds) {
        v->n_feeds = directory_ids(h->r->store->dir, &h->scratch, &ids);
        v->feed_ids = ids;
        v->all_feeds = false;
    }
    if (v->all_feeds)
        return;
    ids = ARENA_ARRAY(&h->scratch, int64_t, v->n_feeds + 1);
    for (size_t i = 0; i < v->n_feeds; i++)
        ids[i] = v->feed_ids[i];
    v->n_feeds = view_ids_sort(ids, v->n_feeds);
    v->feed_ids = ids;
}

static void release(struct hunt *h)
{
    alikes_release(&h->alikes);
    map_release(&h->shown, NULL);
    map_release(&h->feeds, NULL);
    map_release(&h->judged, NULL);
    arena_release(&h->batch);
    arena_release(&h->scratch);
}

enum rc filtered_rows(struct reader *r, const struct view *v, struct arena *a,
                      struct revision **out, size_t *n_out, struct err *err)
{
    struct hunt h = {
        .r = r, .db = r->db, .view = *v, .filter = v->filter, .arena = a, .is_done = v->len == 0};
    enum rc rc;

    fix_view(&h);
    rc = bound_by_time(&h, err);
    if (rc == RC_OK)
        rc = run(&h, err);
    *out = h.rows;
    *n_out = h.n;
    release(&h);
    return rc;
}

enum rc filtered_seqs(struct reader *r, const struct view *v, struct arena *a, int64_t **out,
                      size_t *n_out, int64_t *looked_to, struct err *err)
{
    struct hunt h = {.r = r,
                     .db = r->db,
                     .view = *v,
                     .filter = v->filter,
                     .has_no_texts = true,
                     .look_max = LOOK_MAX,
                     .looked_to = v->after_seq,
                     .is_done = v->len == 0};
    enum rc rc;

    h.arena = &h.scratch;
    fix_view(&h);
    rc = run(&h, err);
    *out = ARENA_ARRAY(a, int64_t, h.n + 1);
    for (size_t i = 0; i < h.n; i++)
        (*out)[i] = h.rows[i].seq;
    *n_out = h.n;
    *looked_to = h.is_cut ? h.looked_to : v->before_seq - 1;
    release(&h);
    return rc;
}

/* ---- revisions that are known ---------------------------------------------------------------- */

/* The kinds of these, of which all that are told come in the order of `seqs`. */
static enum rc kinds_of_batch(struct hunt *h, const int64_t *seqs, size_t n, int *kinds,
                              struct err *err)
{
    struct batch b = {.n = 0};
    enum rc rc = judge_batch(h, seqs, n, &b, err);

    for (size_t i = 0, k = 0; i < n && rc == RC_OK; i++) {
        if (k == b.n || b.rows[k].seq != seqs[i])
            continue; /* it is gone */
        if (b.match[k] || b.left[k])
            kinds[i] = has_left(&b, k) ? REV_LEFT : (int)b.rows[k].kind;
        k++;
    }
    arena_release(&h->batch);
    return rc;
}

/* The candidates among them, and where each stands in `seqs`. */
static enum rc find_candidates_of(struct hunt *h, const int64_t *seqs, size_t n, int64_t *out,
                                  size_t *places, size_t *n_out, struct err *err)
{
    struct index_place place;
    enum rc rc = h->db->reads->index_place(h->db, &place, err);

    h->indexed = place.seq;
    memcpy(out, seqs, n * sizeof *out);
    *n_out = n;
    if (rc == RC_OK)
        rc = thin_out(h, out, n_out, err);
    arena_release(&h->batch);
    for (size_t i = 0, k = 0; k < *n_out && rc == RC_OK; i++)
        if (seqs[i] == out[k])
            places[k++] = i;
    return rc;
}

enum rc filtered_kinds(struct reader *r, const struct filter *f, const int64_t *seqs, size_t n,
                       int *kinds, struct err *err)
{
    struct hunt h = {
        .r = r, .db = r->db, .view = {.order = VIEW_LOG, .with_deleted = true}, .filter = f};
    size_t *places, n_some = 0;
    int64_t *some;
    enum rc rc;

    if (n == 0)
        return RC_OK;
    some = ARENA_ARRAY(&h.scratch, int64_t, n + 1);
    places = ARENA_ARRAY(&h.scratch, size_t, n + 1);
    for (size_t i = 0; i < n; i++)
        kinds[i] = FILTERED_UNTOLD;
    rc = find_candidates_of(&h, seqs, n, some, places, &n_some, err);
    for (size_t i = 0; i < n_some && rc == RC_OK; i += BATCH_MAX) {
        size_t m = n_some - i < BATCH_MAX ? n_some - i : BATCH_MAX;
        int told[BATCH_MAX];

        for (size_t k = 0; k < m; k++)
            told[k] = FILTERED_UNTOLD;
        rc = kinds_of_batch(&h, some + i, m, told, err);
        for (size_t k = 0; k < m; k++)
            kinds[places[i + k]] = told[k];
    }
    release(&h);
    return rc;
}
