/* fetcher/outage.h - recognises that our own connection to the network is down. Pure.
 *
 * There is an outage when the last OUTAGE_TRANSFERS transfers, to at least OUTAGE_HOSTS hosts, all
 * failed to resolve or to connect within OUTAGE_WINDOW_MS. Then our own connection is at fault, and
 * the failures do not count as errors of the feeds.
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
    } failures[OUTAGE_TRANSFERS]; /* ring of the last failures since the last success */
    uint64_t n;                   /* failures in a row */
    bool is_on;                   /* the caller's: whether the log was last told of an outage */
};

/* Note how a transfer to a host ended. `reached`: the host answered in some way. Returns true when
 * there is an outage now. */
bool outage_note(struct outage *o, struct str authority, bool reached, int64_t now_ms);
