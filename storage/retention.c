/* storage/retention.c - see retention.h. */
#include "storage/retention.h"

#include "base/map.h"
#include "model/shown.h"

/* Does the whole entry go? */
static bool leaves(const struct retention *how, const struct old_revision *r)
{
    return r->last_seq <= how->limit && !(r->lives && shown_has(how->shown, r->uid));
}

static void take(struct taken *out, struct map *seen, struct arena *a, int64_t seq, int64_t at_us)
{
    int64_t *key = ARENA_NEW(a, int64_t);

    *key = seq;
    if (map_put(seen, str_of((const char *)key, sizeof *key), out) != NULL)
        return;
    out->seqs[out->n++] = seq;
    if (seq > out->last_seq) {
        out->last_seq = seq;
        out->last_at_us = at_us;
    }
}

void retention_choose(const struct retention *how, const struct old_revision *rows, size_t n,
                      struct arena *a, struct taken *out)
{
    AUTO(map_forget) struct map seen = MAP_INIT;

    *out = (struct taken){.seqs = ARENA_ARRAY(a, int64_t, 2 * n + 1),
                          .entries = ARENA_ARRAY(a, int64_t, n + 1)};
    for (size_t i = 0; i < n && rows[i].seq <= how->limit; i++) {
        const struct old_revision *r = &rows[i];
        bool is_first = r->seq == r->first_seq, is_last = r->seq == r->last_seq;

        if (!is_first && !is_last) {
            take(out, &seen, a, r->seq, r->at_us);
            continue;
        }
        if (!leaves(how, r))
            continue;
        take(out, &seen, a, r->seq, r->at_us);
        take(out, &seen, a, r->last_seq, r->last_at_us);
        if (is_last && !is_first && r->first_seq >= rows[0].seq)
            continue; /* it went with its first one */
        out->entries[out->n_entries++] = r->entry_id;
        out->n_live += r->lives;
    }
}

void retention_end(const struct gone_entry *rows, size_t n, struct str shown, int64_t now,
                   struct arena *a, struct ended *out)
{
    *out = (struct ended){.ended = ARENA_ARRAY(a, int64_t, n + 1),
                          .shown = ARENA_ARRAY(a, int64_t, n + 1)};
    for (size_t i = 0; i < n; i++) {
        if (shown_has(shown, rows[i].uid))
            out->shown[out->n_shown++] = rows[i].id;
        else if (rows[i].gone_at <= now - RETENTION_KNOWN_S - RETENTION_LOOK_S)
            out->ended[out->n_ended++] = rows[i].id;
    }
}

void retention_merge(const struct twin_pair *pairs, size_t n, struct arena *a,
                     struct twins_end *out)
{
    *out = (struct twins_end){.mine = ARENA_ARRAY(a, int64_t, n + 1),
                              .theirs = ARENA_ARRAY(a, int64_t, n + 1)};
    for (size_t i = 0, end = 0; i < n; i = end) {
        bool lives = false;

        for (; end < n && pairs[end].mine == pairs[i].mine; end++)
            lives |= !pairs[end].theirs_gone;
        if (lives || pairs[i].mine_gone)
            out->mine[out->n_mine++] = pairs[i].mine;
        else
            for (size_t k = i; k < end; k++)
                out->theirs[out->n_theirs++] = pairs[k].theirs;
    }
}
