/* fetcher/upstream_rules.c - see upstream_rules.h. */
#include "fetcher/upstream_rules.h"

#include "base/assert.h"

#define SAID_MOST 100 /* bytes of a refusal's body that are shown */
#define RETRY_S 30
#define DAY_S 86400
#define STATES (UPSTREAM_ENDING + 1)
#define STAYS (-1)

/* While the lease has not ended, REFUSED does not change ACTIVE; upstream_next() sees to that. */
static const signed char table[STATES][UPSTREAM_EVENTS_] = {
    [UPSTREAM_IDLE] = {[UPSTREAM_WANTED] = UPSTREAM_ASKING,
                       [UPSTREAM_UNWANTED] = UPSTREAM_ENDING,
                       [UPSTREAM_VERIFIED] = STAYS,
                       [UPSTREAM_REFUSED] = UPSTREAM_FAILED,
                       [UPSTREAM_EXPIRED] = STAYS,
                       [UPSTREAM_OVER] = UPSTREAM_IDLE},
    [UPSTREAM_ASKING] = {[UPSTREAM_WANTED] = STAYS,
                         [UPSTREAM_UNWANTED] = UPSTREAM_ENDING,
                         [UPSTREAM_VERIFIED] = UPSTREAM_ACTIVE,
                         [UPSTREAM_REFUSED] = UPSTREAM_FAILED,
                         [UPSTREAM_EXPIRED] = STAYS,
                         [UPSTREAM_OVER] = UPSTREAM_IDLE},
    [UPSTREAM_ACTIVE] = {[UPSTREAM_WANTED] = STAYS,
                         [UPSTREAM_UNWANTED] = UPSTREAM_ENDING,
                         [UPSTREAM_VERIFIED] = UPSTREAM_ACTIVE,
                         [UPSTREAM_REFUSED] = UPSTREAM_FAILED,
                         [UPSTREAM_EXPIRED] = UPSTREAM_FAILED,
                         [UPSTREAM_OVER] = UPSTREAM_IDLE},
    [UPSTREAM_FAILED] = {[UPSTREAM_WANTED] = STAYS,
                         [UPSTREAM_UNWANTED] = UPSTREAM_ENDING,
                         [UPSTREAM_VERIFIED] = UPSTREAM_ACTIVE,
                         [UPSTREAM_REFUSED] = UPSTREAM_FAILED,
                         [UPSTREAM_EXPIRED] = STAYS,
                         [UPSTREAM_OVER] = UPSTREAM_IDLE},
    [UPSTREAM_ENDING] = {[UPSTREAM_WANTED] = UPSTREAM_ASKING,
                         [UPSTREAM_UNWANTED] = STAYS,
                         [UPSTREAM_VERIFIED] = STAYS,
                         [UPSTREAM_REFUSED] = STAYS,
                         [UPSTREAM_EXPIRED] = STAYS,
                         [UPSTREAM_OVER] = UPSTREAM_IDLE},
};

enum upstream_state upstream_next(enum upstream_state state, enum upstream_event event,
                                  bool has_lease)
{
    int next;

    ASSERT((int)state < STATES && event < UPSTREAM_EVENTS_);
    next = table[state][event];
    if (state == UPSTREAM_ACTIVE && event == UPSTREAM_REFUSED && has_lease)
        next = STAYS;
    return next == STAYS ? state : (enum upstream_state)next;
}

bool upstream_is_asked(enum upstream_state state)
{
    return state == UPSTREAM_ASKING || state == UPSTREAM_ACTIVE || state == UPSTREAM_FAILED;
}

int64_t upstream_retry_s(int n_errors)
{
    int64_t wait = RETRY_S;

    while (--n_errors > 0 && wait < DAY_S)
        wait *= 2;
    return wait < DAY_S ? wait : DAY_S;
}

int64_t upstream_lease_s(struct str text)
{
    int64_t lease;

    if (!str_to_i64(str_trim(text), &lease) || lease <= 0)
        return UPSTREAM_LEASE_S;
    return lease < UPSTREAM_LEASE_S_MAX ? lease : UPSTREAM_LEASE_S_MAX;
}

int64_t upstream_renew_s(int64_t lease_s)
{
    int64_t before = lease_s / 3 < DAY_S ? lease_s / 3 : DAY_S;

    return lease_s - (before > 0 ? before : lease_s > 1);
}

bool upstream_hub_eq(const struct upstream_hub *x, const struct upstream_hub *y)
{
    return str_eq(x->url, y->url) && x->protocol == y->protocol &&
           str_eq(x->procedure, y->procedure);
}

const char *upstream_noun(enum hub_protocol protocol)
{
    return protocol == HUB_WEBSUB ? "hub" : "cloud";
}

const struct upstream_hub *upstream_choose_hub(const struct upstream_hub *hubs, size_t n,
                                               const struct upstream_hub *failed)
{
    for (size_t i = 0; i < n && failed != NULL; i++)
        if (upstream_hub_eq(&hubs[i], failed))
            return &hubs[(i + 1) % n];
    return &hubs[0];
}

struct str upstream_said(struct str text, struct str token, struct str secret)
{
    struct str said = str_slice(str_trim(text), 0, SAID_MOST);

    if (str_find(text, token) >= 0 || (secret.len > 0 && str_find(text, secret) >= 0))
        return STR("");
    said.len = str_utf8_valid(said);
    return said;
}
