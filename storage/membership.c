/* storage/membership.c - see membership.h. */
#include "storage/membership.h"

#include <string.h>

#include "base/compiler.h"

#define NODES_MAX 256 /* more could not share SLOTS slots */
#define SOON_MS 100   /* pause before a beat that moves slots */
#define AGAIN_MS 1000 /* the same after one that has failed */

static int64_t beat_ms(const struct membership *m)
{
    return m->lease_ms / 3;
}

static int64_t trust_ms(const struct membership *m)
{
    return m->lease_ms * 2 / 3;
}

void membership_init(struct membership *m, int64_t lease_ms)
{
    *m = (struct membership){.lease_ms = lease_ms};
}

void membership_joined(struct membership *m, int64_t id, int64_t sent_ms)
{
    m->id = id;
    m->sent_ms = m->tried_ms = sent_ms;
    m->has_failed = false;
    m->n_take = SLOTS; /* the first beat follows at once */
}

void membership_drop(struct membership *m)
{
    m->id = 0;
    m->n_take = 0;
    memset(m->slots, 0, sizeof m->slots);
}

int64_t membership_left_ms(const struct membership *m, int64_t now_ms)
{
    int64_t left = m->sent_ms + trust_ms(m) - now_ms;

    return m->id == 0 || left < 0 ? 0 : left;
}

bool membership_is_trusted(const struct membership *m, int64_t now_ms)
{
    return membership_left_ms(m, now_ms) > 0;
}

const struct member_slot *membership_slot(const struct membership *m, unsigned slot, int64_t now_ms)
{
    const struct member_slot *s = &m->slots[slot];

    return s->step == SLOT_KEEP && membership_is_trusted(m, now_ms) ? s : NULL;
}

bool membership_may_go_on(const struct membership *m, unsigned slot, int64_t fence, int64_t now_ms)
{
    const struct member_slot *s = &m->slots[slot];

    if (s->step == SLOT_NONE || s->fence != fence || !membership_is_trusted(m, now_ms))
        return false;
    return s->step == SLOT_KEEP || now_ms - s->drain_ms < m->lease_ms;
}

bool membership_is_gap(const struct membership *m, int64_t last_ms, int64_t now_ms)
{
    return now_ms - last_ms > m->lease_ms - trust_ms(m);
}

bool membership_changes(const struct membership *m, struct member_told *told, int64_t now_ms,
                        struct slot_set *gained, struct slot_set *lost)
{
    bool has_changed = false, has_lapsed = told->n_lapses != m->n_lapses;

    *gained = *lost = (struct slot_set){{0}};
    told->n_lapses = m->n_lapses;
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct member_slot *s = membership_slot(m, i, now_ms);
        int64_t fence = s == NULL ? 0 : s->fence;

        if (fence == told->fences[i] && (fence == 0 || !has_lapsed))
            continue;
        if (told->fences[i] != 0)
            slot_set_add(lost, i);
        if (fence != 0)
            slot_set_add(gained, i);
        told->fences[i] = fence;
        has_changed = true;
    }
    return has_changed;
}

size_t membership_n_slots(const struct membership *m)
{
    size_t n = 0;

    for (size_t i = 0; i < SLOTS; i++)
        n += m->slots[i].step != SLOT_NONE;
    return n;
}

/* ---- beats ----------------------------------------------------------------------------------- */

static bool can_give(const struct membership *m, const unsigned n_running[SLOTS], size_t i)
{
    return m->slots[i].step == SLOT_DRAIN && n_running[i] == 0;
}

int64_t membership_next_ms(const struct membership *m, const unsigned n_running[SLOTS])
{
    if (m->has_failed)
        return m->tried_ms + (beat_ms(m) < AGAIN_MS ? beat_ms(m) : AGAIN_MS);
    if (m->id == 0)
        return m->tried_ms + SOON_MS;
    for (size_t i = 0; i < SLOTS; i++)
        if (m->n_take > 0 || can_give(m, n_running, i))
            return m->tried_ms + SOON_MS;
    return m->tried_ms + beat_ms(m);
}

void membership_ask(struct membership *m, int64_t now_ms, const unsigned n_running[SLOTS],
                    struct beat *out)
{
    m->tried_ms = now_ms;
    *out = (struct beat){.id = m->id,
                         .lease_ms = m->lease_ms,
                         .notice = -1,
                         .is_draining = m->is_draining,
                         .n_take = m->is_draining ? 0 : m->n_take};
    for (size_t i = 0; i < SLOTS; i++)
        if (can_give(m, n_running, i))
            out->give[out->n_give++] = (int64_t)i;
}

/* Is there a reason to give back all slots? */
static enum member_news reason_to_drain(const struct membership *m, const struct beat_answer *a,
                                        struct str name, int64_t schema_version)
{
    enum member_news news = MEMBER_AS_BEFORE;

    if (a->schema_version > schema_version)
        return MEMBER_OUTDATED;
    for (size_t i = 0; i < a->n; i++) {
        if (a->nodes[i].id > m->id && str_eq(a->nodes[i].name, name))
            return MEMBER_REPLACED;
        if (a->nodes[i].id == m->id && a->nodes[i].is_draining)
            news = MEMBER_DRAINS;
    }
    return news;
}

/* The nodes that share the slots, as far as there is room for them. */
static size_t list_nodes(const struct membership *m, const struct beat_answer *a,
                         struct slot_node out[NODES_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < a->n && n < NODES_MAX; i++)
        out[n++] = (struct slot_node){
            a->nodes[i].id, a->nodes[i].is_draining || (a->nodes[i].id == m->id && m->is_draining)};
    return n;
}

static void take_slot(struct member_slot *s, const struct slot_state *is, enum slot_step step,
                      int64_t now_ms)
{
    if (s->step == SLOT_NONE || s->fence != is->fence)
        *s = (struct member_slot){
            .fence = is->fence, .taken_ms = now_ms, .was_left = is->given != is->fence - 1};
    if (step == SLOT_DRAIN && s->step != SLOT_DRAIN)
        s->drain_ms = now_ms;
    s->step = step;
}

/* Has a server just taken over that may lack the last moves of slots? Then the owner that its table
 * names may not be the one that has worked there last, and that one trusts its lease still: since
 * the server before has stopped, for two thirds of a lease at most. A clock that was set back makes
 * no wait. */
static bool is_after_fork(const struct membership *m, const struct beat_answer *a)
{
    int64_t age_us = a->now_us - a->forked_us;

    return a->forked_us != 0 && age_us >= 0 && age_us < m->lease_ms * 1000;
}

/* Own nothing, and take nothing. In the table the slots are ours still, so nobody else takes them.
 */
static enum member_news lose_slots(struct membership *m)
{
    bool had_any = membership_n_slots(m) > 0;

    m->n_take = 0;
    memset(m->slots, 0, sizeof m->slots);
    return had_any ? MEMBER_WAITS : MEMBER_AS_BEFORE;
}

/* The table says what is ours; what a lost answer would have said is seen there, too. */
static void take_slots(struct membership *m, const struct beat_answer *a, int64_t now_ms)
{
    struct slot_node nodes[NODES_MAX];
    enum slot_step was[SLOTS], out[SLOTS];
    size_t n = list_nodes(m, a, nodes);

    for (size_t i = 0; i < SLOTS; i++)
        was[i] = m->slots[i].step;
    slots_plan(m->id, nodes, n, a->slots, was, out);
    m->n_take = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (a->slots[i].owner == m->id) {
            take_slot(&m->slots[i], &a->slots[i], out[i], now_ms);
        } else {
            m->slots[i] = (struct member_slot){.step = SLOT_NONE};
            m->n_take += out[i] == SLOT_TAKE;
        }
}

enum member_news membership_told(struct membership *m, const struct beat_answer *a, struct str name,
                                 int64_t schema_version, int64_t now_ms)
{
    enum member_news news;

    m->has_failed = false;
    if (a->is_gone) {
        membership_drop(m);
        return MEMBER_GONE;
    }
    if (!membership_is_trusted(m, now_ms)) /* it ended while the beat was under way */
        m->n_lapses++;
    m->sent_ms = a->sent_ms;
    news = m->is_draining ? MEMBER_AS_BEFORE : reason_to_drain(m, a, name, schema_version);
    m->is_draining = m->is_draining || news != MEMBER_AS_BEFORE;
    if (!is_after_fork(m, a))
        take_slots(m, a, now_ms);
    else if (lose_slots(m) == MEMBER_WAITS && news == MEMBER_AS_BEFORE)
        news = MEMBER_WAITS;
    return news;
}

void membership_failed(struct membership *m)
{
    m->has_failed = true;
}
