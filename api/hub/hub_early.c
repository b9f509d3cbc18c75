/* api/hub/hub_early.c - see hub_early.h. */
#include "api/hub/hub_early.h"

void hub_early_note(struct hub_early *e, const struct hub_settled *settled)
{
    e->ring[e->next] = *settled;
    e->next = (e->next + 1) % HUB_EARLY_MAX;
}

bool hub_early_take(struct hub_early *e, int64_t intent_id, struct hub_settled *out)
{
    for (size_t i = 0; i < HUB_EARLY_MAX; i++)
        if (e->ring[i].intent_id == intent_id) {
            *out = e->ring[i];
            e->ring[i].intent_id = 0; /* ids begin at 1 */
            return true;
        }
    return false;
}
