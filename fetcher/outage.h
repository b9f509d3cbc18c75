/* fetcher/outage.h - is it us? Pure.
 *
 * When every one of the last transfers to several hosts failed to resolve or connect within a
 * minute, the fault is our own line, and no feed is charged for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define OUTAGE_TRANSFERS 20
#define OUTAGE_HOSTS 5
#define OUTAGE_WINDOW_MS 60000

struct outage {
    struct {
        int64_t at_ms;
        unsigned char host[16];   /* digest of "host:port" */
    } failures[OUTAGE_TRANSFERS]; /* ring: the last ones in a row, since the last success */
    uint64_t n;                   /* failures in a row */
    bool is_on;                   /* what was said last */
};

/* Note how a transfer to a host ended: `reached` when anything answered. Returns whether there is
 * an outage now. */
bool outage_note(struct outage *o, struct str authority, bool reached, int64_t now_ms);
