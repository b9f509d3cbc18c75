/* storage/pushes_filtered.c - see pushes_filtered.h. */
#include "storage/pushes_filtered.h"

#include <string.h>

#include "base/stats.h"
#include "storage/filtered.h"
#include "storage/store_priv.h"
#include "storage/verdicts.h"

#define CHUNK_FIRST 16 /* revisions that are looked at together; then more */
#define CHUNK_FACTOR 4
#define CHUNK_MAX 256
#define LOOK_MAX 2048 /* revisions that are judged in one call, or in one held snapshot */
#define LOOK_MIN 64
#define BATCH_LOOK_MAX 512 /* of one batch: always so many, so that a delivery stays the same */

enum rc push_filter(struct reader *r, const struct subscription *sub, struct arena *a,
                    const struct filter **out, struct err *err)
{
    *out = NULL;
    if (str_is_null(sub->filter))
        return RC_OK;
    if (r->store->read_filter != NULL)
        *out = r->store->read_filter(a, sub->filter);
    return *out != NULL ? RC_OK
                        : err_set(err, RC_UNSUPPORTED, "the subscription's filter cannot be read");
}

bool reader_has_judged_enough(const struct reader *r)
{
    return r->is_held && r->n_judged >= LOOK_MAX;
}

size_t sift_look_max(const struct reader *r)
{
    size_t used = r->is_held ? r->n_judged : 0;

    return used + LOOK_MIN < LOOK_MAX ? LOOK_MAX - used : LOOK_MIN;
}

/* Revisions of these kinds may be told as what is wanted. */
static unsigned candidates_of(unsigned events)
{
    return events | ((events & SUB_LEFT) != 0 ? SUB_NEW | SUB_CHANGED : 0);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Judge those of which nothing is known. */
static enum rc judge_unknown(struct reader *r, const struct filter *f, const int64_t *seqs,
                             size_t n, int *kinds, struct arena *scratch, size_t *n_judged,
                             struct err *err)
{
    int64_t *some = ARENA_ARRAY(scratch, int64_t, n + 1);
    int *found = ARENA_ARRAY(scratch, int, n + 1);
    size_t n_some = 0, k = 0;
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        if (kinds[i] == VERDICT_UNKNOWN)
            some[n_some++] = seqs[i];
    if (n_some == 0)
        return RC_OK;
    rc = filtered_kinds(r, f, some, n_some, found, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (kinds[i] == VERDICT_UNKNOWN)
            kinds[i] = found[k++];
    if (!f->needs_head)
        verdicts_put(r->store->verdicts, f->text, some, n_some, found);
    *n_judged += n_some;
    stats_add(STAT_push_judged_total, (int64_t)n_some);
    if (r->is_held)
        r->n_judged += n_some;
    return RC_OK;
}

/* The head of a feed changes, so what depends on it is judged each time. */
static enum rc judge(struct reader *r, const struct filter *f, const int64_t *seqs, size_t n,
                     int *kinds, struct arena *scratch, size_t *n_judged, struct err *err)
{
    if (f->needs_head)
        for (size_t i = 0; i < n; i++)
            kinds[i] = VERDICT_UNKNOWN;
    else
        verdicts_get(r->store->verdicts, f->text, seqs, n, kinds);
    return judge_unknown(r, f, seqs, n, kinds, scratch, n_judged, err);
}

/* ---- what was found -------------------------------------------------------------------------- */

static void *grown(struct arena *a, const void *list, size_t n, size_t *cap, size_t size)
{
    void *more;

    if (n < *cap)
        return NULL;
    *cap = 2 * *cap + 16;
    more = arena_alloc(a, *cap * size);
    if (n > 0)
        memcpy(more, list, n * size);
    return more;
}

static void add_revision(struct sifted *out, struct arena *a, int64_t seq, int kind)
{
    size_t cap = out->cap;
    void *seqs = grown(a, out->seqs, out->n, &cap, sizeof *out->seqs);
    void *kinds = grown(a, out->kinds, out->n, &out->cap, sizeof *out->kinds);

    if (seqs != NULL) {
        out->seqs = seqs;
        out->kinds = kinds;
    }
    out->seqs[out->n] = seq;
    out->kinds[out->n++] = kind;
}

static void add_event(struct sifted *out, struct arena *a, const struct feed_event *event)
{
    void *more = grown(a, out->events, out->n_events, &out->cap_events, sizeof *event);

    if (more != NULL)
        out->events = more;
    out->events[out->n_events++] = *event;
}

static bool is_wanted(unsigned events, int kind)
{
    return kind >= 0 && (events & 1u << kind) != 0;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* What is looked at together. */
struct chunk {
    int64_t *seqs;
    int *kinds;
    struct feed_event *events;
    size_t n, n_events;
    int64_t end; /* it has all up to this seq */
};

/* Read what comes after the position: candidates, and events. */
static enum rc read_chunk(struct reader *r, const struct sift_wish *w,
                          const struct subscription *from, size_t max, struct arena *a,
                          struct chunk *c, struct err *err)
{
    enum rc rc;

    *c = (struct chunk){.seqs = ARENA_ARRAY(a, int64_t, max + 1),
                        .kinds = ARENA_ARRAY(a, int, max + 1),
                        .end = w->last};
    rc = r->db->reads->push_run(r->db, w->feed_ids, w->n_feeds, from, max, a, c->seqs, &c->n,
                                &c->events, &c->n_events, err);
    if (rc != RC_OK)
        return rc;
    if (c->n == max && c->seqs[max - 1] < c->end)
        c->end = c->seqs[max - 1];
    if (c->n_events == max && c->events[max - 1].seq < c->end)
        c->end = c->events[max - 1].seq;
    while (c->n > 0 && c->seqs[c->n - 1] > c->end)
        c->n--;
    while (c->n_events > 0 && c->events[c->n_events - 1].seq > c->end)
        c->n_events--;
    return RC_OK;
}

/* Add what is wanted of it, until there is enough. */
static void take_chunk(const struct sift_wish *w, const struct chunk *c, struct arena *a,
                       struct sifted *out)
{
    size_t i = 0, k = 0;

    while (i < c->n || k < c->n_events) {
        bool is_event = i == c->n || (k < c->n_events && c->events[k].seq < c->seqs[i]);

        if (out->n + out->n_events == w->max)
            return; /* what follows is for another time */
        out->end = is_event ? c->events[k].seq : c->seqs[i];
        if (is_event)
            add_event(out, a, &c->events[k++]);
        else if (is_wanted(w->sub->events, c->kinds[i]))
            add_revision(out, a, c->seqs[i], c->kinds[i]);
        i += !is_event;
    }
    out->end = c->end;
    out->is_whole = c->end == w->last;
}

static enum rc sift_chunk(struct reader *r, const struct sift_wish *w, size_t max, struct arena *a,
                          struct sifted *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct subscription from = *w->sub;
    struct chunk c;
    enum rc rc;

    from.position = out->end;
    from.events = candidates_of(from.events);
    rc = read_chunk(r, w, &from, max, &scratch, &c, err);
    if (rc == RC_OK)
        rc = judge(r, w->filter, c.seqs, c.n, c.kinds, &scratch, &out->n_judged, err);
    if (rc != RC_OK)
        return rc;
    out->n_looked += c.n;
    for (size_t i = 0; i < c.n_events; i++)
        c.events[i].detail = str_dup(a, c.events[i].detail);
    take_chunk(w, &c, a, out);
    return RC_OK;
}

enum rc sift_run(struct reader *r, const struct sift_wish *w, struct arena *a, struct sifted *out,
                 struct err *err)
{
    enum rc rc = RC_OK;

    *out = (struct sifted){.end = w->sub->position};
    out->is_whole = w->n_feeds == 0 || out->end >= w->last;
    if (out->is_whole && w->last > out->end)
        out->end = w->last;
    for (size_t max = CHUNK_FIRST;
         rc == RC_OK && !out->is_whole && out->n_judged < w->look_max &&
         out->n_looked < CHUNK_FACTOR * LOOK_MAX && out->n + out->n_events < w->max;
         max = max < CHUNK_MAX ? max * CHUNK_FACTOR : max)
        rc = sift_chunk(r, w, max, a, out, err);
    return rc;
}

/* ---- a batch --------------------------------------------------------------------------------- */

enum rc sift_batch(struct reader *r, const struct sift_wish *w, int64_t first, struct arena *a,
                   struct sifted *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, BATCH_LOOK_MAX + 1);
    int *kinds = ARENA_ARRAY(&scratch, int, BATCH_LOOK_MAX + 1);
    struct subscription from = *w->sub;
    size_t n;
    enum rc rc;

    *out = (struct sifted){.end = first};
    from.events = candidates_of(from.events);
    rc = r->db->reads->push_batch(r->db, w->feed_ids[0], &from, first, BATCH_LOOK_MAX, seqs, &n,
                                  err);
    for (size_t i = 0; rc == RC_OK && i < n && out->n < w->max; i += CHUNK_MAX) {
        size_t m = n - i < CHUNK_MAX ? n - i : CHUNK_MAX;

        rc = judge(r, w->filter, seqs + i, m, kinds, &scratch, &out->n_judged, err);
        for (size_t k = 0; rc == RC_OK && k < m && out->n < w->max; k++)
            if (is_wanted(w->sub->events, kinds[k]))
                add_revision(out, a, seqs[i + k], kinds[k]);
    }
    return rc;
}

void sifted_tell(const struct sifted *s, struct revision *rows, size_t n)
{
    for (size_t i = 0, k = 0; i < n; i++) {
        while (k < s->n && s->seqs[k] < rows[i].seq)
            k++;
        if (k < s->n && s->seqs[k] == rows[i].seq && s->kinds[k] == REV_LEFT)
            filtered_leave(&rows[i]);
    }
}
