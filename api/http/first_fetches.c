/* api/http/first_fetches.c - see first_fetches.h. */
#include "api/http/first_fetches.h"

#include "api/http/buckets.h"
#include "base/clock.h"

#define SHARE 10 /* one caller has so much of the whole */

bool first_fetches_take(const struct ask *ask, int64_t *wait_s)
{
    struct buckets *b = ask->api->first_fetches;
    int64_t all = ask->cfg->unknown_rate, own = all < SHARE ? 1 : all / SHARE;
    int64_t now = clock_mono_ms();
    struct str all_callers = STR("all"), source = ask->caller.source;
    struct bucket_left left;

    *wait_s = 0;
    if (ask->caller.role == ROLE_ADMIN || all <= 0)
        return true;
    if (buckets_spend(b, source, own, own, now, &left)) {
        if (buckets_spend(b, all_callers, all, all, now, &left))
            return true;
        buckets_give_back(b, source);
    }
    *wait_s = left.next_s < 1 ? 1 : left.next_s;
    return false;
}

void first_fetches_problem(struct problem *p, struct arena *a, int64_t wait_s)
{
    problem_set(p, a, PROBLEM_TOO_MANY,
                "Too many feeds that are not known here were asked for. Known feeds are served; "
                "try again in %lld seconds for the others.",
                (long long)wait_s);
    p->retry_after_s = (int)wait_s;
}
