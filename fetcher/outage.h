/* fetcher/outage.h - recognises that our own connection to the network is down (ETIQ-04). Pure.
 *
 * It looks at the last transfer to each host within the last minute. There is an outage when at
 * least OUTAGE_HOSTS of them failed to resolve or to connect, and these are most of the hosts. It
 * is over when a host answers that was asked after it began and had not answered before, or when a
 * host answers and these are not most of the hosts any more. The hosts that failed until then, and
 * go on failing, are down themselves: they say nothing until they answer. Nor do feeds that have
 * failed for long. Meanwhile failures do not count as errors of the feeds, and those that counted
 * within the minute before are taken back.
 *
 * A host that has never answered may not exist, so its failure says little. It counts only beside
 * that of a host that has answered once, and only when nobody answered within the minute; or when
 * no host is known that ever answered, for then nothing shows that there was a connection once.
 * When the name servers say that it does not exist, that is an answer, and it does not count at all.
 * Of a host that has answered once it is not believed: there are routers that say so of all names
 * while they have no connection.
 *
 * After a start in an outage, the first failure of a feed whose last one was ours tells that the
 * outage goes on, unless a host has answered since.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define OUTAGE_TRANSFERS 64 /* how many are looked at, the last ones */
#define OUTAGE_HOSTS 5
#define OUTAGE_WINDOW_MS 60000
#define OUTAGE_ERRORS 3    /* after so many in a row it is the publisher */
#define OUTAGE_FAILED 1024 /* failures that counted: so many are remembered, the last ones */

struct outage_transfer {
    struct str authority; /* "host:port" */
    bool reached;         /* the host answered in some way */
    bool is_no_name;      /* the name servers answered that the name does not exist */
    bool is_known;        /* it has answered before, whenever that was */
    bool others_are;      /* there are feeds of which that is known */
    bool was_ours;        /* the feed's last transfer failed in an outage, perhaps before a restart */
    int64_t feed_id;
    int n_errors; /* of the feed, before this transfer */
    int64_t began_ms, now_ms;
};

struct outage_note {
    unsigned char host[16]; /* digest of the authority */
    bool reached;
    bool is_known; /* it has answered at least once */
    bool is_down; /* it failed while another host answered, and has not answered since */
    int64_t at_ms;
};

struct outage_failure {
    int64_t feed_id, at_ms;
    int n_errors;
};

struct outage {
    struct outage_note notes[OUTAGE_TRANSFERS];  /* ring */
    uint64_t n;                                  /* transfers, all */
    struct outage_failure failed[OUTAGE_FAILED]; /* ring: failures that counted */
    uint64_t n_failed;
    bool has_answer; /* somebody has answered since the start; ... */
    bool has_known;  /* ... or before it */
    bool is_on;
    int64_t since_ms; /* is_on: since when */
};

/* A feed whose failures were ours, and how many errors in a row it had before them. */
struct outage_missed {
    int64_t feed_id;
    int n_errors;
};

enum outage_change { OUTAGE_AS_BEFORE, OUTAGE_BEGINS, OUTAGE_ENDS };

/* Note how a transfer ended; o->is_on is what follows from it. Start with zeroes. */
enum outage_change outage_note(struct outage *o, const struct outage_transfer *t);

/* Write the feeds of which failures counted within the last minute, each once. Returns how many;
 * `out` must have room for OUTAGE_FAILED. */
size_t outage_missed(const struct outage *o, int64_t now_ms, struct outage_missed *out);
