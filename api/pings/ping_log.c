/* api/pings/ping_log.c - see ping_log.h. A ring of pings. */
#include "api/pings/ping_log.h"

#include <pthread.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "feed/lists/changes.h"

#define ROWS_MAX 4096
#define SHOWN_S (3 * 3600)

struct row {
    char *name, *url, *rss_url; /* url NULL: empty place */
    int64_t at;
};

struct ping_log {
    pthread_mutex_t lock;
    struct row rows[ROWS_MAX]; /* rows[(head + i) % ROWS_MAX], oldest first */
    size_t head, n;
    struct map by_url; /* url -> its row */
    int64_t began_at;
};

struct ping_log *ping_log_new(void)
{
    struct ping_log *l = NEW(struct ping_log);

    pthread_mutex_init(&l->lock, NULL);
    l->began_at = clock_now_s();
    return l;
}

static void row_clear(struct row *r)
{
    mem_free(r->name);
    mem_free(r->url);
    mem_free(r->rss_url);
    *r = (struct row){0};
}

void ping_log_free(struct ping_log **lp)
{
    struct ping_log *l = *lp;

    if (l == NULL)
        return;
    for (size_t i = 0; i < ROWS_MAX; i++)
        row_clear(&l->rows[i]);
    map_release(&l->by_url, NULL);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
    *lp = NULL;
}

static void drop_oldest_locked(struct ping_log *l)
{
    struct row *r = &l->rows[l->head];

    if (r->url != NULL)
        map_del(&l->by_url, str_from(r->url));
    row_clear(r);
    l->head = (l->head + 1) % ROWS_MAX;
    l->n--;
}

void ping_log_add(struct ping_log *l, struct str name, struct str url, struct str rss_url,
                  int64_t at)
{
    struct row *r;

    pthread_mutex_lock(&l->lock);
    r = map_del(&l->by_url, url);
    if (r != NULL)
        row_clear(r); /* the row stays empty until it is the oldest one */
    if (l->n == ROWS_MAX)
        drop_oldest_locked(l);
    r = &l->rows[(l->head + l->n++) % ROWS_MAX];
    r->name = mem_strndup(name.len > 0 ? name.ptr : "", name.len);
    r->url = mem_strndup(url.ptr, url.len);
    r->rss_url = rss_url.len > 0 ? mem_strndup(rss_url.ptr, rss_url.len) : NULL;
    r->at = at;
    map_put(&l->by_url, url, r);
    pthread_mutex_unlock(&l->lock);
}

int64_t ping_log_write(struct ping_log *l, struct buf *out, int64_t now)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct change_row *rows;
    int64_t updated_at;
    size_t n = 0;

    pthread_mutex_lock(&l->lock);
    updated_at = l->began_at;
    while (l->n > 0 && (l->rows[l->head].url == NULL || l->rows[l->head].at < now - SHOWN_S))
        drop_oldest_locked(l);
    rows = ARENA_ARRAY(&a, struct change_row, l->n + 1);
    for (size_t i = l->n; i-- > 0;) {
        const struct row *r = &l->rows[(l->head + i) % ROWS_MAX];

        if (r->url == NULL)
            continue;
        rows[n++] = (struct change_row){.name = str_dup(&a, str_from(r->name)),
                                        .url = str_dup(&a, str_from(r->url)),
                                        .rss_url = str_dup(&a, str_from(r->rss_url)),
                                        .when_at = r->at};
        if (r->at > updated_at)
            updated_at = r->at;
    }
    pthread_mutex_unlock(&l->lock);
    changes_write(out, rows, n, updated_at);
    return updated_at;
}
