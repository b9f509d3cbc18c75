/* storage/hunt_lists.c - see hunt.h.
 *
 * There are two lists to begin with: the candidates that the index gives, and the keys of the view
 * in its order. Which is shorter is not known before. So both are read to a bound that grows: when
 * the list of candidates ends before the bound, those that belong to the view are put into its
 * order, and judged; else the keys of the view up to the bound are, those of them that the index
 * does not rule out. No more is read than a small multiple of the shorter list. */
#include "storage/hunt.h"

#include <stdlib.h>

#include "storage/newest.h"
#include "storage/store_priv.h"

#define BOUND_FIRST 256 /* of both lists */
#define BOUND_FACTOR 4

/* Can the index narrow it down? */
static bool has_terms(const struct hunt *h)
{
    return h->filter != NULL && h->filter->terms != NULL;
}

/* Make room for `more` further seqs that have been in a list. */
static void make_room(struct hunt *h, size_t more)
{
    struct iri_set was = h->judged;

    iri_set_init(&h->judged, &h->scratch, was.n + more + 1);
    for (size_t i = 0; i < was.cap; i++)
        if (was.slots[i] != 0)
            (void)iri_set_add(&h->judged, was.slots[i]);
}

/* ---- by the keys of the view ----------------------------------------------------------------- */

/* The first `max` keys of the view in its order. */
static enum rc first_keys(struct hunt *h, size_t max, int64_t *seqs, size_t *n, struct err *err)
{
    const struct view *v = &h->view;
    struct merge_range range = {.after_seq = v->after_seq,
                                .before_seq = v->before_seq,
                                .len = max,
                                .keeps_doubles = true,
                                .has_end = true,
                                .before_at = filter_before_at(v->filter)};
    bool found = false;
    enum rc rc = RC_OK;
    int64_t *iris;

    if (!order_is_by_date(v->order))
        return h->db->reads->view_keys(h->db, v, max, &h->batch, seqs, n, err);
    if (v->order == VIEW_NEWEST)
        rc = newest_in_memory(h->r, v->feed_ids, v->n_feeds, &range, NEWEST_READ_MOST, &h->batch,
                              seqs, n, &found, err);
    if (rc != RC_OK || found)
        return rc;
    iris = ARENA_ARRAY(&h->batch, int64_t, max + 1);
    return h->db->reads->newest_keys(h->db, v, max, &h->batch, seqs, iris, n, err);
}

enum rc hunt_thin_out(struct hunt *h, int64_t *seqs, size_t *n, struct err *err)
{
    int64_t *known = ARENA_ARRAY(&h->batch, int64_t, *n + 1);
    bool *meets = ARENA_ARRAY(&h->batch, bool, *n + 1);
    size_t n_new = 0, n_known = 0, kept = 0, k = 0;
    enum rc rc = RC_OK;

    make_room(h, *n);
    for (size_t i = 0; i < *n; i++)
        if (iri_set_add(&h->judged, seqs[i]))
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

static enum rc walk(struct hunt *h, struct err *err)
{
    size_t n = 0;
    enum rc rc = first_keys(h, h->bound, h->list, &n, err);

    h->is_last_list = n < h->bound;
    if (rc == RC_OK)
        rc = hunt_thin_out(h, h->list, &n, err);
    h->n_list = n;
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
bool hunt_has_key(const struct view *v, const struct revision_key *k)
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

/* All revisions that may match, as long as there are fewer than the bound: those of the index, and
 * those of the view's feeds that the index does not know yet. */
static enum rc find_candidates(struct hunt *h, int64_t *seqs, size_t *n, struct err *err)
{
    size_t bound = h->bound;
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

/* *is_whole: there are fewer candidates than the bound, and the list has all of them. */
static enum rc intersect(struct hunt *h, bool *is_whole, struct err *err)
{
    struct revision_key *keys;
    size_t n, kept = 0;
    enum rc rc = find_candidates(h, h->list, &n, err);

    *is_whole = rc == RC_OK && n < h->bound;
    if (!*is_whole)
        return rc;
    keys = ARENA_ARRAY(&h->batch, struct revision_key, n + 1);
    rc = h->db->reads->revision_keys(h->db, h->list, n, keys, err);
    make_room(h, n);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (hunt_has_key(&h->view, &keys[i]) && iri_set_add(&h->judged, keys[i].seq))
            keys[kept++] = keys[i];
    sort_keys(&h->view, keys, kept);
    for (size_t i = 0; i < kept; i++)
        h->list[i] = keys[i].seq;
    h->n_list = kept;
    h->is_last_list = true;
    return rc;
}

enum rc hunt_next_list(struct hunt *h, struct err *err)
{
    bool is_whole = false;
    enum rc rc = RC_OK;

    h->bound = h->bound == 0 ? BOUND_FIRST : h->bound * BOUND_FACTOR;
    h->list = ARENA_ARRAY(&h->scratch, int64_t, h->bound + 1);
    h->n_list = h->at = 0;
    if (has_terms(h))
        rc = intersect(h, &is_whole, err);
    if (rc == RC_OK && !is_whole)
        rc = walk(h, err);
    arena_release(&h->batch);
    return rc;
}
