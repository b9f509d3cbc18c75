/* api/views/host_rests.c - see host_rests.h. */
#include "api/views/host_rests.h"

#include <stdlib.h>

#include "base/clock.h"
#include "net/url.h"

static int compare(const void *x, const void *y)
{
    return str_cmp(((const struct host_until *)x)->host, ((const struct host_until *)y)->host);
}

/* Rounded up: at that second it is over. */
static int64_t second_of(int64_t now_us, int64_t left_ms)
{
    return (now_us + left_ms * 1000 + 999999) / 1000000;
}

enum rc host_rests_read(struct host_rests *out, struct reader *r, struct arena *a, struct err *err)
{
    struct host_rest *list;
    size_t n_now = 0;
    int64_t now_us;
    enum rc rc;

    *out = (struct host_rests){.now = clock_now_s()};
    rc = reader_host_rests(r, a, &list, &out->n, err);
    if (rc != RC_OK)
        return rc;
    now_us = clock_now_us();
    out->list = ARENA_ARRAY(a, struct host_until, out->n + 1);
    for (size_t i = 0, n = out->n; i < n; i++)
        if (list[i].gentle_ms > 0)
            out->list[n_now++] = (struct host_until){.host = list[i].host,
                                                     .cool_at = second_of(now_us, list[i].cool_ms),
                                                     .gentle_at = second_of(now_us, list[i].gentle_ms)};
    out->n = n_now;
    qsort(out->list, out->n, sizeof *out->list, compare);
    return RC_OK;
}

const struct host_until *host_rests_of(const struct host_rests *rests, struct str url,
                                       enum fetch_reason reason)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct host_until wanted;

    if (rests->n == 0 || reason == REASON_READER)
        return NULL;
    wanted.host = url_authority(&a, url);
    return bsearch(&wanted, rests->list, rests->n, sizeof *rests->list, compare);
}

int64_t host_until_due(const struct host_until *until, int64_t at)
{
    return until != NULL && at != TIME_UNKNOWN && at < until->cool_at ? until->cool_at : at;
}
