/* notifier/backoff.c - see backoff.h. */
#include "notifier/backoff.h"

#define TRIED_ENOUGH_MS (3600 * (int64_t)1000)

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t backoff_nominal_ms(const struct backoff *b, int n_failures)
{
    int64_t max_ms = b->max_ms < 1 ? 1 : b->max_ms;
    int64_t ms = b->first_ms < 1 ? 1 : smaller(b->first_ms, BACKOFF_FIRST_MAX_MS);

    for (int i = 1; i < n_failures && ms < max_ms; i++)
        ms *= 2;
    return smaller(ms, max_ms);
}

int64_t backoff_pause_ms(const struct backoff *b, int n_failures, uint32_t random)
{
    int64_t ms = backoff_nominal_ms(b, n_failures);
    int64_t most = b->max_ms < 1 ? 1 : b->max_ms;

    ms += ms / 10 - ms / 5 * (int64_t)(random % 1001) / 1000;
    if (n_failures <= 1)
        most = smaller(most, BACKOFF_FIRST_MAX_MS);
    return ms < 1 ? 1 : smaller(ms, most);
}

bool backoff_is_over(const struct backoff *b, int n_failures, int64_t failing_s, int64_t limit_s)
{
    int64_t enough_ms = limit_s < TRIED_ENOUGH_MS / 1000 ? limit_s * 1000 : TRIED_ENOUGH_MS;
    int64_t tried_ms = 0;

    if (failing_s < limit_s)
        return false;
    for (int i = 1; i < n_failures && tried_ms < enough_ms; i++)
        tried_ms += backoff_nominal_ms(b, i);
    return tried_ms >= enough_ms * 9 / 10; /* the random part may have made each pause shorter */
}
