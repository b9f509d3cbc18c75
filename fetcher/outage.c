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

static void note_host(struct outage *o, const struct outage_transfer *t)
{
    struct outage_note *note = &o->notes[o->n++ % OUTAGE_TRANSFERS];

    *note = (struct outage_note){.reached = t->reached, .at_ms = t->now_ms};
    digest_content(t->authority, note->host);
}

static void note_failure(struct outage *o, const struct outage_transfer *t)
{
    o->failed[o->n_failed++ % OUTAGE_FAILED] =
        (struct outage_failure){t->feed_id, t->now_ms, t->n_errors};
}

enum outage_change outage_note(struct outage *o, const struct outage_transfer *t)
{
    bool was_on = o->is_on;

    if (!t->reached && t->n_errors >= OUTAGE_ERRORS)
        return OUTAGE_AS_BEFORE;
    if (t->reached && was_on && t->began_ms > o->since_ms)
        o->n = 0; /* our connection is there: it takes new failures to prove the contrary */
    note_host(o, t);
    if (t->reached)
        o->is_on = was_on && most_fail(o, t->now_ms);
    else
        o->is_on = was_on || most_fail(o, t->now_ms);
    if (o->is_on && !was_on)
        o->since_ms = t->now_ms;
    if (!t->reached && !o->is_on)
        note_failure(o, t);
    if (o->is_on == was_on)
        return OUTAGE_AS_BEFORE;
    return o->is_on ? OUTAGE_BEGINS : OUTAGE_ENDS;
}

static bool has_feed(const struct outage_missed *feeds, size_t n, int64_t feed_id)
{
    for (size_t i = 0; i < n; i++)
        if (feeds[i].feed_id == feed_id)
            return true;
    return false;
}

size_t outage_missed(const struct outage *o, int64_t now_ms, struct outage_missed *out)
{
    uint64_t first = o->n_failed > OUTAGE_FAILED ? o->n_failed - OUTAGE_FAILED : 0;
    size_t n = 0;

    for (uint64_t i = first; i < o->n_failed;
         i++) { /* the oldest has what was before all of them */
        const struct outage_failure *f = &o->failed[i % OUTAGE_FAILED];

        if (now_ms - f->at_ms <= OUTAGE_WINDOW_MS && !has_feed(out, n, f->feed_id))
            out[n++] = (struct outage_missed){f->feed_id, f->n_errors};
    }
    return n;
}
