/* fetcher/outage.c - see outage.h. */
#include "fetcher/outage.h"

#include <string.h>

#include "base/digest.h"

static size_t n_kept(const struct outage *o)
{
    return o->n < OUTAGE_TRANSFERS ? (size_t)o->n : OUTAGE_TRANSFERS;
}

/* The i-th before the last one. */
static const struct outage_note *back(const struct outage *o, size_t i)
{
    return &o->notes[(o->n - 1 - i) % OUTAGE_TRANSFERS];
}

/* How many of the kept ones are not older than the window. */
static size_t n_recent(const struct outage *o, int64_t now_ms)
{
    size_t n = 0;

    while (n < n_kept(o) && now_ms - back(o, n)->at_ms <= OUTAGE_WINDOW_MS)
        n++;
    return n;
}

/* Is it the last one of its host? */
static bool is_newest(const struct outage *o, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (memcmp(back(o, k)->host, back(o, i)->host, sizeof back(o, i)->host) == 0)
            return false;
    return true;
}

static bool most_fail(const struct outage *o, int64_t now_ms)
{
    size_t n = n_recent(o, now_ms), n_hosts = 0, n_failed = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_newest(o, i))
            continue;
        n_hosts++;
        n_failed += !back(o, i)->reached;
    }
    return n_failed >= OUTAGE_HOSTS && 2 * n_failed > n_hosts;
}

enum outage_change outage_note(struct outage *o, const struct outage_transfer *t)
{
    struct outage_note *note = &o->notes[o->n++ % OUTAGE_TRANSFERS];
    bool was_on = o->is_on;

    *note = (struct outage_note){.reached = t->reached,
                                 .feed_id = t->feed_id,
                                 .n_errors = t->n_errors,
                                 .at_ms = t->now_ms};
    digest_content(t->authority, note->host);
    if (t->reached)
        o->is_on = false;
    else
        o->is_on = was_on || most_fail(o, t->now_ms);
    if (o->is_on == was_on)
        return OUTAGE_AS_BEFORE;
    return o->is_on ? OUTAGE_BEGINS : OUTAGE_ENDS;
}

size_t outage_missed(const struct outage *o, int64_t now_ms, struct outage_missed *out)
{
    size_t n = n_recent(o, now_ms), n_out = 0;

    while (n-- > 0) { /* the oldest first: it has what was before all of them */
        size_t k = 0;

        if (back(o, n)->reached)
            continue;
        while (k < n_out && out[k].feed_id != back(o, n)->feed_id)
            k++;
        if (k == n_out)
            out[n_out++] = (struct outage_missed){back(o, n)->feed_id, back(o, n)->n_errors};
    }
    return n_out;
}
