/* storage/rows_subs.c - see rows_subs.h. */
#include "storage/rows_subs.h"

#include <string.h>

#include "base/assert.h"

struct held_sub *rows_sub(struct rows *r, int64_t id)
{
    return rows_find(r, ROW_SUB, id, STR_NULL);
}

struct held_sub *rows_add_sub(struct rows *r, int64_t id)
{
    struct held_sub *sub = rows_add(r, ROW_SUB, id, STR_NULL);

    sub->row.id = id;
    return sub;
}

void rows_add_note(struct rows *r, struct held_sub *sub, const struct delivery_note *note)
{
    struct held_note *line = rows_add_hidden(r, ROW_NOTE);

    ASSERT(sub->held.is_touched);
    line->sub_id = sub->row.id;
    line->slot = sub->row.n_calls++ % DELIVERIES_KEPT;
    line->note = note;
    rows_create(r, ROW_NOTE, line);
}

/* ---- dead letters ---------------------------------------------------------------------------- */

/* Nobody looks for a dead letter but through its subscription. */
struct held_dead *rows_add_dead(struct rows *r, struct held_sub *sub)
{
    struct held_dead *dead = rows_add_hidden(r, ROW_DEAD);

    if (sub->n_dead == sub->cap_dead) {
        size_t cap = sub->cap_dead == 0 ? 4 : 2 * sub->cap_dead;
        struct held_dead **grown = ARENA_ARRAY(&r->arena, struct held_dead *, cap);

        if (sub->n_dead > 0)
            memcpy(grown, sub->dead, sub->n_dead * sizeof(void *));
        sub->dead = grown;
        sub->cap_dead = cap;
    }
    sub->dead[sub->n_dead++] = dead;
    return dead;
}

static void refuse(struct rows *r, struct held_dead *dead, const struct dead_letter *d)
{
    rows_change(r, ROW_DEAD, dead, DEAD_WRITES_REFUSAL);
    dead->row.refused_at = d->refused_at;
    dead->row.status = d->status;
    dead->row.answer = d->answer;
    dead->row.wanted = false;
}

/* Drop the oldest ones that are too many. */
static void drop_oldest(struct rows *r, struct held_sub *sub)
{
    size_t n = 0;

    for (size_t i = 0; i < sub->n_dead; i++)
        n += sub->dead[i]->held.exists;
    for (size_t i = 0; n > DEAD_LETTERS_KEPT; i++)
        if (sub->dead[i]->held.exists) {
            rows_drop(r, ROW_DEAD, sub->dead[i]);
            n--;
        }
}

void rows_dead_add(struct rows *r, struct held_sub *sub, const struct dead_letter *d)
{
    struct held_dead *dead;
    bool is_known = false;

    ASSERT(sub->has_dead && sub->held.is_touched);
    for (size_t i = 0; i < sub->n_dead; i++) {
        dead = sub->dead[i];
        if (!dead->held.exists || dead->row.at.seq != d->at.seq)
            continue;
        refuse(r, dead, d);
        is_known = true;
    }
    if (is_known)
        return;
    dead = rows_add_dead(r, sub);
    rows_create(r, ROW_DEAD, dead);
    dead->row = *d;
    dead->row.id = 0;
    dead->row.sub_id = sub->row.id;
    drop_oldest(r, sub);
}

/* The ones with this id, or all when it is 0: those that are not dropped. */
static bool is_meant(const struct held_dead *dead, int64_t id)
{
    return dead->held.exists && (id == 0 || dead->row.id == id);
}

void rows_dead_refused(struct rows *r, struct held_sub *sub, const struct dead_letter *d)
{
    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++)
        if (is_meant(sub->dead[i], d->id))
            refuse(r, sub->dead[i], d);
}

void rows_dead_delivered(struct rows *r, struct held_sub *sub, int64_t first, int64_t last)
{
    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++) {
        struct held_dead *dead = sub->dead[i];

        if (dead->held.exists && dead->row.at.seq >= first && dead->row.at.seq <= last)
            rows_drop(r, ROW_DEAD, dead);
    }
}

size_t rows_dead_drop(struct rows *r, struct held_sub *sub, int64_t id)
{
    size_t n = 0;

    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++)
        if (is_meant(sub->dead[i], id)) {
            rows_drop(r, ROW_DEAD, sub->dead[i]);
            n++;
        }
    return n;
}

size_t rows_dead_want(struct rows *r, struct held_sub *sub, int64_t id)
{
    size_t n = 0;

    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++)
        if (is_meant(sub->dead[i], id)) {
            rows_change(r, ROW_DEAD, sub->dead[i], DEAD_WRITES_WANTED);
            sub->dead[i]->row.wanted = true;
            n++;
        }
    return n;
}
