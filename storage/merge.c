/* storage/merge.c - a binary heap of runs, the newest key on top.
 *
 * The heap has copies of the keys, so moving an item reads only one cache line for each level. */
#include "storage/merge.h"

#include "base/assert.h"

struct head {
    struct merge_key key;
    size_t run, at;
    bool is_bound; /* of a run without keys: its newest one is not before `key` */
};

bool merge_key_before(const struct merge_key *a, const struct merge_key *b)
{
    return a->sort_at != b->sort_at ? a->sort_at > b->sort_at : a->seq > b->seq;
}

void iri_set_init(struct iri_set *s, struct arena *a, size_t n)
{
    s->cap = 16;
    while (s->cap < n * 2)
        s->cap *= 2;
    s->n = 0;
    s->slots = ARENA_ARRAY(a, int64_t, s->cap);
}

bool iri_set_add(struct iri_set *s, int64_t iri)
{
    size_t i = (size_t)iri & (s->cap - 1); /* `iri` is a hash already */

    if (iri == 0)
        return true;
    for (; s->slots[i] != 0; i = (i + 1) & (s->cap - 1))
        if (s->slots[i] == iri)
            return false;
    ASSERT(s->n < s->cap / 2);
    s->slots[i] = iri;
    s->n++;
    return true;
}

static void sift_down(struct head *heap, size_t n, size_t i)
{
    struct head moving = heap[i];
    size_t child;

    while ((child = 2 * i + 1) < n) {
        if (child + 1 < n && merge_key_before(&heap[child + 1].key, &heap[child].key))
            child++;
        if (!merge_key_before(&heap[child].key, &moving.key))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

/* May the newest key of a run without keys be left out by the range? */
static bool may_be_outside(const struct merge_run *run, const struct merge_range *range)
{
    return range->after_seq > 0 || run->last_seq >= range->before_seq ||
           (range->has_end && run->newest_at >= range->before_at);
}

/* The place of a run without keys is where its newest key may be. */
static void set_bound(struct head *h, const struct merge_run *run, const struct merge_range *range)
{
    bool has_later = range->has_end && run->newest_at >= range->before_at;

    h->is_bound = true;
    h->key = (struct merge_key){has_later ? range->before_at - 1 : run->newest_at, INT64_MAX, 0};
}

/* Move the head to the next key within the range. False: the run has no more keys; if the feed has
 * more in the database, that is noted in *ends. */
static bool settle(struct head *h, const struct merge_run *run, const struct merge_range *range,
                   struct merge_ends *ends)
{
    for (; h->at < run->n; h->at++) {
        const struct merge_key *k = &run->keys[h->at];

        if (k->seq > range->after_seq && k->seq < range->before_seq &&
            (!range->has_end || k->sort_at < range->before_at)) {
            h->key = *k;
            return true;
        }
    }
    if (!run->complete)
        ends->runs[ends->n++] = h->run;
    return false;
}

bool merge_runs(const struct merge_run *runs, size_t n_runs, const struct merge_range *range,
                struct arena *scratch, int64_t *out, size_t *n_out, struct merge_ends *ends)
{
    size_t n_heap = 0, taken = 0, wanted = range->skip + range->len;
    struct head *heap = arena_alloc(scratch, n_runs * sizeof *heap + 1);
    struct iri_set seen;

    *ends = (struct merge_ends){arena_alloc(scratch, n_runs * sizeof *ends->runs + 1), 0};
    iri_set_init(&seen, scratch, wanted);
    for (size_t i = 0; i < n_runs; i++) {
        struct head h = {.run = i, .at = 0};

        if (runs[i].n == 0 && !runs[i].complete)
            set_bound(&h, &runs[i], range);
        if (h.is_bound || settle(&h, &runs[i], range, ends))
            heap[n_heap++] = h;
    }
    for (size_t i = n_heap / 2; i-- > 0;)
        sift_down(heap, n_heap, i);
    while (n_heap > 0 && taken < wanted) {
        struct head *top = &heap[0];

        if (top->is_bound) { /* what it stands for is one row: so only those are named that the page may reach */
            ends->runs[ends->n++] = top->run;
            taken += !may_be_outside(&runs[top->run], range);
            heap[0] = heap[--n_heap];
            sift_down(heap, n_heap, 0);
            continue;
        }
        if (range->keeps_doubles || iri_set_add(&seen, top->key.iri)) {
            if (taken >= range->skip)
                out[taken - range->skip] = top->key.seq;
            taken++;
        }
        top->at++;
        if (taken < wanted && !settle(top, &runs[top->run], range, ends))
            heap[0] = heap[--n_heap];
        sift_down(heap, n_heap, 0);
    }
    if (ends->n > 0)
        return false;
    *n_out = taken > range->skip ? taken - range->skip : 0;
    return true;
}
