/* model/keep.c - see keep.h. */
#include "model/keep.h"

static int64_t widest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void keep_set(struct keep *k, const struct keep *change)
{
    if (change->age_s != 0)
        k->age_s = change->age_s == KEEP_NONE ? 0 : change->age_s;
    if (change->entries != 0)
        k->entries = change->entries == KEEP_NONE ? 0 : change->entries;
}

struct keep keep_widest(const struct keep *a, const struct keep *b)
{
    return (struct keep){widest(a->age_s, b->age_s), widest(a->entries, b->entries)};
}

static int64_t counts(int64_t own, int64_t n_subs, int64_t least, int64_t most, int64_t option)
{
    int64_t otherwise = own > 0 ? own : option;

    if (n_subs == 0)
        return otherwise;
    return widest(widest(own, most), least == 0 ? otherwise : 0);
}

struct keep keep_that_counts(const struct keep_wishes *w, const struct keep *options)
{
    return (struct keep){
        counts(w->own.age_s, w->n_subs, w->least.age_s, w->most.age_s, options->age_s),
        counts(w->own.entries, w->n_subs, w->least.entries, w->most.entries, options->entries)};
}
