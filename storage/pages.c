/* storage/pages.c - one index of pages for each set of feeds, size and filter; reader_page().
 *
 * An index has a lock of its own while it grows. So a long count delays only requests for the same
 * pages. With a filter each call does a part of the count, and says that there is more to do.
 *
 * Anybody can invent filters, so indexes with a filter push out only each other. What was asked for
 * least recently is forgotten first; it is counted again when somebody wants it. */
#include "storage/pages.h"

#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "storage/engine.h"
#include "storage/filtered.h"
#include "storage/store_priv.h"

#define POOL_INDEXES 2 /* without and with a filter */
#define POOL_BYTES_MAX ((size_t)32 * 1024 * 1024)
#define COUNT_AT_ONCE 16384
#define AHEAD 3 /* when so many pages follow a page, more do not matter to it */

static const size_t indexes_max[POOL_INDEXES] = {1024, 256};

struct page_place {
    int64_t first, last; /* seq of its first and last row */
};

struct page_index {
    pthread_mutex_t lock;
    struct page_place *places;
    size_t n, cap;
    size_t tail_rows;  /* of the newest page */
    int64_t looked_to; /* everything up to this seq has been counted */
    /* under pages->lock: */
    int n_refs;
    bool has_filter, is_kept;
    uint64_t asked; /* when it was asked for last */
    size_t bytes;
};

struct pages {
    pthread_mutex_t lock; /* guards the map and what belongs to it in each index */
    struct map indexes;
    uint64_t asked;
    size_t n[POOL_INDEXES], bytes[POOL_INDEXES];
};

static void unref(struct page_index *x)
{
    if (--x->n_refs > 0)
        return;
    pthread_mutex_destroy(&x->lock);
    mem_free(x->places);
    mem_free(x);
}

static void drop_value(void *value)
{
    struct page_index *x = value;

    x->is_kept = false;
    unref(x);
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
    map_release(&(*pp)->indexes, drop_value);
    pthread_mutex_destroy(&(*pp)->lock);
    mem_free(*pp);
    *pp = NULL;
}

void pages_forget(struct pages *p)
{
    pthread_mutex_lock(&p->lock);
    map_release(&p->indexes, drop_value);
    p->indexes = (struct map)MAP_INIT;
    memset(p->n, 0, sizeof p->n);
    memset(p->bytes, 0, sizeof p->bytes);
    pthread_mutex_unlock(&p->lock);
}

static void forget_oldest(struct pages *p, bool has_filter)
{
    const struct page_index *oldest = NULL;
    struct str key, oldest_key = STR_NULL;
    struct page_index *x;
    void *it = NULL, *value;

    while (map_next(&p->indexes, &it, &key, &value)) {
        x = value;
        if (x->has_filter != has_filter || (oldest != NULL && oldest->asked < x->asked))
            continue;
        oldest = x;
        oldest_key = key;
    }
    p->n[has_filter]--;
    p->bytes[has_filter] -= oldest->bytes;
    drop_value(map_del(&p->indexes, oldest_key));
}

/* Make room, but keep the index that was asked for last. */
static void trim(struct pages *p, bool has_filter)
{
    while (p->n[has_filter] > 1 &&
           (p->n[has_filter] > indexes_max[has_filter] || p->bytes[has_filter] > POOL_BYTES_MAX))
        forget_oldest(p, has_filter);
}

static struct page_index *add_index(struct pages *p, struct str key, bool has_filter)
{
    struct page_index *x = NEW(struct page_index);

    pthread_mutex_init(&x->lock, NULL);
    x->n_refs = 1;
    x->has_filter = has_filter;
    x->is_kept = true;
    x->bytes = sizeof *x + key.len;
    map_put(&p->indexes, key, x);
    p->n[has_filter]++;
    p->bytes[has_filter] += x->bytes;
    return x;
}

/* The index of a set, with a reference. After a fork it is another one: rows may be gone. */
static struct page_index *take(struct pages *p, int64_t fork, const struct page_set *set)
{
    AUTO(buf_release) struct buf key = BUF_INIT(BUF_ANY);
    bool has_filter = set->filter != NULL;
    struct page_index *x;

    buf_str(&key, str_of((const char *)&fork, sizeof fork));
    buf_str(&key, str_of((const char *)&set->size, sizeof set->size));
    buf_str(&key, str_of((const char *)&set->n_ids, sizeof set->n_ids));
    buf_str(&key, str_of((const char *)set->ids, set->n_ids * sizeof *set->ids));
    if (has_filter)
        buf_str(&key, set->filter->text);
    pthread_mutex_lock(&p->lock);
    x = map_get(&p->indexes, buf_view(&key));
    if (x == NULL)
        x = add_index(p, buf_view(&key), has_filter);
    x->asked = ++p->asked;
    x->n_refs++;
    trim(p, has_filter);
    pthread_mutex_unlock(&p->lock);
    return x;
}

/* `bytes`: of its places now. */
static void give_back(struct pages *p, struct page_index *x, size_t bytes)
{
    bool has_filter = x->has_filter;

    pthread_mutex_lock(&p->lock);
    if (x->is_kept && x->bytes < bytes) {
        p->bytes[has_filter] += bytes - x->bytes;
        x->bytes = bytes;
    }
    unref(x);
    trim(p, has_filter);
    pthread_mutex_unlock(&p->lock);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count_rows(struct page_index *x, const int64_t *seqs, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        if (x->n == 0 || x->tail_rows == size) {
            x->places = mem_grow(x->places, &x->cap, x->n + 1, sizeof *x->places);
            x->places[x->n++].first = seqs[i];
            x->tail_rows = 0;
        }
        x->tail_rows++;
        x->places[x->n - 1].last = x->looked_to = seqs[i];
    }
}

/* The rows of the set that have not been counted. */
static struct view rest_of(const struct page_index *x, const struct page_set *set, int64_t end,
                           size_t len)
{
    return (struct view){.feed_ids = set->ids,
                         .n_feeds = set->n_ids,
                         .order = VIEW_LOG,
                         .after_seq = x->looked_to,
                         .before_seq = end,
                         .len = len,
                         .with_deleted = true,
                         .filter = set->filter};
}

/* Count all of them. */
static enum rc count_all(struct page_index *x, struct reader *r, const struct page_set *set,
                         struct err *err)
{
    size_t ask = set->size, n;
    enum rc rc;

    do {
        AUTO(arena_release) struct arena scratch = ARENA_INIT;
        /* the rows that reader_rows() shows */
        struct view v = rest_of(x, set, reader_end(r), ask);
        int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, ask);

        rc = r->db->reads->view_keys(r->db, &v, ask, &scratch, seqs, &n, err);
        if (rc == RC_OK)
            count_rows(x, seqs, n, set->size);
        if (rc != RC_OK || n < ask)
            return rc;
        ask = COUNT_AT_ONCE;
    } while (true);
}

/* Count some of them. RC_TIMEOUT: there may be more. */
static enum rc count_some(struct page_index *x, struct reader *r, const struct page_set *set,
                          struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t end = reader_end(r), *seqs, looked_to; /* the end first: the snapshot has all before */
    struct view v = rest_of(x, set, end, COUNT_AT_ONCE);
    size_t n;
    enum rc rc;

    if (x->looked_to + 1 >= end)
        return RC_OK;
    rc = r->db->reads->snapshot(r->db, err);
    if (rc != RC_OK)
        return rc;
    rc = filtered_seqs(r, &v, &scratch, &seqs, &n, &looked_to, err);
    r->db->reads->snapshot_end(r->db);
    if (rc != RC_OK)
        return rc;
    count_rows(x, seqs, n, set->size);
    x->looked_to = looked_to;
    return looked_to + 1 >= end ? RC_OK
                                : err_set(err, RC_TIMEOUT, "the documents are still being counted");
}

/* ---- pages ----------------------------------------------------------------------------------- */

static enum rc describe(const struct page_index *x, size_t size, int64_t n, struct log_page *out,
                        struct err *err)
{
    size_t i = n >= 0 ? (size_t)n : x->n - 1; /* SIZE_MAX if the index is empty */

    if (i >= x->n)
        return err_set(err, RC_NOT_FOUND, "%s",
                       x->n == 0 ? "there are no entries yet" : "there is no such page yet");
    *out = (struct log_page){.n = (int64_t)i,
                             .n_pages = (int64_t)x->n,
                             .first_seq = x->places[i].first,
                             .last_seq = x->places[i].last,
                             .n_rows = i + 1 == x->n ? x->tail_rows : size};
    return RC_OK;
}

/* Is all known that matters to the page? */
static bool is_known(const struct page_index *x, int64_t n)
{
    return n >= 0 && n < (int64_t)x->n - AHEAD;
}

enum rc reader_page(struct reader *r, const struct page_set *set, int64_t n, struct log_page *out,
                    struct err *err)
{
    struct page_index *x = take(r->store->pages, store_fork(r->store), set);
    size_t bytes;
    enum rc rc;

    pthread_mutex_lock(&x->lock);
    rc = set->filter == NULL ? count_all(x, r, set, err)
         : is_known(x, n)    ? RC_OK
                             : count_some(x, r, set, err);
    if (rc == RC_OK || (rc == RC_TIMEOUT && is_known(x, n)))
        rc = describe(x, set->size, n, out, err);
    bytes = sizeof *x + x->cap * sizeof *x->places;
    pthread_mutex_unlock(&x->lock);
    give_back(r->store->pages, x, bytes);
    return rc;
}
