/* storage/filtered.c - see filtered.h. The lists of hunt_lists.c are judged, a batch at a time,
 * until there are enough rows. A hunt can be done in steps: what it has found, and what it has
 * looked at, stays; only the snapshot is another one in the next step. What came in between is
 * shown or not. */
#include "storage/filtered.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/hunt.h"
#include "storage/iri.h"
#include "storage/store_priv.h"

#define BATCH_FIRST 8 /* rows that are read and judged together */
#define BATCH_MAX 64
#define CHAIN_MAX 64    /* earlier revisions of an entry that are judged */
#define COUNT_STEP 1024 /* rows that filtered_seqs() judges: some 50 ms */

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

/* The feeds of these rows with their heads: out[n]. A head is that of the time of the row, so that
 * what a log has once told stays so, and all views say the same of a row. */
static enum rc find_heads(struct hunt *h, const struct revision *rows, size_t n, struct feed *out,
                          struct err *err)
{
    int64_t *seqs = ARENA_ARRAY(&h->batch, int64_t, n + 1);
    enum rc rc = load_feeds(h, rows, n, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        out[i] = *(const struct feed *)map_get(&h->feeds, key_of(&rows[i].feed_id));
        seqs[i] = rows[i].seq;
    }
    return rc == RC_OK && n > 0 ? h->db->reads->head_log_at(h->db, out, seqs, n, &h->batch, err)
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
                out[i] = true; /* it is gone, and may have matched */
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
    h->is_full |= h->n == h->view.len;
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
    for (size_t i = 0; i < b.n && rc == RC_OK && !h->is_full; i++) {
        h->is_full = is_last(h, &b.rows[i]);
        h->looked_to = b.rows[i].seq;
        if (b.match[i] || b.left[i])
            show(h, &b.rows[i], has_left(&b, i));
    }
    h->n_looked += n;
    arena_release(&h->batch);
    return rc;
}

/* Judge a batch of the list, a larger one each time. */
static enum rc take_some(struct hunt *h, struct err *err)
{
    size_t left = h->n_list - h->at, n;
    enum rc rc;

    if (h->at == 0)
        h->batch_len = BATCH_FIRST;
    n = left < h->batch_len ? left : h->batch_len;
    rc = take_batch(h, h->list + h->at, n, err);
    if (rc != RC_OK)
        return rc;
    h->at += n;
    if (2 * h->batch_len <= BATCH_MAX)
        h->batch_len *= 2;
    return RC_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

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

static void begin_alikes(struct hunt *h)
{
    alikes_init(&h->alikes, &(struct alike_view){.r = h->r,
                                                 .db = h->db,
                                                 .view = &h->view,
                                                 .indexed = h->indexed,
                                                 .in_steps = h->step > 0,
                                                 .has = hunt_has_key,
                                                 .judge = judge_for,
                                                 .ctx = h});
}

/* `view`, `filter`, `arena` and the limits are set. */
static enum rc begin(struct hunt *h, struct reader *r, struct err *err)
{
    struct index_place place;
    enum rc rc;

    h->r = r;
    h->db = r->db;
    h->looked_to = h->view.after_seq;
    h->is_full = h->view.len == 0;
    fix_view(h);
    rc = bound_by_time(h, err);
    if (rc == RC_OK)
        rc = h->db->reads->index_place(h->db, &place, err);
    h->indexed = rc == RC_OK ? place.seq : 0;
    begin_alikes(h);
    return rc;
}

/* The next step, perhaps with another reader. Its index may know less: that of a copy, or one that
 * is filled anew. If it knows more, that does not matter. */
static enum rc go_on(struct hunt *h, struct reader *r, struct err *err)
{
    struct index_place place;
    enum rc rc;

    h->r = h->alikes.of.r = r;
    h->db = h->alikes.of.db = r->db;
    h->n_looked = 0;
    rc = h->db->reads->index_place(h->db, &place, err);
    if (rc != RC_OK || place.seq >= h->indexed)
        return rc;
    h->indexed = place.seq;
    alikes_release(&h->alikes);
    begin_alikes(h);
    return RC_OK;
}

/* Judge until there are enough, or for one step. RC_TIMEOUT: there may be more. */
static enum rc run(struct hunt *h, struct err *err)
{
    enum rc rc = RC_OK;

    while (rc == RC_OK && !h->is_full && !h->is_whole) {
        if (h->at < h->n_list && h->step > 0 && h->n_looked >= h->step)
            return err_set(err, RC_TIMEOUT, "the entries are still being judged");
        if (h->at < h->n_list)
            rc = take_some(h, err);
        else if (h->is_last_list)
            h->is_whole = true;
        else
            rc = hunt_next_list(h, err);
    }
    return rc;
}

static void release(struct hunt *h)
{
    alikes_release(&h->alikes);
    map_release(&h->shown, NULL);
    map_release(&h->feeds, NULL);
    arena_release(&h->batch);
    arena_release(&h->scratch);
}

/* ---- in steps -------------------------------------------------------------------------------- */

/* A hunt of somebody who may ask for other views meanwhile, and asks for the same one again. */
struct kept_hunt {
    struct view asked;
    struct hunt hunt;
    struct arena found;
    struct kept_hunt *next;
};

struct hunts {
    size_t step;
    struct kept_hunt *first;
};

struct hunts *hunts_new(size_t step)
{
    struct hunts *all = NEW(struct hunts);

    all->step = step;
    return all;
}

static void drop_first(struct hunts *all)
{
    struct kept_hunt *k = all->first;

    all->first = k->next;
    release(&k->hunt);
    arena_release(&k->found);
    mem_free(k);
}

void hunts_free(struct hunts **hp)
{
    if (*hp == NULL)
        return;
    while ((*hp)->first != NULL)
        drop_first(*hp);
    mem_free(*hp);
    *hp = NULL;
}

bool hunts_are_cut(const struct hunts *h)
{
    for (const struct kept_hunt *k = h->first; k != NULL; k = k->next)
        if (!k->hunt.is_full && !k->hunt.is_whole)
            return true;
    return false;
}

void reader_by_steps(struct reader *r, struct hunts *hunts)
{
    r->hunts = hunts;
}

/* All that rows depend on. */
static bool is_same(const struct view *x, const struct view *y)
{
    return x->feed_ids == y->feed_ids && x->n_feeds == y->n_feeds && x->all_feeds == y->all_feeds &&
           x->order == y->order && x->after_seq == y->after_seq && x->before_seq == y->before_seq &&
           x->len == y->len && x->skip == y->skip && x->with_deleted == y->with_deleted &&
           x->filter == y->filter && x->alike == y->alike && x->with_doubles == y->with_doubles;
}

static struct hunt *add_hunt(struct hunts *all, const struct view *v)
{
    struct kept_hunt *k = NEW(struct kept_hunt);

    k->asked = *v;
    k->hunt = (struct hunt){.view = *v, .filter = v->filter, .arena = &k->found, .step = all->step};
    k->next = all->first;
    all->first = k;
    return &k->hunt;
}

/* After an error it is not known how far a hunt has come, so all begin anew. */
static enum rc step(struct hunts *all, struct reader *r, const struct view *v, struct hunt **out,
                    struct err *err)
{
    struct kept_hunt *k = all->first;
    enum rc rc;

    while (k != NULL && !is_same(&k->asked, v))
        k = k->next;
    *out = k != NULL ? &k->hunt : add_hunt(all, v);
    rc = k != NULL ? go_on(*out, r, err) : begin(*out, r, err);
    if (rc == RC_OK)
        rc = run(*out, err);
    if (rc == RC_OK || rc == RC_TIMEOUT)
        return rc;
    while (all->first != NULL)
        drop_first(all);
    *out = NULL;
    return rc;
}

/* ---- the calls ------------------------------------------------------------------------------- */

enum rc filtered_rows(struct reader *r, const struct view *v, struct arena *a,
                      struct revision **out, size_t *n_out, struct err *err)
{
    struct hunt whole = {.view = *v, .filter = v->filter, .arena = a}, *h = &whole;
    enum rc rc;

    if (r->hunts != NULL)
        rc = step(r->hunts, r, v, &h, err);
    else if ((rc = begin(h, r, err)) == RC_OK)
        rc = run(h, err);
    if (rc == RC_OK) {
        *out = h->rows;
        *n_out = h->n;
    }
    release(&whole);
    return rc;
}

enum rc filtered_seqs(struct reader *r, const struct view *v, struct arena *a, int64_t **out,
                      size_t *n_out, int64_t *looked_to, struct err *err)
{
    struct hunt h = {.view = *v, .filter = v->filter, .has_no_texts = true, .step = COUNT_STEP};
    enum rc rc;

    h.arena = &h.scratch;
    rc = begin(&h, r, err);
    if (rc == RC_OK)
        rc = run(&h, err);
    if (rc == RC_TIMEOUT)
        rc = RC_OK; /* as much as was wanted */
    *out = ARENA_ARRAY(a, int64_t, h.n + 1);
    for (size_t i = 0; i < h.n; i++)
        (*out)[i] = h.rows[i].seq;
    *n_out = h.n;
    *looked_to = h.is_whole ? v->before_seq - 1 : h.looked_to;
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
        rc = hunt_thin_out(h, out, n_out, err);
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
