/* notifier/lag.c - see lag.h. */
#include "notifier/lag.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/stats.h"
#include "notifier/turns.h"
#include "storage/pushes.h"

#define AT_ONCE 64   /* subscriptions that one job of a reader measures */
#define AGAIN_MS 100 /* pause when the readers have no room */

/* One measurement. */
struct lag_read {
    struct lag_watch *l;
    int64_t *ids; /* of the subscriptions that are not idle */
    size_t n_ids, n_done;
    int64_t worst_n, worst_s;
};

static void read_free(struct lag_read *read)
{
    mem_free(read->ids);
    mem_free(read);
}

static void on_timer(void *ctx);
static void read_some(void *ctx, struct reader *r);

static void wait(struct lag_watch *l, int64_t ms)
{
    l->timer = loop_timer_start(l->turns->loop, ms, on_timer, l);
}

/* Give the measurement to a reader, or finish it. */
static void go_on(struct lag_watch *l)
{
    struct lag_read *read = l->read;

    if (read->n_done < read->n_ids) {
        if (store_read(l->store, read_some, read) != RC_OK)
            wait(l, AGAIN_MS);
        return;
    }
    stats_set(STAT_push_lag_revisions, read->worst_n);
    stats_set(STAT_push_lag_seconds, read->worst_s);
    stats_set(STAT_push_queue_oldest_age_seconds,
              read->worst_n == 0 ? 0 : clock_mono_ms() - 1000 * read->worst_s);
    l->read = NULL;
    read_free(read);
    wait(l, LAG_EVERY_MS);
}

static void on_read(void *ctx)
{
    struct lag_read *read = ctx;

    if (read->l->read == read)
        go_on(read->l);
    else
        read_free(read);
}

static void measure(struct lag_read *read, struct reader *r, const struct subscription *sub)
{
    struct sub_lag lag;
    int64_t age_us;

    if (reader_lag(r, sub, &lag, NULL) != RC_OK)
        return;
    age_us = lag.first_at_us == 0 ? 0 : clock_now_us() - lag.first_at_us;
    if (lag.n > read->worst_n)
        read->worst_n = lag.n;
    if (age_us / 1000000 > read->worst_s)
        read->worst_s = age_us / 1000000;
}

/* On a reader thread. */
static void read_some(void *ctx, struct reader *r)
{
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct lag_read *read = ctx;
    struct subscription *subs;
    size_t n = read->n_ids - read->n_done, n_subs;

    n = n > AT_ONCE ? AT_ONCE : n;
    if (reader_subs(r, read->ids + read->n_done, n, &arena, &subs, &n_subs, NULL) == RC_OK)
        for (size_t i = 0; i < n_subs; i++)
            measure(read, r, &subs[i]);
    read->n_done += n;
    loop_post(read->l->turns->loop, on_read, read);
}

static void begin(struct lag_watch *l)
{
    const struct roster *roster = &l->turns->roster;
    struct lag_read *read = NEW(struct lag_read);
    size_t cap = 0;
    struct str key;
    void *it = NULL, *value;

    read->l = l;
    while (map_next(&roster->members, &it, &key, &value)) {
        const struct member *m = value;

        if (m->state == ATTEMPT_IDLE || m->test != NULL)
            continue;
        read->ids = mem_grow(read->ids, &cap, read->n_ids + 1, sizeof *read->ids);
        read->ids[read->n_ids++] = m->id;
    }
    l->read = read;
}

static void on_timer(void *ctx)
{
    struct lag_watch *l = ctx;

    l->timer = NULL;
    if (l->read == NULL)
        begin(l);
    go_on(l);
}

void lag_init(struct lag_watch *l, struct turns *turns, struct store *store)
{
    *l = (struct lag_watch){.turns = turns, .store = store};
}

void lag_start(struct lag_watch *l)
{
    wait(l, LAG_EVERY_MS);
}

void lag_stop(struct lag_watch *l)
{
    if (l->timer != NULL) {
        loop_timer_cancel(&l->timer);
        if (l->read != NULL) /* it is here, not with a reader */
            read_free(l->read);
    }
    l->read = NULL;
}
