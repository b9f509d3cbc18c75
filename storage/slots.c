/* storage/slots.c - see slots.h. */
#include "storage/slots.h"

#include <string.h>

#include "base/digest.h"

unsigned slot_of(struct str authority)
{
    unsigned char hash[16];

    digest_content(authority, hash);
    return hash[0];
}

size_t slots_share(int64_t me, const struct slot_node *nodes, size_t n)
{
    size_t n_workers = 0, rank = 0;
    bool works = false;

    for (size_t i = 0; i < n; i++) {
        if (nodes[i].is_draining)
            continue;
        n_workers++;
        rank += nodes[i].id < me;
        works |= nodes[i].id == me;
    }
    return works ? SLOTS / n_workers + (rank < SLOTS % n_workers) : 0;
}

/* Of our slots, drain so many: first those that are being drained already. */
static void drain(enum slot_step out[SLOTS], const enum slot_step was[SLOTS], size_t n)
{
    for (int again = 1; again >= 0 && n > 0; again--)
        for (size_t i = 0; i < SLOTS && n > 0; i++)
            if (out[i] == SLOT_KEEP && (was[i] == SLOT_DRAIN) == again) {
                out[i] = SLOT_DRAIN;
                n--;
            }
}

void slots_plan(int64_t me, const struct slot_node *nodes, size_t n,
                const struct slot_state slots[SLOTS], const enum slot_step was[SLOTS],
                enum slot_step out[SLOTS])
{
    size_t share = slots_share(me, nodes, n), mine = 0;

    for (size_t i = 0; i < SLOTS; i++) {
        out[i] = slots[i].owner == me ? SLOT_KEEP : SLOT_NONE;
        mine += out[i] == SLOT_KEEP;
    }
    if (mine > share)
        drain(out, was, mine - share);
    for (size_t i = 0; i < SLOTS && mine < share; i++)
        if (slots[i].owner == 0) {
            out[i] = SLOT_TAKE;
            mine++;
        }
}
