/* api/http/first_fetches.c - see first_fetches.h. */
#include "api/http/first_fetches.h"

#include "api/http/buckets.h"
#include "base/clock.h"

#define SHARE 10 /* one caller has so much of the whole */
#define ALL_CALLERS STR("all")

int64_t first_fetches_share(const struct api_cfg *cfg)
{
    return cfg->unknown_rate < SHARE ? 1 : cfg->unknown_rate / SHARE;
}

static bool take(struct api *api, const struct api_cfg *cfg, const struct caller *c,
                 int64_t *wait_s)
{
    int64_t all = cfg->unknown_rate, own = first_fetches_share(cfg), now = clock_mono_ms();
    struct bucket_left left;

    *wait_s = 0;
    if (c->role == ROLE_ADMIN || all <= 0)
        return true;
    if (buckets_spend(api->first_fetches, c->source, own, own, now, &left)) {
        if (buckets_spend(api->first_fetches, ALL_CALLERS, all, all, now, &left))
            return true;
        buckets_give_back(api->first_fetches, c->source);
    }
    *wait_s = left.next_s < 1 ? 1 : left.next_s;
    return false;
}

bool first_fetches_take(const struct ask *ask, int64_t *wait_s)
{
    return take(ask->api, ask->cfg, &ask->caller, wait_s);
}

bool first_fetches_take_all(struct api *api, const struct api_cfg *cfg, const struct caller *c,
                            size_t n, int64_t *wait_s)
{
    int64_t share = first_fetches_share(cfg);
    size_t taken = 0;

    *wait_s = 0;
    while (taken < n && take(api, cfg, c, wait_s))
        taken++;
    if (taken == n)
        return true;
    *wait_s = ((int64_t)(n - taken) * 60 + share - 1) / share;
    for (; taken > 0; taken--) {
        buckets_give_back(api->first_fetches, c->source);
        buckets_give_back(api->first_fetches, ALL_CALLERS);
    }
    return false;
}

size_t first_fetches_of_lists(struct api *api, const struct api_cfg *cfg, size_t n)
{
    const struct caller lists = {.role = ROLE_SUBSCRIBE, .source = STR("lists")};
    int64_t wait_s;
    size_t taken = 0;

    while (taken < n && take(api, cfg, &lists, &wait_s))
        taken++;
    return taken;
}

void first_fetches_problem(struct problem *p, struct arena *a, int64_t wait_s)
{
    problem_set(p, a, PROBLEM_TOO_MANY,
                "Too many feeds that are not known here were asked for. Known feeds are served; "
                "try again in %lld seconds for the others.",
                (long long)wait_s);
    p->retry_after_s = (int)wait_s;
}

bool first_fetches_let(const struct request *req, const char *what, struct problem *p)
{
    struct arena *a = req->ask.arena;
    int64_t wait_s;

    if (req->ask.caller.role < ROLE_SUBSCRIBE) {
        problem_role(p, a, ROLE_SUBSCRIBE, req->ask.caller.role);
        p->detail = str_printf(a, "The %s is not known here. %.*s", what, STR_ARG(p->detail));
        return false;
    }
    if (request_is_foreign(req)) {
        request_foreign_problem(req, arena_printf(a, "make this server fetch an unknown %s", what),
                                p);
        return false;
    }
    if (first_fetches_take(&req->ask, &wait_s))
        return true;
    first_fetches_problem(p, a, wait_s);
    return false;
}
