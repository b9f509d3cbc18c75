/* fetcher/outage.c - see outage.h. */
#include "fetcher/outage.h"

#include <string.h>

#include "base/digest.h"

static unsigned count_hosts(const struct outage *o)
{
    unsigned n = 0;

    for (unsigned i = 0; i < OUTAGE_TRANSFERS; i++) {
        unsigned k = 0;

        while (k < i && memcmp(o->failures[k].host, o->failures[i].host, 16) != 0)
            k++;
        if (k == i)
            n++;
    }
    return n;
}

bool outage_note(struct outage *o, struct str authority, bool reached, int64_t now_ms)
{
    uint64_t oldest;

    if (reached) {
        o->n = 0;
        return false;
    }
    o->failures[o->n % OUTAGE_TRANSFERS].at_ms = now_ms;
    digest_content(authority, o->failures[o->n % OUTAGE_TRANSFERS].host);
    o->n++;
    if (o->n < OUTAGE_TRANSFERS)
        return false;
    oldest = o->n % OUTAGE_TRANSFERS;
    return now_ms - o->failures[oldest].at_ms <= OUTAGE_WINDOW_MS && count_hosts(o) >= OUTAGE_HOSTS;
}
