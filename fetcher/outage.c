/* fetcher/outage.c - see outage.h. */
#include "fetcher/outage.h"

#include <string.h>

#include "base/digest.h"

#define NAMES_KEPT_MS 300000   /* so long the resolver may know a name (net/resolver.h) */
#define PLAIN_DOUBT_MS 3600000 /* no portal stands so long */

/* The i-th before the last one. */
static const struct outage_note *back(const struct outage *o, size_t i)
{
    return &o->notes[o->n - 1 - i];
}

/* How many of those that are looked at are not older than the window. */
static size_t n_recent(const struct outage *o, int64_t now_ms)
{
    size_t n = 0;

    while (n < o->n && n < OUTAGE_TRANSFERS && now_ms - back(o, n)->at_ms <= OUTAGE_WINDOW_MS)
        n++;
    return n;
}

/* NULL: this host has none. */
static const struct outage_note *last_of(const struct outage *o, const unsigned char *host)
{
    for (size_t i = 0; i < o->n; i++)
        if (memcmp(back(o, i)->host, host, sizeof back(o, i)->host) == 0)
            return back(o, i);
    return NULL;
}

/* Put it in the place of `last`, the one of the same host; NULL: of the oldest, if there is no
 * room. */
static void put(struct outage *o, const struct outage_note *last, const struct outage_note *note)
{
    if (last == NULL && o->n == OUTAGE_HOSTS_KEPT)
        last = o->notes;
    if (last != NULL) {
        size_t at = (size_t)(last - o->notes);

        memmove(&o->notes[at], &o->notes[at + 1], (o->n - at - 1) * sizeof *last);
        o->n--;
    }
    o->notes[o->n++] = *note;
}

/* The last transfers of the hosts within the window, without those that are down themselves. */
struct tally {
    size_t answered, known, unknown; /* the last two failed; `unknown`: has never answered */
};

static struct tally tally_of(const struct outage *o, int64_t now_ms)
{
    struct tally t = {0};

    for (size_t i = 0, n = n_recent(o, now_ms); i < n; i++) {
        if (back(o, i)->is_down)
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

/* Somebody answers. Is the host of this failure down itself, then? It is if it was reached over the
 * same way, and before this one was asked. `is_new`: that the host answers is new, so its name was
 * looked up. */
static bool covers(const struct outage_transfer *t, bool is_new, const struct outage_note *failed)
{
    if (t->began_ms <= failed->at_ms || t->nearness > failed->nearness)
        return false;
    if (failed->is_secure && !t->is_secure && t->began_ms <= failed->since_ms + PLAIN_DOUBT_MS)
        return false;
    return !failed->is_unresolved ||
           (!t->is_numeric && (is_new || t->began_ms > failed->since_ms + NAMES_KEPT_MS));
}

/* What has never answered is down in any case. */
static void note_who_is_down(struct outage *o, const struct outage_transfer *t, bool is_new)
{
    for (size_t i = 0; i < o->n; i++)
        o->notes[i].is_down |=
            !o->notes[i].reached && (!o->notes[i].is_known || covers(t, is_new, &o->notes[i]));
}

static void note_host(struct outage *o, const struct outage_transfer *t)
{
    struct outage_note note = {.reached = t->reached,
                               .is_secure = t->is_secure,
                               .is_unresolved = t->is_unresolved,
                               .nearness = t->nearness,
                               .at_ms = t->now_ms,
                               .since_ms = t->now_ms};
    const struct outage_note *last;
    bool is_new;

    digest_content(t->authority, note.host);
    last = last_of(o, note.host);
    is_new = last == NULL || !last->reached;
    note.is_known = t->reached || t->is_known || (last != NULL && last->is_known);
    note.is_down = !t->reached && ((last != NULL && last->is_down) ||
                                   (!note.is_known && tally_of(o, t->now_ms).answered > 0));
    if (last != NULL && !last->reached && !t->reached)
        note.since_ms = last->since_ms;
    if (t->is_unresolved)
        note.nearness = last != NULL ? last->nearness : NEAR_NOT;
    o->has_answer |= t->reached;
    o->has_known |= t->reached || t->is_known || t->others_are;
    put(o, last, &note);
    if (t->reached)
        note_who_is_down(o, t, is_new);
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

bool outage_failed(const struct outage *o, struct str authority)
{
    unsigned char host[sizeof o->notes[0].host];
    const struct outage_note *last;

    if (!o->is_on)
        return false;
    digest_content(authority, host);
    last = last_of(o, host);
    return last != NULL && !last->reached;
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
