/* notifier/holding.c - endpoints that are left alone for a while, because they have said so: a part
 * of turns.h. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "notifier/turns.h"

struct hold {
    struct turns *ts;
    struct endpoint *endpoint;
    struct loop_timer *timer; /* NULL: it has fired */
};

static void hold_free(struct hold *hold)
{
    if (hold != NULL && hold->timer != NULL)
        loop_timer_cancel(&hold->timer);
    mem_free(hold);
}

void turns_let_go(struct turns *ts, struct endpoint *e)
{
    if (e->hold == NULL)
        return;
    hold_free(e->hold);
    holds_set(ts->holds, str_from(e->url), TIME_UNKNOWN);
    roster_hold(&ts->roster, e, NULL);
    turns_run(ts);
}

static void on_hold_over(void *ctx)
{
    struct hold *hold = ctx;

    hold->timer = NULL;
    turns_let_go(hold->ts, hold->endpoint);
}

void turns_hold(struct turns *ts, struct endpoint *e, int64_t ms)
{
    struct hold *hold;

    if (!owned_has(&ts->owned, e->slot))
        return;
    hold_free(e->hold);
    hold = NEW(struct hold);
    *hold = (struct hold){ts, e, loop_timer_start(ts->loop, ms, on_hold_over, hold)};
    holds_set(ts->holds, str_from(e->url), (clock_now_us() + ms * 1000 + 999999) / 1000000);
    log_debug("notifier", "held", "endpoint=%s ms=%" PRId64, log_quote(str_from(e->url)), ms);
    roster_hold(&ts->roster, e, hold);
}

void turns_forget_holds(struct turns *ts)
{
    void *it = NULL, *value;
    struct str key;

    while (map_next(&ts->roster.endpoints, &it, &key, &value)) {
        struct endpoint *e = value;

        hold_free(e->hold);
        e->hold = NULL;
    }
}
