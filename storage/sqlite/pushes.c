/* storage/sqlite/pushes.c - one feed after the other, each only as far as it can still contribute.
 */
#include "storage/sqlite/pushes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/revisions.h"

enum rc push_leads(struct db *db, const int64_t *feed_ids, size_t n, const struct subscription *sub,
                   struct arena *a, struct push_lead *out, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        out[i] = (struct push_lead){.first = 0};
        rc = push_first(db, feed_ids[i], sub, &out[i].first, err);
        if (rc == RC_OK && (sub->events & SUB_FEED) != 0)
            rc = feed_events_next(db, feed_ids[i], sub->position, a, &out[i].event, err);
    }
    return rc;
}

/* Merge two ascending lists; returns the length of the result, at most `max`. */
static size_t join(const int64_t *x, size_t n_x, const int64_t *y, size_t n_y, size_t max,
                   int64_t *out)
{
    size_t n = 0, i = 0, k = 0;

    while (n < max && (i < n_x || k < n_y))
        out[n++] = k == n_y || (i < n_x && x[i] < y[k]) ? x[i++] : y[k++];
    return n;
}

static enum rc run_of_revisions(struct db *db, const int64_t *feed_ids, size_t n,
                                const struct subscription *sub, size_t max, struct arena *scratch,
                                int64_t *seqs, size_t *n_seqs, struct err *err)
{
    int64_t *more = ARENA_ARRAY(scratch, int64_t, max + 1), before = INT64_MAX;
    int64_t *joined = ARENA_ARRAY(scratch, int64_t, max + 1);
    size_t n_more;
    enum rc rc = RC_OK;

    *n_seqs = 0;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = push_range(db, feed_ids[i], sub, sub->position, before, max, more, &n_more, err);
        if (rc != RC_OK || n_more == 0)
            continue;
        *n_seqs = join(seqs, *n_seqs, more, n_more, max, joined);
        memcpy(seqs, joined, *n_seqs * sizeof *seqs);
        if (*n_seqs == max)
            before = seqs[max - 1];
    }
    return rc;
}

static int by_seq(const void *x, const void *y)
{
    const struct feed_event *a = x, *b = y;

    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static enum rc run_of_events(struct db *db, const int64_t *feed_ids, size_t n,
                             const struct subscription *sub, size_t max, struct arena *a,
                             struct feed_event **out, size_t *n_out, struct err *err)
{
    AUTO(mem_autofree) struct feed_event *list = NULL;
    size_t cap = 0, len = 0;

    for (size_t i = 0; i < n; i++) {
        struct feed_event event = {.seq = sub->position};

        for (size_t k = 0; k < max; k++) {
            enum rc rc = feed_events_next(db, feed_ids[i], event.seq, a, &event, err);

            if (rc != RC_OK)
                return rc;
            if (event.seq == 0)
                break;
            list = mem_grow(list, &cap, len + 1, sizeof *list);
            list[len++] = event;
        }
    }
    if (len > 1)
        qsort(list, len, sizeof *list, by_seq);
    *n_out = len < max ? len : max;
    *out = ARENA_ARRAY(a, struct feed_event, max + 1);
    if (len > 0)
        memcpy(*out, list, *n_out * sizeof *list);
    return RC_OK;
}

enum rc push_run(struct db *db, const int64_t *feed_ids, size_t n, const struct subscription *sub,
                 size_t max, struct arena *a, int64_t *seqs, size_t *n_seqs,
                 struct feed_event **events, size_t *n_events, struct err *err)
{
    enum rc rc = run_of_revisions(db, feed_ids, n, sub, max, a, seqs, n_seqs, err);

    *n_events = 0;
    *events = NULL;
    if (rc == RC_OK && (sub->events & SUB_FEED) != 0)
        rc = run_of_events(db, feed_ids, n, sub, max, a, events, n_events, err);
    return rc;
}

enum rc push_count_all(struct db *db, const int64_t *feed_ids, size_t n,
                       const struct subscription *sub, int64_t max, int64_t *out, struct err *err)
{
    int64_t more = 0;
    enum rc rc = RC_OK;

    *out = 0;
    for (size_t i = 0; i < n && rc == RC_OK && *out < max; i++) {
        rc = push_count(db, feed_ids[i], sub, max - *out, &more, err);
        *out += rc == RC_OK ? more : 0;
        if (rc == RC_OK && (sub->events & SUB_FEED) != 0)
            rc = feed_events_count(db, feed_ids[i], sub->position, out, err);
    }
    if (*out > max)
        *out = max;
    return rc;
}
