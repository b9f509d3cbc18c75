/* feed/identity/policy.c - decides by which mark the entries of a feed are told apart, and when
 * this changes. */
#include "feed/identity/identity.h"

#include <stdlib.h>

#include "base/compiler.h"

/* Returns the mark that stays the same as long as the rule holds; 0: the entry does not have it. */
static int64_t mark_by(const struct entry_marks *m, enum identity_rule rule)
{
    switch (rule) {
    case IDENTITY_GUID:
        return m->guid_strong;
    case IDENTITY_LINK:
        return m->link;
    case IDENTITY_TITLE:
        return m->at == 0 ? 0 : m->title ^ (int64_t)((uint64_t)m->at * 0x9E3779B97F4A7C15u);
    default:
        return 0;
    }
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

static void sample(struct arena *a, const struct identity_entry *list, size_t n,
                   enum identity_rule rule, struct identity_sample *out)
{
    int64_t *marks = ARENA_ARRAY(a, int64_t, n + 1);

    for (size_t i = 0; i < n; i++) {
        int64_t mark = rule == IDENTITY_GUID ? list[i].marks.guid : mark_by(&list[i].marks, rule);

        if (mark != 0 && !list[i].is_double)
            marks[out->n_have++] = mark;
    }
    if (out->n_have > 1)
        qsort(marks, out->n_have, sizeof *marks, by_number);
    for (size_t i = 0; i < out->n_have; i++)
        out->n_shared += (i > 0 && marks[i] == marks[i - 1]) ||
                         (i + 1 < out->n_have && marks[i] == marks[i + 1]);
}

static void compare(const struct entry_marks *now, const struct entry_marks *then,
                    struct identity_evidence *out)
{
    bool other_link = now->link != 0 && then->link != 0 && now->link_weak != then->link_weak;
    bool other_title = now->title != 0 && then->title != 0 && now->title != then->title;
    bool other_date = now->at != 0 && then->at != 0 && now->at != then->at;

    out->n_matched++;
    for (int r = IDENTITY_GUID; r <= IDENTITY_TITLE; r++) {
        int64_t x = mark_by(now, r), y = mark_by(then, r);

        if (x != 0 && x == y)
            out->marks[r].n_kept++;
    }
    if (now->guid != 0 && then->guid != 0 && now->guid_weak != then->guid_weak)
        out->marks[IDENTITY_GUID].n_moved++;
    if (other_link)
        out->marks[IDENTITY_LINK].n_moved++;
    if (other_title || other_date)
        out->marks[IDENTITY_TITLE].n_moved++;
    out->n_reused +=
        now->guid != 0 && now->guid == then->guid && other_link && other_title && other_date;
}

void identity_observe(const struct identity_entry *list, size_t n,
                      const struct identity_known *known, const size_t *who,
                      struct identity_evidence *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    *out = (struct identity_evidence){.n = 0};
    for (int r = IDENTITY_GUID; r <= IDENTITY_TITLE; r++)
        sample(&a, list, n, r, &out->marks[r]);
    for (size_t i = 0; i < n; i++) {
        out->n += !list[i].is_double;
        if (who != NULL && who[i] != IDENTITY_NEW && known[who[i]].has_marks)
            compare(&list[i].marks, &known[who[i]].marks, out);
    }
}

bool identity_is_upheaval(const struct identity_evidence *e)
{
    const struct identity_sample *guid = &e->marks[IDENTITY_GUID], *link = &e->marks[IDENTITY_LINK];

    return e->n_matched >= 3 && (guid->n_moved > guid->n_kept || link->n_moved > link->n_kept);
}

/* ---- the state ------------------------------------------------------------------------------- */

static const char *const mark_name[IDENTITY_RULES] = {
    "", "guids", "links", "titles and dates", "contents",
};

/* Returns what this document shows against the rule, as a clause without a full stop. NULL:
 * nothing. */
static const char *objection(struct arena *a, const struct identity_evidence *e,
                             enum identity_rule rule)
{
    const struct identity_sample *s = &e->marks[rule];

    if (rule == IDENTITY_HASH)
        return NULL;
    if (s->n_have * 2 <= e->n)
        return arena_printf(a, "%zu of %zu entries have none", e->n - s->n_have, e->n);
    if (s->n_shared * 2 > s->n_have)
        return arena_printf(a, "%zu of %zu entries share theirs with another", s->n_shared, e->n);
    if (s->n_moved > s->n_kept)
        return arena_printf(a, "%zu of %zu entries came with another than before", s->n_moved,
                            e->n_matched);
    if (rule == IDENTITY_GUID && e->n_reused * 2 > e->n_matched)
        return arena_printf(a, "%zu of %zu were given to another entry", e->n_reused, e->n_matched);
    return NULL;
}

static enum identity_rule best_rule(struct arena *a, const struct identity_evidence *e)
{
    enum identity_rule r = IDENTITY_GUID;

    while (objection(a, e, r) != NULL)
        r++;
    return r;
}

/* Returns a better rule that this document proves: its mark is unique, and stayed the same. */
static enum identity_rule proved_rule(struct arena *a, const struct identity_evidence *e,
                                      enum identity_rule now)
{
    for (enum identity_rule r = IDENTITY_GUID; r < now; r++)
        if (objection(a, e, r) == NULL && e->marks[r].n_kept > 0 && e->marks[r].n_shared == 0)
            return r;
    return IDENTITY_UNSET;
}

static void set_rule(struct identity_policy *p, enum identity_rule rule, const char *why,
                     int64_t now)
{
    *p = (struct identity_policy){.rule = rule, .since_at = now, .why = str_from(why)};
}

bool identity_decide(struct arena *a, struct identity_policy *p,
                     const struct identity_evidence *seen, int64_t now)
{
    enum identity_rule best, proved;
    const char *against;

    if (seen->n == 0)
        return false;
    best = best_rule(a, seen);
    if (p->rule == IDENTITY_UNSET) {
        const char *why =
            best == IDENTITY_GUID
                ? "the first document has guids that differ"
                : arena_printf(a, "%s differ in the first document; of its %s, %s", mark_name[best],
                               mark_name[best - 1], objection(a, seen, best - 1));

        set_rule(p, best, why, now);
        return true;
    }
    against = objection(a, seen, p->rule);
    p->n_against = against == NULL ? 0 : p->n_against + 1;
    if (p->n_against >= IDENTITY_STRIKES) {
        set_rule(p, best,
                 arena_printf(a, "%s failed in %d documents in a row; in the last, %s",
                              mark_name[p->rule], IDENTITY_STRIKES, against),
                 now);
        return true;
    }
    proved = proved_rule(a, seen, p->rule);
    p->n_better = proved == IDENTITY_UNSET ? 0 : p->n_better + 1;
    if (p->n_better < IDENTITY_PROOFS)
        return false;
    set_rule(p, proved,
             arena_printf(a, "%s were unique and lasted in %d documents in a row",
                          mark_name[proved], IDENTITY_PROOFS),
             now);
    return true;
}
