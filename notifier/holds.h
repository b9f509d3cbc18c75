/* notifier/holds.h - until when endpoints want no call: for those who show subscriptions.
 *
 * The notify loop writes it, and any thread reads it. What follows from a hold is done by
 * holding.c.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct holds;

/* Never fails. */
struct holds *holds_new(void);
void holds_free(struct holds **hp);

/* The endpoint with this URL wants no call before this time, in Unix seconds. TIME_UNKNOWN: it
 * takes calls again. */
void holds_set(struct holds *h, struct str url, int64_t until);

/* Returns that time, or TIME_UNKNOWN. */
int64_t holds_get(struct holds *h, struct str url);
