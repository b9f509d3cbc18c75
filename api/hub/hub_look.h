/* api/hub/hub_look.h - finds the requests at our hub and our cloud that were settled without a
 * notice: the node had to read all anew, or a server that took over has lost them. */
#pragma once

#include "base/arena.h"
#include "storage/store.h"

/* `gone`: the intents that are not stored any more, ascending. All notices that will ever tell of
 * them have been told. RC_AGAIN, RC_CLOSED: it cannot be known now; `gone` is NULL. Any thread. */
typedef void hub_look_fn(void *ctx, enum rc rc, const int64_t *gone, size_t n);

/* Look which of these intents are still stored; all of them have been. They are copied. `done` is
 * called once, on any thread, perhaps before this returns. */
void hub_look_start(struct store *s, const int64_t *ids, size_t n, hub_look_fn *done, void *ctx);
