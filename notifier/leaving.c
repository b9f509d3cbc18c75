/* notifier/leaving.c - members come and go with the slots of their endpoints: a part of turns.h. */
#include "base/mem.h"
#include "notifier/turns.h"

struct member *turns_add(struct turns *ts, int64_t id, struct str endpoint, bool is_failing)
{
    struct member *m = roster_add(&ts->roster, id, endpoint, is_failing);

    m->turns = ts;
    m->endpoint->slot = owned_slot(&ts->owned, endpoint);
    return m;
}

void turns_leave(struct turns *ts, struct member *m)
{
    if (m->is_leaving)
        return;
    m->is_leaving = true;
    ts->leaving = mem_grow(ts->leaving, &ts->cap_leaving, ts->n_leaving + 1, sizeof *ts->leaving);
    ts->leaving[ts->n_leaving++] = m->id;
}

void turns_lost(struct turns *ts, const struct slot_set *lost)
{
    void *it = NULL, *value;
    struct str key;

    while (map_next(&ts->roster.members, &it, &key, &value)) {
        struct member *m = value;

        if (m->test == NULL && slot_set_has(lost, m->endpoint->slot))
            turns_leave(ts, m);
    }
    it = NULL;
    while (map_next(&ts->roster.endpoints, &it, &key, &value)) {
        struct endpoint *e = value;

        if (slot_set_has(lost, e->slot)) /* the rows of its subscriptions say how long it rests */
            turns_let_go(ts, e);
    }
}

void turns_forget_left(struct turns *ts)
{
    size_t n = ts->n_leaving;

    ts->n_leaving = 0;
    for (size_t i = 0; i < n; i++) {
        struct member *m = roster_find(&ts->roster, ts->leaving[i]);

        if (m == NULL || !m->is_leaving)
            continue;
        if (m->turn == NULL && m->ack == NULL)
            turns_remove(ts, m);
        else /* its end calls turns_run() */
            ts->leaving[ts->n_leaving++] = m->id;
    }
}
