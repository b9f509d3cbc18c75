/* api/lists/sub_delivery.h - how a subscription wants its deliveries: the parameters `events` and
 * `batch`. Pure. A check that fails sets *p and returns false. */
#pragma once

#include "api/http/params.h"

/* Get `events`: names separated by commas, or repeated. *out: bits of enum sub_event; 0: it is
 * missing. `sink` is the sink of the subscription, which must be able to tell them. */
bool sub_events_read(const struct params *ps, struct arena *a, struct str sink, unsigned *out,
                     struct problem *p) NODISCARD;

/* The same for a change, where an empty list is wrong. */
bool sub_events_change(const struct params *ps, struct arena *a, struct str sink, unsigned *out,
                       struct problem *p) NODISCARD;

/* Get `batch`, 1 to the most that its row allows; 0: it is missing. */
bool sub_batch_read(const struct params *ps, struct arena *a, int *out,
                    struct problem *p) NODISCARD;
