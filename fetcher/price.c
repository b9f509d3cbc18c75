/* fetcher/price.c - see price.h. */
#include "fetcher/price.h"

#include "base/clock.h"
#include "fetcher/fetcher_priv.h"

#define RENEW_MS 60000
#define RENEW_PART 50 /* one in so many feeds */

static bool is_fresh(const struct fetcher *f, int64_t n, int64_t now_ms)
{
    int64_t more = n - f->n_priced;

    return f->rules.price > 0 && now_ms - f->priced_ms < RENEW_MS &&
           (more < 0 ? -more : more) <= f->n_priced / RENEW_PART;
}

void price_renew(struct fetcher *f)
{
    int64_t n = store_n_needs(f->store), now_ms = clock_mono_ms();
    uint32_t counts[NEED_CLASSES];

    if (!f->rules.adapts || f->rules.adaptive_budget == 0 || is_fresh(f, n, now_ms))
        return;
    f->rules.price = 0;
    if (n <= 0)
        return;
    store_needs(f->store, counts);
    budget_take(&f->budget, (double)f->rules.adaptive_budget, counts);
    f->rules.price = budget_price(&f->budget);
    f->priced_ms = now_ms;
    f->n_priced = n;
}

void price_note(struct fetcher *f, const struct job *job)
{
    const struct feed *feed = job->feed;

    if (feed == NULL || feed->level != 1 || feed->last_check_at == TIME_UNKNOWN ||
        feed->last_check_at < f->began_at || /* while it was stopped, nothing was fetched by the plan */
        job->rc == RC_CLOSED)
        return;
    if (feed->need_class > 0 && feed->need_class < NEED_CLASSES)
        budget_fetched(&f->budget, (need_class)feed->need_class,
                       job->started_at - feed->last_check_at);
}
