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

/* The last one of this host, whenever that was; NULL: none is kept. */
static const struct outage_note *last_of(const struct outage *o, const unsigned char *host)
{
    for (size_t i = 0; i < n_kept(o); i++)
        if (memcmp(back(o, i)->host, host, sizeof back(o, i)->host) == 0)
            return back(o, i);
    return NULL;
}

/* Is it the last one of its host? */
static bool is_newest(const struct outage *o, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (memcmp(back(o, k)->host, back(o, i)->host, sizeof back(o, i)->host) == 0)
            return false;
    return true;
}

/* The last transfers of the hosts within the window, without those that are down themselves. */
struct tally {
    size_t answered, known, unknown; /* the last two failed; `unknown`: has never answered */
};

static struct tally tally_of(const struct outage *o, int64_t now_ms)
{
    struct tally t = {0};

    for (size_t i = 0, n = n_recent(o, now_ms); i < n; i++) {
        if (!is_newest(o, i) || back(o, i)->is_down)
            continue;
        if (back(o, i)->reached)
            t.answered++;
        else if (back(o, i)->is_known)
            t.known++;
        else
            t.unknown++;
    }
    return t;
}

static bool most_fail(const struct outage *o, int64_t now_ms)
{
    struct tally t = tally_of(o, now_ms);
    size_t n_failed = t.known > 0 || !o->has_known ? t.known + t.unknown : 0;

    return n_failed >= OUTAGE_HOSTS && n_failed > t.answered;
}

/* Somebody answers. If that shows that our connection is there, whatever fails is down itself; else
 * at least what has never answered is. */
static void note_who_is_down(struct outage *o, bool only_unknown)
{
    for (size_t i = 0; i < n_kept(o); i++)
        o->notes[i].is_down |= !o->notes[i].reached && !(only_unknown && o->notes[i].is_known);
}

static void note_host(struct outage *o, const struct outage_transfer *t)
{
    struct outage_note note = {.reached = t->reached, .at_ms = t->now_ms};
    const struct outage_note *last;

    digest_content(t->authority, note.host);
    last = last_of(o, note.host);
    note.is_known = t->reached || t->is_known || (last != NULL && last->is_known);
    note.is_down = !t->reached && ((last != NULL && last->is_down) ||
                                   (!note.is_known && tally_of(o, t->now_ms).answered > 0));
    o->has_answer |= t->reached;
    o->has_known |= t->reached || t->is_known || t->others_are;
    o->notes[o->n++ % OUTAGE_TRANSFERS] = note;
    if (t->reached)
        note_who_is_down(o, true);
}

/* The start came in an outage that is not over. */
static bool goes_on(const struct outage *o, const struct outage_transfer *t)
{
    return t->was_ours && !o->has_answer;
}

static void note_failure(struct outage *o, const struct outage_transfer *t)
{
    o->failed[o->n_failed++ % OUTAGE_FAILED] =
        (struct outage_failure){t->feed_id, t->now_ms, t->n_errors};
}

/* Does this answer show that our connection is there? Not that of a host that answered all along: it
 * may be on this machine, or next to it. */
static bool is_proof(const struct outage *o, const struct outage_transfer *t)
{
    unsigned char host[sizeof o->notes[0].host];
    const struct outage_note *last;

    digest_content(t->authority, host);
    last = last_of(o, host);
    return t->reached && o->is_on && t->began_ms > o->since_ms && (last == NULL || !last->reached);
}

/* Is this failure the publisher's, whatever our connection is? */
static bool is_theirs(const struct outage *o, const struct outage_transfer *t)
{
    unsigned char host[sizeof o->notes[0].host];
    const struct outage_note *last;

    if (t->reached || t->n_errors >= OUTAGE_ERRORS)
        return !t->reached;
    digest_content(t->authority, host);
    last = last_of(o, host);
    return t->is_no_name && !t->is_known && (last == NULL || !last->is_known);
}

enum outage_change outage_note(struct outage *o, const struct outage_transfer *t)
{
    bool was_on = o->is_on;

    if (is_theirs(o, t))
        return OUTAGE_AS_BEFORE;
    if (is_proof(o, t))
        note_who_is_down(o, false); /* it takes failures of others to prove the contrary */
    note_host(o, t);
    if (t->reached)
        o->is_on = was_on && most_fail(o, t->now_ms);
    else
        o->is_on = was_on || goes_on(o, t) || most_fail(o, t->now_ms);
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
