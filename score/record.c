/* score/record.c - see record.h. */
#include "score/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct score_request *score_record_add(struct score_record *rec, const struct score_request *r)
{
    rec->rows = mem_grow(rec->rows, &rec->cap, rec->n + 1, sizeof *rec->rows);
    rec->rows[rec->n] = *r;
    return &rec->rows[rec->n++];
}

static int compare(const void *a, const void *b)
{
    const struct score_request *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

void score_record_sort(struct score_record *rec)
{
    if (rec->n > 0)
        qsort(rec->rows, rec->n, sizeof *rec->rows, compare);
}

void score_record_copy(const struct score_record *rec, struct score_record *out)
{
    *out = (struct score_record){
        .ended = rec->ended, .speed = rec->speed, .is_early = rec->is_early, .arena = ARENA_INIT};
    if (rec->n == 0)
        return;
    out->rows = mem_grow(NULL, &out->cap, rec->n, sizeof *out->rows);
    memcpy(out->rows, rec->rows, rec->n * sizeof *out->rows);
    out->n = rec->n;
}

void score_record_release(struct score_record *rec)
{
    mem_free(rec->rows);
    rec->rows = NULL;
    rec->n = rec->cap = 0;
    arena_release(&rec->arena);
}

const char *score_feed_name(enum score_feed_id feed)
{
    static const char *const names[] = {
#define FEED(name, host, traits, help) #name,
#include "score/feeds.def"
#undef FEED
    };

    return feed < SCORE_FEEDS ? names[feed] : "?";
}
