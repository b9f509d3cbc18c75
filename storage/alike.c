/* storage/alike.c - see alike.h.
 *
 * The index of words has a term for each link and each title. It gives all revisions that may have
 * a key; those that the view has are looked at in the order in which they were first seen, up to
 * the first one that has the key and matches. Revisions that the index does not know yet are read
 * once, and kept by their keys. */
#include "storage/alike.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/likeness.h"
#include "storage/store_priv.h"

#define FOUND_FIRST 256 /* candidates of several keys together; more: each half by itself */
#define FOUND_FACTOR 4
#define BATCH 64        /* rows that are read together */
#define LATE_BATCH 1024 /* keys of revisions that the index does not know */

/* The entries that have a key. */
struct like_set {
    struct str term;
    int64_t first_seq; /* of the one that is shown, as far as it is known */
};

/* Revisions that have a key and are not in the index. */
struct late_key {
    int64_t seq;
    struct late_key *next;
};

/* Keys that are looked up together, and what may have them. */
struct like_search {
    struct alikes *x;
    struct arena arena;
    struct like_set **sets;
    struct str *texts;
    size_t n_sets;
    int64_t *seqs; /* candidates */
    size_t n_seqs, cap;
    struct map known; /* seqs of the rows for which it is done, and of candidates */
};

static struct str name_of(const int64_t *seq)
{
    return str_of((const char *)seq, sizeof *seq);
}

void alikes_init(struct alikes *x, const struct alike_view *of)
{
    *x = (struct alikes){.of = *of};
}

void alikes_release(struct alikes *x)
{
    map_release(&x->keys, NULL);
    map_release(&x->late, NULL);
    arena_release(&x->arena);
}

static bool read_key(struct alikes *x, struct arena *a, const struct revision *row,
                     struct like_key *out)
{
    return revision_has_entry(row) && x->of.view->alike->key(a, row, out);
}

/* ---- what the index does not know ------------------------------------------------------------ */

static void keep_late(struct alikes *x, const struct revision *row, struct arena *scratch)
{
    struct late_key *late, *first;
    struct like_key key;

    if (!read_key(x, scratch, row, &key))
        return;
    late = ARENA_NEW(&x->arena, struct late_key);
    late->seq = row->seq;
    first = map_get(&x->late, key.text);
    late->next = first == NULL ? NULL : first->next;
    if (first == NULL)
        map_put(&x->late, key.text, late);
    else
        first->next = late;
}

/* Leave in `seqs` those that the view has. */
static enum rc keep_shown(struct alikes *x, int64_t *seqs, size_t *n, struct revision_key *keys,
                          struct err *err)
{
    enum rc rc = x->of.db->reads->revision_keys(x->of.db, seqs, *n, keys, err);
    size_t kept = 0;

    for (size_t i = 0; i < *n && rc == RC_OK; i++)
        if (x->of.has(x->of.view, &keys[i])) {
            seqs[kept] = seqs[i];
            keys[kept++] = keys[i];
        }
    if (rc == RC_OK)
        *n = kept;
    return rc;
}

static enum rc keep_rows(struct alikes *x, const int64_t *seqs, size_t n, struct arena *scratch,
                         struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i += BATCH) {
        struct arena_mark mark = arena_mark(scratch);
        struct revision *rows;
        size_t n_rows = 0;

        rc = x->of.db->reads->revisions_by_seq(x->of.db, seqs + i, n - i < BATCH ? n - i : BATCH,
                                               true, scratch, &rows, &n_rows, err);
        for (size_t k = 0; k < n_rows && rc == RC_OK; k++)
            keep_late(x, &rows[k], scratch);
        arena_rewind(scratch, mark);
    }
    return rc;
}

/* The part of the view's log that the index does not know. False: there is none. */
static bool late_view(struct alikes *x, struct arena *a, struct view *out)
{
    int64_t end = reader_end(x->of.r), *ids;

    *out = *x->of.view;
    out->order = VIEW_LOG;
    out->with_deleted = false;
    out->after_seq = x->late_to > x->of.indexed ? x->late_to : x->of.indexed;
    out->before_seq = end;
    if (out->after_seq + 1 >= end)
        return false;
    ids = ARENA_ARRAY(a, int64_t, out->n_feeds + 1);
    out->n_feeds =
        directory_newer(x->of.r->store->dir, out->feed_ids, out->n_feeds, out->after_seq, ids);
    out->feed_ids = ids;
    return out->n_feeds > 0;
}

/* Read some of what the index does not know. */
static enum rc read_some(struct alikes *x, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t *seqs = ARENA_ARRAY(&a, int64_t, LATE_BATCH + 1), last;
    struct revision_key *keys = ARENA_ARRAY(&a, struct revision_key, LATE_BATCH + 1);
    struct view v;
    size_t n = 0, n_read;
    enum rc rc = RC_OK;

    if (late_view(x, &a, &v))
        rc = x->of.db->reads->view_keys(x->of.db, &v, LATE_BATCH, &a, seqs, &n, err);
    n_read = n;
    last = n > 0 ? seqs[n - 1] : 0;
    if (rc == RC_OK && n > 0)
        rc = keep_shown(x, seqs, &n, keys, err);
    if (rc == RC_OK && n > 0)
        rc = keep_rows(x, seqs, n, &a, err);
    x->late_to = last;
    x->has_late = n_read < LATE_BATCH;
    return rc;
}

/* Read what the index does not know, once. */
static enum rc read_late(struct alikes *x, struct err *err)
{
    enum rc rc = RC_OK;

    while (!x->has_late && rc == RC_OK) {
        rc = read_some(x, err);
        if (rc == RC_OK && !x->has_late && x->of.in_steps)
            rc = err_set(err, RC_TIMEOUT, "what is alike is still being read");
    }
    return rc;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static void add_candidate(struct like_search *s, int64_t seq)
{
    if (map_put(&s->known, name_of(&seq), s) != NULL)
        return;
    s->seqs = mem_grow(s->seqs, &s->cap, s->n_seqs + 1, sizeof *s->seqs);
    s->seqs[s->n_seqs++] = seq;
}

/* Ask the index for one of the terms of these keys. */
static enum rc find_terms(struct like_search *s, size_t from, size_t n, size_t max, int64_t *seqs,
                          size_t *n_found, struct err *err)
{
    struct term_query *leaves = ARENA_ARRAY(&s->arena, struct term_query, n);
    const struct term_query **parts = ARENA_ARRAY(&s->arena, const struct term_query *, n);
    struct term_query any = {.op = TERM_OR, .parts = parts, .n = n};
    struct db *db = s->x->of.db;

    for (size_t i = 0; i < n; i++) {
        leaves[i] = (struct term_query){.op = TERM_ONE, .term = s->sets[from + i]->term};
        parts[i] = &leaves[i];
    }
    return db->reads->terms_find(db, &any, 0, s->x->of.indexed + 1, max, &s->arena, seqs, n_found,
                                 err);
}

/* Candidates of the index. Where a key has very many, the others are looked up without it. */
static enum rc find_known(struct like_search *s, size_t from, size_t n, size_t max, struct err *err)
{
    struct arena_mark mark = arena_mark(&s->arena);
    int64_t *seqs = ARENA_ARRAY(&s->arena, int64_t, max + 1);
    size_t n_found = 0;
    enum rc rc = find_terms(s, from, n, max, seqs, &n_found, err);
    bool is_whole = n_found < max;

    for (size_t i = 0; i < n_found && rc == RC_OK && is_whole; i++)
        add_candidate(s, seqs[i]);
    arena_rewind(&s->arena, mark);
    if (rc != RC_OK || is_whole)
        return rc;
    if (n == 1)
        return find_known(s, from, n, max * FOUND_FACTOR, err);
    rc = find_known(s, from, n / 2, max, err);
    return rc == RC_OK ? find_known(s, from + n / 2, n - n / 2, max, err) : rc;
}

static enum rc find_candidates(struct like_search *s, struct err *err)
{

    for (size_t i = 0; i < s->n_sets; i++)
        for (const struct late_key *l = map_get(&s->x->late, s->texts[i]); l != NULL; l = l->next)
            add_candidate(s, l->seq);
    if (s->x->of.indexed == 0)
        return RC_OK;
    return find_known(s, 0, s->n_sets, FOUND_FIRST, err);
}

/* ---- the first one --------------------------------------------------------------------------- */

static int by_first(const void *x, const void *y)
{
    const struct revision_key *a = x, *b = y;

    return a->first_seq < b->first_seq ? -1 : a->first_seq > b->first_seq;
}

/* The seq at or after which no entry can be the first one of any key. */
static int64_t bound_of(const struct like_search *s)
{
    int64_t bound = 0;

    for (size_t i = 0; i < s->n_sets; i++)
        bound = s->sets[i]->first_seq > bound ? s->sets[i]->first_seq : bound;
    return bound;
}

/* The key of a row, if the row would be the first one that has it; else NULL. */
static struct like_set *led_by(struct like_search *s, const struct revision *row)
{
    struct like_set *set = NULL;
    struct like_key key;

    if (read_key(s->x, &s->arena, row, &key))
        set = map_get(&s->x->keys, key.text);
    return set != NULL && row->first_seq < set->first_seq ? set : NULL;
}

static enum rc look_at(struct like_search *s, const int64_t *seqs, size_t n, struct err *err)
{
    struct alike_view *of = &s->x->of;
    bool match[BATCH];
    struct like_set *sets[BATCH];
    struct revision *rows;
    size_t n_rows, kept = 0;
    enum rc rc =
        of->db->reads->revisions_by_seq(of->db, seqs, n, true, &s->arena, &rows, &n_rows, err);

    for (size_t i = 0; i < n_rows && rc == RC_OK; i++) {
        sets[kept] = led_by(s, &rows[i]);
        if (sets[kept] != NULL)
            rows[kept++] = rows[i];
    }
    if (rc == RC_OK)
        rc = of->judge(of->ctx, rows, kept, match, err);
    for (size_t i = 0; i < kept && rc == RC_OK; i++)
        if (match[i] && rows[i].first_seq < sets[i]->first_seq)
            sets[i]->first_seq = rows[i].first_seq;
    return rc;
}

/* Leave out those whose dates the filter does not want: each of the others costs a look. */
static size_t keep_dated(const struct view *v, struct revision_key *keys, size_t n)
{
    size_t kept = 0;

    if (v->order != VIEW_NEWEST || v->filter == NULL)
        return n;
    for (size_t i = 0; i < n; i++)
        if (keys[i].sort_at >= v->filter->after_at && keys[i].sort_at < v->filter->before_at)
            keys[kept++] = keys[i];
    return kept;
}

/* Look at the candidates, from the one that was first seen on, as long as one may still be the
 * first of a key. */
static enum rc find_firsts(struct like_search *s, struct err *err)
{
    struct revision_key *keys = mem_alloc((s->n_seqs + 1) * sizeof *keys);
    size_t n = s->n_seqs, batch;
    enum rc rc = keep_shown(s->x, s->seqs, &n, keys, err);

    if (rc == RC_OK)
        n = keep_dated(s->x->of.view, keys, n);
    if (rc == RC_OK && n > 1)
        qsort(keys, n, sizeof *keys, by_first);
    for (size_t i = 0; i < n && rc == RC_OK && keys[i].first_seq < bound_of(s); i += batch) {
        struct arena_mark mark = arena_mark(&s->arena);
        int64_t seqs[BATCH];

        for (batch = 0; batch < BATCH && i + batch < n; batch++)
            seqs[batch] = keys[i + batch].seq;
        rc = look_at(s, seqs, batch, err);
        arena_rewind(&s->arena, mark);
    }
    mem_free(keys);
    return rc;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The key of a row. It is looked up if it is new. NULL: the row is like no other. */
static struct like_set *set_of(struct like_search *s, const struct revision *row)
{
    struct alikes *x = s->x;
    struct like_set *set;
    struct like_key key;

    if (!read_key(x, &s->arena, row, &key))
        return NULL;
    set = map_get(&x->keys, key.text);
    if (set != NULL)
        return set;
    set = ARENA_NEW(&x->arena, struct like_set);
    set->term = str_dup(&x->arena, key.term);
    set->first_seq = INT64_MAX;
    map_put(&x->keys, key.text, set);
    s->texts[s->n_sets] = key.text;
    s->sets[s->n_sets++] = set;
    return set;
}

enum rc alikes_pick(struct alikes *x, const struct revision *rows, size_t n, bool *out,
                    struct err *err)
{
    struct like_search s = {.x = x};
    struct like_set **sets;
    enum rc rc = n > 0 ? read_late(x, err) : RC_OK;

    if (rc != RC_OK)
        return rc;
    sets = ARENA_ARRAY(&s.arena, struct like_set *, n + 1);
    s.sets = ARENA_ARRAY(&s.arena, struct like_set *, n + 1);
    s.texts = ARENA_ARRAY(&s.arena, struct str, n + 1);
    for (size_t i = 0; i < n; i++) {
        sets[i] = set_of(&s, &rows[i]);
        map_put(&s.known, name_of(&rows[i].seq), &s);
    }
    for (size_t i = 0; i < s.n_sets; i++)
        for (size_t k = 0; k < n; k++)
            if (sets[k] == s.sets[i] && rows[k].first_seq < sets[k]->first_seq)
                sets[k]->first_seq = rows[k].first_seq;
    if (s.n_sets > 0)
        rc = find_candidates(&s, err);
    if (rc == RC_OK && s.n_seqs > 0)
        rc = find_firsts(&s, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        out[i] = sets[i] == NULL || sets[i]->first_seq == rows[i].first_seq;
    map_release(&s.known, NULL);
    mem_free(s.seqs);
    arena_release(&s.arena);
    return rc;
}
