/* storage/pages.c - one index of pages for each set of feeds and each size; reader_page().
 *
 * An index has a lock of its own while it grows. So a long count delays only requests for the same
 * pages. */
#include "storage/pages.h"

#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "storage/engine.h"
#include "storage/store_priv.h"

#define INDEXES_MAX 1024 /* when there are more, all are forgotten */
#define COUNT_AT_ONCE 16384

struct page_index {
    pthread_mutex_t lock;
    int n_refs;     /* under pages->lock */
    int64_t *first; /* first seq of each page */
    size_t n, cap;
    size_t tail_rows; /* of the newest page */
    int64_t last_seq; /* of the newest page: everything up to it has been counted */
};

struct pages {
    pthread_mutex_t lock; /* guards the map and the reference counts */
    struct map indexes;
};

static void unref(struct page_index *x)
{
    if (--x->n_refs > 0)
        return;
    pthread_mutex_destroy(&x->lock);
    mem_free(x->first);
    mem_free(x);
}

static void unref_value(void *value)
{
    unref(value);
}

struct pages *pages_new(void)
{
    struct pages *p = NEW(struct pages);

    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void pages_free(struct pages **pp)
{
    if (*pp == NULL)
        return;
    map_release(&(*pp)->indexes, unref_value);
    pthread_mutex_destroy(&(*pp)->lock);
    mem_free(*pp);
    *pp = NULL;
}

void pages_forget(struct pages *p)
{
    pthread_mutex_lock(&p->lock);
    map_release(&p->indexes, unref_value);
    p->indexes = (struct map)MAP_INIT;
    pthread_mutex_unlock(&p->lock);
}

/* The index of a set, with a reference. After a fork it is another one: rows may be gone. */
static struct page_index *take(struct pages *p, int64_t fork, const int64_t *ids, size_t n,
                               size_t size)
{
    AUTO(buf_release) struct buf key = BUF_INIT(BUF_ANY);
    struct page_index *x;

    buf_str(&key, str_of((const char *)&fork, sizeof fork));
    buf_str(&key, str_of((const char *)&size, sizeof size));
    buf_str(&key, str_of((const char *)ids, n * sizeof *ids));
    pthread_mutex_lock(&p->lock);
    x = map_get(&p->indexes, buf_view(&key));
    if (x == NULL) {
        if (map_count(&p->indexes) >= INDEXES_MAX) {
            map_release(&p->indexes, unref_value);
            p->indexes = (struct map)MAP_INIT;
        }
        x = NEW(struct page_index);
        pthread_mutex_init(&x->lock, NULL);
        x->n_refs = 1;
        map_put(&p->indexes, buf_view(&key), x);
    }
    x->n_refs++;
    pthread_mutex_unlock(&p->lock);
    return x;
}

static void give_back(struct pages *p, struct page_index *x)
{
    pthread_mutex_lock(&p->lock);
    unref(x);
    pthread_mutex_unlock(&p->lock);
}

static void count_rows(struct page_index *x, const int64_t *seqs, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        if (x->n == 0 || x->tail_rows == size) {
            x->first = mem_grow(x->first, &x->cap, x->n + 1, sizeof *x->first);
            x->first[x->n++] = seqs[i];
            x->tail_rows = 0;
        }
        x->tail_rows++;
        x->last_seq = seqs[i];
    }
}

/* Count the revisions that were added since the last call. */
static enum rc grow(struct page_index *x, struct reader *r, const int64_t *ids, size_t n_ids,
                    size_t size, struct err *err)
{
    struct view v = {.feed_ids = ids,
                     .n_feeds = n_ids,
                     .order = VIEW_LOG,
                     .before_seq = reader_end(r), /* count the rows that reader_rows() shows */
                     .with_deleted = true};
    size_t ask = size, n;
    enum rc rc;

    do {
        AUTO(arena_release) struct arena scratch = ARENA_INIT;
        int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, ask);

        v.after_seq = x->last_seq;
        rc = r->db->reads->view_keys(r->db, &v, ask, &scratch, seqs, &n, err);
        if (rc == RC_OK)
            count_rows(x, seqs, n, size);
        if (rc != RC_OK || n < ask)
            return rc;
        ask = COUNT_AT_ONCE;
    } while (true);
}

static void describe(const struct page_index *x, size_t size, size_t i, struct log_page *out)
{
    bool newest = i + 1 == x->n;

    *out = (struct log_page){.n = (int64_t)i,
                             .n_pages = (int64_t)x->n,
                             .first_seq = x->first[i],
                             .last_seq = newest ? x->last_seq : 0,
                             .n_rows = newest ? x->tail_rows : size};
}

/* Find the last seq of a sealed page: that of the last revision of the set before the next page. */
static enum rc find_end(struct reader *r, const int64_t *ids, size_t n_ids, int64_t next_first,
                        struct log_page *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct view v = {.feed_ids = ids,
                     .n_feeds = n_ids,
                     .order = VIEW_LOG_DESC,
                     .before_seq = next_first,
                     .with_deleted = true};
    size_t n;

    return r->db->reads->view_keys(r->db, &v, 1, &scratch, &out->last_seq, &n, err);
}

enum rc reader_page(struct reader *r, const int64_t *ids, size_t n_ids, size_t size, int64_t n,
                    struct log_page *out, struct err *err)
{
    struct page_index *x = take(r->store->pages, store_fork(r->store), ids, n_ids, size);
    size_t i = 0;
    int64_t next = 0;
    enum rc rc;

    pthread_mutex_lock(&x->lock);
    rc = grow(x, r, ids, n_ids, size, err);
    if (rc == RC_OK)
        i = n >= 0 ? (size_t)n : x->n - 1; /* SIZE_MAX if the index is empty; refused below */
    if (rc == RC_OK && i >= x->n) {
        rc = err_set(err, RC_NOT_FOUND, "%s",
                     x->n == 0 ? "there are no entries yet" : "there is no such page yet");
    } else if (rc == RC_OK) {
        describe(x, size, i, out);
        next = i + 1 < x->n ? x->first[i + 1] : 0;
    }
    pthread_mutex_unlock(&x->lock);
    give_back(r->store->pages, x);
    return rc == RC_OK && next != 0 ? find_end(r, ids, n_ids, next, out, err) : rc;
}
