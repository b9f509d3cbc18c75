/* notifier/lanes.c - see lanes.h. */
#include "notifier/lanes.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/mem.h"
#include "net/url.h"

#define NEEDED_MAX 48 /* at most so many quick answers in a row make an endpoint trusted again */
#define FORGIVEN 100  /* after so many in a row, earlier slow answers do not count any more */
/* while others wait, a call is late when it takes so many times the usual time */
#define LATE_TIMES 2
#define SPREAD_MS 25 /* in this time ... */
#define SPREAD_MAX 8 /* ... at most so many calls are cut for endpoints that were never quick */
#define FIRST_MS 500 /* the usual time of first calls until one of them was answered or cut */
#define FIRST_MAX_MS (LANES_LATE_MS / LATE_TIMES)
#define FIRST_PART 32 /* each first call makes that time shorter by one part of so many */

struct lanes_host {
    char *name;
    size_t n_lanes; /* that wait or are busy */
    struct lanes_count count;
    struct {
        struct lane_list lanes;
        bool is_listed; /* in the list of hosts that are ready */
        TAILQ_ENTRY(lanes_host) next;
    } ready[STANDINGS_];
};

/* Returns n/of of `max`, at least 1. */
static size_t share(size_t max, size_t n, size_t of)
{
    size_t part = max * n / of;

    return part < 1 ? 1 : part;
}

/* Returns the limits. That of `fresh` is for fresh, unheard and slow turns together; that of
 * `unheard` is for unheard and slow turns. */
static struct lanes_count bounds(size_t max, size_t slow)
{
    return (struct lanes_count){
        .busy = max, .fresh = share(max, 3, 4), .unheard = share(max, 5, 8), .slow = slow};
}

static struct lanes_count bounds_of_all(const struct lanes *l)
{
    return bounds(l->max, share(l->max, 1, 4));
}

static struct lanes_count bounds_of_host(const struct lanes *l)
{
    return bounds(l->max_host, share(l->max_host, 1, 6));
}

/* Returns true when there is room for one more turn of this standing. */
static bool has_room(const struct lanes_count *c, struct lanes_count max, enum standing s)
{
    if (c->busy >= max.busy)
        return false;
    switch (s) {
    case STANDING_SUSPECT:
        return c->slow < max.slow;
    case STANDING_UNHEARD:
        return c->unheard + c->slow < max.unheard && c->fresh + c->unheard + c->slow < max.fresh;
    case STANDING_FRESH:
        return c->fresh + c->unheard + c->slow < max.fresh;
    case STANDING_TRUSTED:
    case STANDINGS_:
        break;
    }
    return true;
}

static bool host_has_room(const struct lanes *l, const struct lanes_host *h, enum standing s)
{
    return has_room(&h->count, bounds_of_host(l), s);
}

static bool all_have_room(const struct lanes *l, enum standing s)
{
    return has_room(&l->count, bounds_of_all(l), s);
}

/* ---- hosts ---------------------------------------------------------------------------------- */

/* Put the host into the lists of hosts whose endpoints may be called, or take it out, by the host's
 * own limits. */
static void host_place(struct lanes *l, struct lanes_host *h)
{
    for (enum standing s = 0; s < STANDINGS_; s++) {
        bool is_ready = !TAILQ_EMPTY(&h->ready[s].lanes) && host_has_room(l, h, s);

        if (is_ready == h->ready[s].is_listed)
            continue;
        h->ready[s].is_listed = is_ready;
        if (is_ready)
            TAILQ_INSERT_TAIL(&l->ready[s], h, ready[s].next);
        else
            TAILQ_REMOVE(&l->ready[s], h, ready[s].next);
    }
}

static struct lanes_host *host_of(struct lanes *l, struct str url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str name = url_authority(&a, url);
    struct lanes_host *h = map_get(&l->hosts, name);

    if (h != NULL)
        return h;
    h = NEW(struct lanes_host);
    h->name = mem_strndup(name.ptr, name.len);
    for (enum standing s = 0; s < STANDINGS_; s++)
        TAILQ_INIT(&h->ready[s].lanes);
    map_put(&l->hosts, name, h);
    return h;
}

static void host_free(void *value)
{
    struct lanes_host *h = value;

    mem_free(h->name);
    mem_free(h);
}

/* ---- waiting -------------------------------------------------------------------------------- */

void lanes_init(struct lanes *l, size_t max)
{
    *l = (struct lanes){.max = max < 1 ? 1 : max, .hosts = MAP_INIT, .first_ms = FIRST_MS};
    l->max_host = share(l->max, 3, 4);
    for (enum standing s = 0; s < STANDINGS_; s++)
        TAILQ_INIT(&l->ready[s]);
    TAILQ_INIT(&l->busy);
}

void lanes_release(struct lanes *l)
{
    map_release(&l->hosts, host_free);
}

void lanes_join(struct lanes *l UNUSED, struct lane *lane, struct str url, bool is_suspect)
{
    *lane = (struct lane){.url = url,
                          .standing = is_suspect ? STANDING_SUSPECT : STANDING_FRESH,
                          .n_needed = LANES_TRUST};
}

void lanes_leave(struct lanes *l UNUSED, struct lane *lane)
{
    ASSERT(!lane->is_waiting && !lane->is_busy);
}

/* A host is known only while it has endpoints that wait or are busy, so idle endpoints cost little.
 */
static void host_enter(struct lanes *l, struct lane *lane)
{
    lane->host = host_of(l, lane->url);
    lane->host->n_lanes++;
}

static void host_leave(struct lanes *l, struct lane *lane)
{
    struct lanes_host *h = lane->host;

    lane->host = NULL;
    if (--h->n_lanes > 0)
        return;
    map_del(&l->hosts, str_from(h->name));
    host_free(h);
}

static void set_waiting(struct lanes *l, struct lane *lane, bool waits)
{
    size_t n = waits ? 1 : (size_t)-1;

    lane->is_waiting = waits;
    l->count.waiting[lane->standing] += n;
    lane->host->count.waiting[lane->standing] += n;
}

void lanes_wait(struct lanes *l, struct lane *lane, bool waits)
{
    struct lanes_host *h;

    if (waits == lane->is_waiting)
        return;
    ASSERT(!lane->is_busy);
    if (waits)
        host_enter(l, lane);
    h = lane->host;
    set_waiting(l, lane, waits);
    if (waits)
        TAILQ_INSERT_TAIL(&h->ready[lane->standing].lanes, lane, next);
    else
        TAILQ_REMOVE(&h->ready[lane->standing].lanes, lane, next);
    host_place(l, h);
    if (!waits)
        host_leave(l, lane);
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* Count a turn that begins (n = 1) or ends (n = -1). */
static void count(struct lanes *l, const struct lane *lane, int n)
{
    struct lanes_count *counts[] = {&l->count, &lane->host->count};

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        counts[i]->busy += (size_t)n;
        if (lane->is_slow)
            counts[i]->slow += (size_t)n;
        else if (lane->standing == STANDING_FRESH)
            counts[i]->fresh += (size_t)n;
        else if (lane->standing == STANDING_UNHEARD)
            counts[i]->unheard += (size_t)n;
    }
}

/* Returns the endpoint of this standing that is next, or NULL. */
static struct lane *first_of(struct lanes *l, enum standing s)
{
    struct lanes_host *h = TAILQ_FIRST(&l->ready[s]);

    return h == NULL || !all_have_room(l, s) ? NULL : TAILQ_FIRST(&h->ready[s].lanes);
}

static struct lane *choose(struct lanes *l)
{
    enum standing first = l->fresh_first ? STANDING_FRESH : STANDING_TRUSTED;
    enum standing second = l->fresh_first ? STANDING_TRUSTED : STANDING_FRESH;
    /* they come first: there are only a few at a time, and they must not starve */
    struct lane *lane = first_of(l, STANDING_SUSPECT);

    if (lane == NULL && l->count.unheard < share(l->max, 1, 16)) /* nor must these */
        lane = first_of(l, STANDING_UNHEARD);
    if (lane == NULL)
        lane = first_of(l, first);
    if (lane == NULL)
        lane = first_of(l, second);
    return lane != NULL ? lane : first_of(l, STANDING_UNHEARD);
}

struct lane *lanes_next(struct lanes *l)
{
    struct lane *lane = choose(l);
    struct lanes_host *h;

    if (lane == NULL)
        return NULL;
    h = lane->host;
    if (lane->standing <= STANDING_FRESH)
        l->fresh_first = lane->standing == STANDING_TRUSTED;
    TAILQ_REMOVE(&l->ready[lane->standing], h, ready[lane->standing].next);
    h->ready[lane->standing].is_listed = false; /* host_place() puts it after the other hosts */
    TAILQ_REMOVE(&h->ready[lane->standing].lanes, lane, next);
    set_waiting(l, lane, false);
    lane->is_busy = true;
    lane->is_slow = lane->standing == STANDING_SUSPECT;
    lane->mono_called = 0;
    TAILQ_INSERT_TAIL(&l->busy, lane, next);
    count(l, lane, 1);
    host_place(l, h);
    return lane;
}

void lanes_called(struct lane *lane, int64_t mono_ms)
{
    lane->mono_called = mono_ms;
}

/* ---- late calls ----------------------------------------------------------------------------- */

/* Returns true when more endpoints of the standings up to `last` wait than turns are being cut. */
static bool more_wait(const struct lanes_count *c, enum standing last)
{
    size_t n = 0;

    for (enum standing s = STANDING_TRUSTED; s <= last; s++)
        n += c->waiting[s];
    return n > c->cut;
}

/* Returns true when an endpoint of the standings up to `last` waits only for the end of other
 * turns, and more such endpoints wait than turns are being cut. */
static bool is_full(const struct lanes *l, enum standing last)
{
    for (enum standing s = STANDING_TRUSTED; s <= last; s++)
        if (!TAILQ_EMPTY(&l->ready[s]) && !all_have_room(l, s))
            return more_wait(&l->count, last);
    return false;
}

/* The same for the endpoints of one host. */
static bool host_is_full(const struct lanes *l, const struct lanes_host *h)
{
    for (enum standing s = STANDING_TRUSTED; s <= STANDING_UNHEARD; s++)
        if (!TAILQ_EMPTY(&h->ready[s].lanes) && !host_has_room(l, h, s))
            return more_wait(&h->count, STANDING_UNHEARD);
    return false;
}

static bool is_longer_than_usual(const struct lane *lane, int64_t ran_ms)
{
    return lane->usual_ms > 0 && ran_ms >= LANES_SOON_MS && ran_ms >= LATE_TIMES * lane->usual_ms;
}

static bool is_first(const struct lane *lane)
{
    return lane->standing == STANDING_FRESH && lane->usual_ms == 0;
}

/* Returns true for the first call of an endpoint that has run longer than first calls that were
 * answered. */
static bool is_longer_than_first(const struct lanes *l, const struct lane *lane, int64_t ran_ms)
{
    return is_first(lane) && ran_ms >= LANES_SOON_MS && ran_ms >= LATE_TIMES * l->first_ms;
}

/* Count the call as slow from now on. */
static void become_slow(struct lanes *l, struct lane *lane)
{
    count(l, lane, -1);
    lane->is_slow = true;
    count(l, lane, 1);
    host_place(l, lane->host);
}

/* Cutting many calls at once would hold up those that are answered: each cut is a failure to write,
 * and another call to begin. So when only endpoints wait that were never quick, cuts are spread.
 * Returns true when one more may happen now. */
static bool may_cut_more(struct lanes *l, int64_t mono_ms)
{
    if (mono_ms - l->spread_ms >= SPREAD_MS) {
        l->spread_ms = mono_ms;
        l->n_spread = 0;
    }
    return l->n_spread++ < SPREAD_MAX;
}

/* Is it time to cut this call for other endpoints of its own host? Not if it takes as long as
 * usual: to cut the calls of a host that is slow as a whole would not help. */
static bool host_lost_patience(const struct lane *lane, int64_t ran_ms)
{
    return ran_ms >= LANES_LATE_MS && is_longer_than_usual(lane, ran_ms);
}

/* May a call of an endpoint that is usually quick be cut already? */
static bool may_try(struct lanes *l, int64_t mono_ms)
{
    if (mono_ms - l->tried_ms >= LANES_TRY_MS) {
        l->tried_ms = mono_ms;
        l->n_tries = 0;
    }
    return l->n_tries++ < LANES_TRIES;
}

/* Decide about a call that does not count as slow. Returns true when it must be cut. */
static bool look_at(struct lanes *l, struct lane *lane, int64_t ran_ms, int64_t mono_ms)
{
    struct lanes_host *h = lane->host;
    bool all_wait = is_full(l, STANDING_UNHEARD), host_waits = host_is_full(l, h);
    bool is_overdue = is_longer_than_usual(lane, ran_ms);
    bool is_late = ran_ms >= LANES_LATE_MS || (is_overdue && (all_wait || host_waits)) ||
                   (is_longer_than_first(l, lane, ran_ms) && is_full(l, STANDING_FRESH));

    if (!is_late)
        return false;
    if (l->count.slow >= bounds_of_all(l).slow) {
        if (host_waits && host_lost_patience(lane, ran_ms))
            return true;
        if (!all_wait || (ran_ms < LANES_LATE_MS && is_overdue && !may_try(l, mono_ms)))
            return false;
        return is_full(l, STANDING_FRESH) || may_cut_more(l, mono_ms);
    }
    if (h->count.slow >= bounds_of_host(l).slow)
        return host_waits && host_lost_patience(lane, ran_ms);
    become_slow(l, lane);
    return false;
}

struct lane *lanes_look(struct lanes *l, int64_t mono_ms)
{
    struct lane *lane;

    TAILQ_FOREACH (lane, &l->busy, next) {
        if (lane->mono_called == 0 || lane->is_slow || lane->is_cut)
            continue;
        if (!look_at(l, lane, mono_ms - lane->mono_called, mono_ms))
            continue;
        lane->is_cut = true;
        l->count.cut++;
        lane->host->count.cut++;
        return lane;
    }
    return NULL;
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* Learn how long it takes until first calls are answered. When one was cut, the next ones are cut
 * sooner, down to LANES_SOON_MS. An answer after FIRST_MAX_MS counts as one at that time: a longer
 * time would change nothing now, but it would take long until it is forgotten. */
static void learn_first(struct lanes *l, int64_t answered_ms)
{
    l->first_ms -= l->first_ms / FIRST_PART;
    if (answered_ms > l->first_ms)
        l->first_ms = answered_ms < FIRST_MAX_MS ? answered_ms : FIRST_MAX_MS;
}

static void was_slow(struct lane *lane)
{
    if (lane->standing == STANDING_TRUSTED && lane->n_needed < NEEDED_MAX)
        lane->n_needed = (int16_t)(2 * lane->n_needed);
    lane->standing = STANDING_SUSPECT;
    lane->n_quick = 0;
}

static void was_quick(struct lane *lane, int64_t ran_ms)
{
    int64_t remembered = lane->usual_ms * 7 / 8; /* a slower answer is remembered for a while */

    lane->usual_ms = (int32_t)(ran_ms > remembered ? ran_ms : remembered);
    if (lane->usual_ms < 1)
        lane->usual_ms = 1;
    if (lane->n_quick < FORGIVEN && ++lane->n_quick == FORGIVEN)
        lane->n_needed = LANES_TRUST;
    if (lane->n_quick >= lane->n_needed)
        lane->standing = STANDING_TRUSTED;
    else if (lane->standing == STANDING_UNHEARD)
        lane->standing = STANDING_FRESH;
}

void lanes_done(struct lanes *l, struct lane *lane, enum lanes_end end, int64_t mono_ms)
{
    int64_t ran_ms = mono_ms - lane->mono_called;

    ASSERT(lane->is_busy);
    if (end == LANES_ANSWERED &&
        (ran_ms < LANES_SOON_MS || ran_ms < LATE_TIMES * (int64_t)lane->usual_ms))
        l->n_tries = 0;
    count(l, lane, -1);
    l->count.cut -= lane->is_cut;
    lane->host->count.cut -= lane->is_cut;
    TAILQ_REMOVE(&l->busy, lane, next);
    lane->is_busy = lane->is_slow = lane->is_cut = false;
    /* a suspect has been called before */
    if (lane->usual_ms == 0 && lane->standing != STANDING_SUSPECT &&
        (end == LANES_CUT || end == LANES_ANSWERED))
        learn_first(l, end == LANES_CUT ? 0 : ran_ms);
    if (end == LANES_CUT && is_first(lane) && ran_ms < LANES_LATE_MS)
        lane->standing = STANDING_UNHEARD;
    else if (end == LANES_CUT || (end != LANES_UNCALLED && ran_ms >= LANES_LATE_MS))
        was_slow(lane);
    else if (end == LANES_ANSWERED)
        was_quick(lane, ran_ms);
    host_place(l, lane->host);
    host_leave(l, lane);
}
