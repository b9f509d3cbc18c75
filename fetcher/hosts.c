/* fetcher/hosts.c - the map of hosts, and the rules for the start of a transfer. */
#include "fetcher/hosts.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

/* The longest pause, as of a feed: one answer must not stop a whole host for longer. */
#define COOL_MAX_MS ((int64_t)24 * 3600 * 1000)
#define GENTLE_MS ((int64_t)10 * 60 * 1000) /* for this time after cooling, ... */
#define GENTLE_GAP_MS 1000                  /* ... starts have this gap */

void hosts_init(struct hosts *hs, int max_per_host, int64_t gap_ms, int64_t content_gap_ms)
{
    *hs = (struct hosts){.table = MAP_INIT,
                         .max_per_host = max_per_host,
                         .gap_ms = gap_ms,
                         .content_gap_ms = content_gap_ms};
}

static void host_free(void *p)
{
    struct host *h = p;

    mem_free(h->starts_ms);
    mem_free(h->key);
    mem_free(h);
}

void hosts_release(struct hosts *hs)
{
    map_release(&hs->table, host_free);
}

struct host *hosts_hold(struct hosts *hs, struct str key)
{
    struct host *h = map_get(&hs->table, key);

    if (h == NULL) {
        h = NEW(struct host);
        h->key = mem_strndup(key.ptr == NULL ? "" : key.ptr, key.len);
        h->ring = -1;
        h->gap_until_ms = h->cool_until_ms = INT64_MIN;
        h->gentle_until_ms = h->content_until_ms = INT64_MIN;
        for (int i = 0; i < WORK_CLASSES; i++)
            TAILQ_INIT(&h->waiting[i]);
        map_put(&hs->table, key, h);
    }
    h->n_holders++;
    return h;
}

void hosts_drop(struct host **hp)
{
    if (*hp == NULL)
        return;
    ASSERT((*hp)->n_holders > 0);
    (*hp)->n_holders--;
    *hp = NULL;
}

void hosts_prune(struct hosts *hs, int64_t now_ms)
{
    struct str key;
    void *it = NULL, *value;

    while (map_next(&hs->table, &it, &key, &value)) {
        struct host *h = value;

        if (h->n_holders == 0 && h->n_running == 0 && h->gap_until_ms <= now_ms &&
            h->cool_until_ms <= now_ms && h->gentle_until_ms <= now_ms &&
            h->content_until_ms <= now_ms)
            host_free(map_del(&hs->table, key));
    }
}

/* When the host has room for the transfer of a reader or a ping. */
static int64_t room_ms(const struct hosts *hs, const struct host *h, int64_t now_ms)
{
    int n_slow = 0;

    while (n_slow < h->n_running && n_slow < hs->max_per_host &&
           h->starts_ms[n_slow] + HOST_SLOW_MS <= now_ms)
        n_slow++;
    if (h->n_running - n_slow < hs->max_per_host)
        return now_ms;
    return n_slow < hs->max_per_host ? h->starts_ms[n_slow] + HOST_SLOW_MS : INT64_MAX;
}

int64_t host_ready_ms(const struct hosts *hs, const struct host *h, enum work_class cls,
                      int64_t now_ms)
{
    int64_t at = now_ms;

    if (cls < WORK_KNOWN)
        return room_ms(hs, h, now_ms);
    if (h->n_running >= hs->max_per_host)
        return INT64_MAX;
    if (h->n_running > 0 && (cls == WORK_CONTENT || now_ms < h->gentle_until_ms))
        return INT64_MAX;
    if (h->gap_until_ms > at)
        at = h->gap_until_ms;
    if (h->cool_until_ms > at)
        at = h->cool_until_ms;
    if (cls == WORK_CONTENT && h->content_until_ms > at)
        at = h->content_until_ms;
    return at;
}

void host_start(const struct hosts *hs, struct host *h, enum work_class cls, int64_t now_ms)
{
    int64_t gap = hs->gap_ms;

    h->was_asked = true;
    if (now_ms < h->gentle_until_ms) {
        if (gap < GENTLE_GAP_MS)
            gap = GENTLE_GAP_MS;
        /* while more wait it goes on, so that they do not come together after all; no transfer takes longer */
        if (!TAILQ_EMPTY(&h->waiting[WORK_FIRST]) || !TAILQ_EMPTY(&h->waiting[WORK_SWEEP]) ||
            !TAILQ_EMPTY(&h->waiting[WORK_KNOWN]))
            h->gentle_until_ms = now_ms + GENTLE_MS;
    }
    h->starts_ms =
        mem_grow(h->starts_ms, &h->cap_starts, (size_t)h->n_running + 1, sizeof *h->starts_ms);
    h->starts_ms[h->n_running++] = now_ms;
    h->gap_until_ms = now_ms + gap;
    if (cls == WORK_CONTENT)
        h->content_until_ms = now_ms + hs->content_gap_ms;
}

void host_end(struct host *h, int64_t started_ms)
{
    int i = 0;

    ASSERT(h->n_running > 0);
    while (i < h->n_running - 1 && h->starts_ms[i] != started_ms)
        i++;
    h->n_running--;
    memmove(&h->starts_ms[i], &h->starts_ms[i + 1],
            (size_t)(h->n_running - i) * sizeof *h->starts_ms);
}

bool host_is_resting(const struct host *h, int64_t now_ms)
{
    return now_ms < h->cool_until_ms || now_ms < h->gentle_until_ms;
}

bool host_cool(struct host *h, int64_t wait_ms, int64_t now_ms)
{
    if (wait_ms > COOL_MAX_MS)
        wait_ms = COOL_MAX_MS;
    if (now_ms + wait_ms <= h->cool_until_ms)
        return false;
    h->cool_until_ms = now_ms + wait_ms;
    h->gentle_until_ms = h->cool_until_ms + GENTLE_MS;
    return true;
}

/* No time is later than it could be, whatever has happened to the clock. */
static void reach(int64_t *until_ms, int64_t left_ms, int64_t max_ms, int64_t now_ms)
{
    int64_t at = now_ms + (left_ms < max_ms ? left_ms : max_ms);

    if (left_ms > 0 && *until_ms < at)
        *until_ms = at;
}

void host_rest(struct host *h, const struct host_rest *rest, int64_t now_ms)
{
    reach(&h->cool_until_ms, rest->cool_ms, COOL_MAX_MS, now_ms);
    reach(&h->gentle_until_ms, rest->gentle_ms, COOL_MAX_MS + GENTLE_MS, now_ms);
    if (rest->gentle_ms <= 0 && !h->was_asked)
        reach(&h->gentle_until_ms, GENTLE_MS, GENTLE_MS, now_ms);
}
