/* storage/quota.c - see quota.h. */
#include "storage/quota.h"

#include "base/map.h"
#include "base/mem.h"

#define DAY_S 86400
#define FEW 1024 /* days that are over are looked for when there are more */

struct day {
    int64_t since, n;
    bool has_told;
};

struct quotas {
    int64_t most;
    struct map days; /* of struct day, by feed */
    size_t look_at;  /* when there are so many, those that are over are dropped */
};

struct quotas *quotas_new(int64_t most)
{
    struct quotas *q = NEW(struct quotas);

    q->most = most;
    q->look_at = FEW;
    return q;
}

void quotas_free(struct quotas **qp)
{
    if (*qp == NULL)
        return;
    map_release(&(*qp)->days, mem_free);
    mem_free(*qp);
    *qp = NULL;
}

int64_t quotas_most(const struct quotas *q)
{
    return q->most;
}

static struct str key_of(const int64_t *feed_id)
{
    return str_of((const char *)feed_id, sizeof *feed_id);
}

/* A clock that was set back by a day also ends one, or it might last for long. */
static bool is_over(const struct day *d, int64_t now)
{
    return now >= d->since + DAY_S || now < d->since - DAY_S;
}

/* NULL: none has begun. */
static struct day *day_of(const struct quotas *q, int64_t feed_id, int64_t now)
{
    struct day *d = map_get(&q->days, key_of(&feed_id));

    return d == NULL || is_over(d, now) ? NULL : d;
}

int64_t quotas_room(const struct quotas *q, int64_t feed_id, int64_t now)
{
    const struct day *d;

    if (q == NULL || q->most == 0)
        return INT64_MAX;
    d = day_of(q, feed_id, now);
    if (d == NULL)
        return q->most;
    return d->n >= q->most ? 0 : q->most - d->n;
}

int64_t quotas_until(const struct quotas *q, int64_t feed_id, int64_t now)
{
    const struct day *d = day_of(q, feed_id, now);

    return (d == NULL ? now : d->since) + DAY_S;
}

static void drop_ended(struct quotas *q, int64_t now)
{
    struct map kept = MAP_INIT;
    struct str key;
    void *it = NULL, *value;

    while (map_next(&q->days, &it, &key, &value)) {
        if (is_over(value, now))
            mem_free(value);
        else
            map_put(&kept, key, value);
    }
    map_release(&q->days, NULL);
    q->days = kept;
    q->look_at = 2 * map_count(&kept) + FEW;
}

void quotas_take(struct quotas *q, int64_t feed_id, int64_t n, int64_t now)
{
    struct day *d;

    if (q == NULL || q->most == 0 || n == 0)
        return;
    d = map_get(&q->days, key_of(&feed_id));
    if (d == NULL) {
        d = NEW(struct day);
        d->since = now;
        map_put(&q->days, key_of(&feed_id), d);
    } else if (is_over(d, now)) {
        *d = (struct day){.since = now};
    }
    d->n += n;
    if (map_count(&q->days) >= q->look_at)
        drop_ended(q, now);
}

bool quotas_has_told(const struct quotas *q, int64_t feed_id, int64_t now)
{
    const struct day *d = day_of(q, feed_id, now);

    return d != NULL && d->has_told;
}

void quotas_tell(struct quotas *q, int64_t feed_id, int64_t now)
{
    struct day *d = day_of(q, feed_id, now);

    if (d != NULL)
        d->has_told = true;
}
