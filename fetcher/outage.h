/* fetcher/outage.h - recognises that our own connection to the network is down (ETIQ-04). Pure.
 *
 * It looks at the last transfer to each host within the last minute. There is an outage when at
 * least OUTAGE_HOSTS of them failed to resolve or to connect, and these are most of the hosts. It
 * is over when a host answers and these are not most of the hosts any more. Meanwhile failures do
 * not count as errors of the feeds, and those that counted within the minute before are taken back.
 *
 * A host that failed is down itself when another one is asked later and answers over the same way
 * (covers() in outage.c). Then it says nothing until it answers, so publishers that are down for
 * long neither keep an outage up nor begin it again, however many they are. Nor do feeds count that
 * have failed for long. Not over the same way are
 * - an answer of this machine or of a private address, for hosts that are farther away,
 * - an answer of a host whose address need not be looked up, or may be known from before, for names
 *   that cannot be resolved,
 * - for an hour, an answer without TLS for a host with TLS: a portal or a proxy of the network may
 *   have given it.
 *
 * A host that has never answered may not exist, so its failure says little. It counts only beside
 * that of a host that has answered once, and only when nobody answered within the minute; or when
 * no host is known that ever answered, for then nothing shows that there was a connection once.
 * When the name servers say that it does not exist, that is an answer, and it does not count at
 * all. Of a host that has answered once it is not believed: there are routers that say so of all
 * names while they have no connection.
 *
 * After a start in an outage, the first failure of a feed whose last one was ours tells that the
 * outage goes on, unless a host has answered since.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/guard.h"

#define OUTAGE_HOSTS_KEPT 1024 /* hosts of which the last transfer is remembered, */
#define OUTAGE_TRANSFERS 64    /* and so many of them are looked at, the last ones */
#define OUTAGE_HOSTS 5
#define OUTAGE_WINDOW_MS 60000
#define OUTAGE_ERRORS 3    /* after so many in a row it is the publisher */
#define OUTAGE_FAILED 1024 /* failures that counted: so many are remembered, the last ones */

struct outage_transfer {
    struct str authority;   /* "host:port" */
    bool reached;           /* the host answered in some way */
    bool is_no_name;        /* the name servers answered that the name does not exist */
    bool is_known;          /* it has answered before, whenever that was */
    bool others_are;        /* there are feeds of which that is known */
    bool is_secure;         /* with TLS */
    bool is_numeric;        /* the host is an address */
    bool is_unresolved;     /* its name could not be resolved */
    enum nearness nearness; /* of the host, unless it is unresolved */
    bool was_ours; /* the feed's last transfer failed in an outage, perhaps before a restart */
    int64_t feed_id;
    int n_errors; /* of the feed, before this transfer */
    int64_t began_ms, now_ms;
};

struct outage_note {
    unsigned char host[16]; /* digest of the authority */
    bool reached;
    bool is_known; /* it has answered at least once */
    bool is_down;  /* it failed while another host answered, and has not answered since */
    bool is_secure, is_unresolved;
    enum nearness nearness; /* is_unresolved: as it was last, if that is known */
    int64_t at_ms;
    int64_t since_ms; /* the first failure of those in a row */
};

struct outage_failure {
    int64_t feed_id, at_ms;
    int n_errors;
};

struct outage {
    struct outage_note notes[OUTAGE_HOSTS_KEPT]; /* one of each host, the last one at the end */
    size_t n;
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

/* Did this host fail last, in the outage that is on? */
bool outage_failed(const struct outage *o, struct str authority);

/* Write the feeds of which failures counted within the last minute, each once. Returns how many;
 * `out` must have room for OUTAGE_FAILED. */
size_t outage_missed(const struct outage *o, int64_t now_ms, struct outage_missed *out);
