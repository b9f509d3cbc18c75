/* api/hub/hub_early.h - intents that other nodes have settled before the request that stored them
 * was told so.
 *
 * The connection of the storer may break after its commit. Until it knows that the commit took
 * place, another node may verify the intent, and its notice comes before anybody here waits for
 * it. Only the last HUB_EARLY_MAX are kept. Pure; the caller has a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/hub.h"

#define HUB_EARLY_MAX 512

struct hub_early { /* all zero: none */
    struct hub_settled ring[HUB_EARLY_MAX];
    size_t next;
};

/* Another node has settled an intent that nobody here waits for. */
void hub_early_note(struct hub_early *e, const struct hub_settled *settled);

/* Is the intent among them? Then it is removed, and *out is what came of it. */
bool hub_early_take(struct hub_early *e, int64_t intent_id, struct hub_settled *out);
