/* notifier/owned.c - see owned.h. */
#include "notifier/owned.h"

#include <string.h>

#include "base/clock.h"
#include "net/url.h"

#define AGAIN_MS 200 /* pause when a slot is not yet ours, or no longer and we were not told */

void owned_init(struct owned *o, struct nodes *nodes, struct str xmpp)
{
    *o = (struct owned){.nodes = nodes, .xmpp = xmpp, .is_shared = nodes != NULL};
    memset(&o->slots, nodes == NULL ? 0xff : 0, sizeof o->slots);
}

void owned_change(struct owned *o, const struct slot_set *gained, const struct slot_set *lost)
{
    for (size_t i = 0; i < ARRAY_LEN(o->slots.words); i++) {
        o->slots.words[i] &= ~lost->words[i];
        o->slots.words[i] |= gained->words[i];
        o->unread.words[i] |= gained->words[i];
    }
}

void owned_read(struct owned *o)
{
    o->unread = (struct slot_set){.words = {0}};
}

/* The name by which an endpoint has its slot. */
static struct str name_of(const struct owned *o, struct arena *a, struct str url)
{
    if (str_starts(url, STR("xmpp:")))
        return str_is_null(o->xmpp) ? STR("") : o->xmpp;
    return url_authority(a, url);
}

unsigned owned_slot(const struct owned *o, struct str url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return o->is_shared ? nodes_slot(name_of(o, &a, url)) : 0;
}

bool permit_get(const struct owned *o, struct str url, struct permit *p, int64_t *wait_ms)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t left_ms;

    *wait_ms = AGAIN_MS;
    p->is_held = false;
    if (!o->is_shared)
        return true;
    if (slot_set_has(&o->unread, owned_slot(o, url)))
        return false;
    p->is_held = nodes_begin(o->nodes, name_of(o, &a, url), &p->claim);
    if (!p->is_held)
        return false;
    left_ms = p->claim.since_ms + o->lapse_ms - clock_mono_ms();
    if (!p->claim.was_left || left_ms <= 0)
        return true;
    *wait_ms = left_ms;
    permit_end(o, p);
    return false;
}

bool permit_is_good(const struct owned *o, const struct permit *p)
{
    return !p->is_held || nodes_may_go_on(o->nodes, &p->claim);
}

bool owned_is_gap(const struct owned *o, int64_t last_ms)
{
    return o->is_shared && nodes_is_gap(o->nodes, last_ms);
}

void permit_end(const struct owned *o, struct permit *p)
{
    if (p->is_held)
        nodes_end(o->nodes, &p->claim);
    p->is_held = false;
}
