/* notifier/roster.c - see roster.h. */
#include "notifier/roster.h"

#include "base/assert.h"
#include "base/mem.h"
#include "model/view.h"

struct feed_members {
    size_t n, cap;
    struct member **items;
};

static struct str key_of(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

void roster_init(struct roster *r, size_t max_turns)
{
    *r = (struct roster){.members = MAP_INIT, .feeds = MAP_INIT, .endpoints = MAP_INIT};
    lanes_init(&r->lanes, max_turns);
}

static void member_free(void *value)
{
    struct member *m = value;

    if (m->n_feeds > 1)
        mem_free(m->feeds.many);
    mem_free(m);
}

static const int64_t *feeds_of(const struct member *m)
{
    return m->n_feeds == 1 ? &m->feeds.one : m->feeds.many;
}

static void feed_members_free(void *value)
{
    struct feed_members *f = value;

    mem_free(f->items);
    mem_free(f);
}

static void endpoint_free(void *value)
{
    mem_free(value);
}

void roster_release(struct roster *r)
{
    map_release(&r->members, member_free);
    map_release(&r->feeds, feed_members_free);
    map_release(&r->endpoints, endpoint_free);
    lanes_release(&r->lanes);
    roster_init(r, r->lanes.max);
}

struct member *roster_find(const struct roster *r, int64_t id)
{
    return map_get(&r->members, key_of(&id));
}

/* An endpoint waits for its turn when it is not busy and one of its members is due. When it is
 * held, only a test counts, which goes before the others: somebody wants to know now. */
static void endpoint_place(struct roster *r, struct endpoint *e)
{
    const struct member *first = TAILQ_FIRST(&e->due);

    if (!e->lane.is_busy)
        lanes_wait(&r->lanes, &e->lane, first != NULL && (e->hold == NULL || first->test != NULL));
}

static bool is_only_held(const struct endpoint *e)
{
    return e->n_members == 0 && e->hold != NULL;
}

static void endpoint_drop_unused(struct roster *r, struct endpoint *e)
{
    if (e->n_members > 0 || e->lane.is_busy || e->hold != NULL)
        return;
    lanes_leave(&r->lanes, &e->lane);
    map_del(&r->endpoints, str_from(e->url));
    endpoint_free(e);
}

struct member *roster_add(struct roster *r, int64_t id, struct str endpoint, bool is_failing)
{
    struct member *m = NEW(struct member);
    struct endpoint *e = map_get(&r->endpoints, endpoint);

    if (e == NULL) {
        e = NEW(struct endpoint);
        TAILQ_INIT(&e->due);
        map_put(&r->endpoints, endpoint, e);
        e->url = map_key(&r->endpoints, endpoint).ptr;
        lanes_join(&r->lanes, &e->lane, str_from(e->url), is_failing);
    }
    r->n_only_held -= is_only_held(e);
    e->n_members++;
    m->id = id;
    m->endpoint = e;
    m->state = ATTEMPT_IDLE;
    m = map_put(&r->members, key_of(&id), m);
    ASSERT(m == NULL);
    return roster_find(r, id);
}

static void feed_drop_member(struct roster *r, int64_t feed_id, const struct member *m)
{
    struct feed_members *f = map_get(&r->feeds, key_of(&feed_id));
    size_t i = 0;

    ASSERT(f != NULL);
    while (f->items[i] != m)
        i++;
    memmove(f->items + i, f->items + i + 1, (f->n - i - 1) * sizeof *f->items);
    if (--f->n == 0) {
        map_del(&r->feeds, key_of(&feed_id));
        feed_members_free(f);
    }
}

static void feed_add_member(struct roster *r, int64_t feed_id, struct member *m)
{
    struct feed_members *f = map_get(&r->feeds, key_of(&feed_id));

    if (f == NULL) {
        f = NEW(struct feed_members);
        map_put(&r->feeds, key_of(&feed_id), f);
    }
    f->items = mem_grow(f->items, &f->cap, f->n + 1, sizeof *f->items);
    f->items[f->n++] = m;
}

void roster_del(struct roster *r, struct member *m)
{
    struct endpoint *e = m->endpoint;

    if (m->state == ATTEMPT_DUE)
        roster_undue(r, m);
    for (size_t i = 0; i < m->n_feeds; i++)
        feed_drop_member(r, feeds_of(m)[i], m);
    map_del(&r->members, key_of(&m->id));
    e->n_members--;
    r->n_only_held += is_only_held(e);
    member_free(m);
    endpoint_drop_unused(r, e);
}

bool roster_set_feeds(struct roster *r, struct member *m, const int64_t *ids, size_t n)
{
    int64_t *sorted = mem_alloc((n + 1) * sizeof *sorted);
    const int64_t *old = feeds_of(m);
    size_t kept;

    if (n > 0)
        memcpy(sorted, ids, n * sizeof *ids);
    kept = view_ids_sort(sorted, n);
    if (kept == m->n_feeds && (kept == 0 || memcmp(sorted, old, kept * sizeof *sorted) == 0)) {
        mem_free(sorted);
        return false;
    }
    /* both lists are ascending: each step passes the smaller id, or both if they are equal */
    for (size_t i = 0, k = 0; i < m->n_feeds || k < kept;) {
        if (k == kept || (i < m->n_feeds && old[i] < sorted[k]))
            feed_drop_member(r, old[i++], m);
        else if (i == m->n_feeds || sorted[k] < old[i])
            feed_add_member(r, sorted[k++], m);
        else
            i++, k++;
    }
    if (m->n_feeds > 1)
        mem_free(m->feeds.many);
    m->n_feeds = (uint32_t)kept;
    if (kept > 1) {
        m->feeds.many = sorted;
        return true;
    }
    m->feeds.one = kept == 1 ? sorted[0] : 0;
    mem_free(sorted);
    return true;
}

struct member *const *roster_of_feed(const struct roster *r, int64_t feed_id, size_t *n_out)
{
    struct feed_members *f = map_get(&r->feeds, key_of(&feed_id));

    *n_out = f == NULL ? 0 : f->n;
    return f == NULL ? NULL : f->items;
}

/* Returns the first member due that is not a test, or NULL. Tests stand before the others, and
 * there are only a few (PUSH_TESTS_MAX). */
static struct member *first_but_tests(const struct endpoint *e)
{
    struct member *m = TAILQ_FIRST(&e->due);

    while (m != NULL && m->test != NULL)
        m = TAILQ_NEXT(m, due);
    return m;
}

void roster_due(struct roster *r, struct member *m)
{
    struct member *before = m->test == NULL ? NULL : first_but_tests(m->endpoint);

    if (before != NULL)
        TAILQ_INSERT_BEFORE(before, m, due);
    else
        TAILQ_INSERT_TAIL(&m->endpoint->due, m, due);
    endpoint_place(r, m->endpoint);
}

void roster_undue(struct roster *r, struct member *m)
{
    TAILQ_REMOVE(&m->endpoint->due, m, due);
    endpoint_place(r, m->endpoint);
}

/* Returns the member that is next: a test, but not twice in a row while others may have a turn.
 * Else somebody who tests again and again would keep them all from theirs. */
static struct member *next_of(const struct endpoint *e)
{
    struct member *other = e->had_test && e->hold == NULL ? first_but_tests(e) : NULL;

    return other != NULL ? other : TAILQ_FIRST(&e->due);
}

struct member *roster_next(struct roster *r)
{
    struct lane *lane = lanes_next(&r->lanes);
    struct endpoint *e;
    struct member *m;

    if (lane == NULL)
        return NULL;
    e = CONTAINER_OF(lane, struct endpoint, lane);
    m = next_of(e);
    e->had_test = m->test != NULL;
    TAILQ_REMOVE(&e->due, m, due);
    return m;
}

struct endpoint *roster_look(struct roster *r, int64_t mono_ms)
{
    struct lane *lane = lanes_look(&r->lanes, mono_ms);

    return lane == NULL ? NULL : CONTAINER_OF(lane, struct endpoint, lane);
}

struct endpoint *roster_busy(const struct roster *r, const struct endpoint *after)
{
    struct lane *lane =
        after == NULL ? TAILQ_FIRST(&r->lanes.busy) : TAILQ_NEXT(&after->lane, next);

    return lane == NULL ? NULL : CONTAINER_OF(lane, struct endpoint, lane);
}

void roster_hold(struct roster *r, struct endpoint *e, struct hold *hold)
{
    r->n_only_held -= is_only_held(e);
    e->hold = hold;
    r->n_only_held += is_only_held(e);
    endpoint_place(r, e);
    endpoint_drop_unused(r, e);
}

void roster_done(struct roster *r, struct endpoint *e, enum lanes_end end, int64_t mono_ms)
{
    e->turn = NULL;
    lanes_done(&r->lanes, &e->lane, end, mono_ms);
    endpoint_place(r, e);
    endpoint_drop_unused(r, e);
}
