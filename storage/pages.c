/* storage/pages.c - one index of pages for each set of feeds, size and filter; reader_page().
 *
 * An index has a lock of its own while it grows. So a long count delays only requests for the same
 * pages. With a filter each call does a part of the count, and says that there is more to do.
 *
 * Retention takes the beginning of logs (retention.h). What it took is counted in the feeds' rows,
 * so the pages after the horizon keep their numbers. A page is gone when one of its revisions may
 * be: when it begins before the horizon. With a filter it is not known how many of those that were
 * taken would have matched, so all pages are gone.
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
    int64_t base;      /* the number of the first place: pages before it are gone */
    int64_t horizon;   /* of the set, as of the last look */
    bool is_part;      /* what the first place had before the horizon was taken */
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

/* Count the rows after x->looked_to. */
static enum rc count_rest(struct page_index *x, struct reader *r, const struct page_set *set,
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

/* What is left of the rows up to a seq. */
static enum rc count_left(struct reader *r, const struct page_set *set, int64_t end, int64_t *out,
                          struct err *err)
{
    struct page_index x = {.looked_to = 0};
    size_t n = COUNT_AT_ONCE;
    enum rc rc = RC_OK;

    *out = 0;
    while (rc == RC_OK && n == COUNT_AT_ONCE) {
        AUTO(arena_release) struct arena scratch = ARENA_INIT;
        struct view v = rest_of(&x, set, end + 1, COUNT_AT_ONCE);
        int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, COUNT_AT_ONCE);

        rc = r->db->reads->view_keys(r->db, &v, COUNT_AT_ONCE, &scratch, seqs, &n, err);
        if (rc == RC_OK && n > 0)
            x.looked_to = seqs[n - 1];
        *out += rc == RC_OK ? (int64_t)n : 0;
    }
    return rc;
}

/* Begin at the horizon, with `n` rows before it. The page in which it is has a place, so that there
 * is a newest page. */
static void begin_after(struct page_index *x, int64_t horizon, int64_t n, size_t size)
{
    size_t rest = (size_t)(n % (int64_t)size);

    x->tail_rows = rest > 0 || n == 0 ? rest : size;
    x->base = rest > 0 || n == 0 ? n / (int64_t)size : n / (int64_t)size - 1;
    x->is_part = n > 0;
    x->n = 0;
    x->looked_to = horizon;
    if (n == 0)
        return;
    x->places = mem_grow(x->places, &x->cap, 1, sizeof *x->places);
    x->places[x->n++] = (struct page_place){horizon + 1, horizon};
}

/* If something was taken that was not counted, the index begins there. *n_taken: then what that
 * was; else -1. */
static enum rc pass_horizon(struct page_index *x, struct reader *r, const struct page_set *set,
                            int64_t *n_taken, struct err *err)
{
    struct log_horizon h;
    int64_t n_left;
    enum rc rc = r->db->reads->horizon(r->db, set->ids, set->n_ids, false, &h, err);

    *n_taken = -1;
    if (rc != RC_OK)
        return rc;
    x->horizon = h.seq;
    if (h.seq <= x->looked_to)
        return RC_OK;
    rc = count_left(r, set, h.seq, &n_left, err);
    if (rc == RC_OK) {
        begin_after(x, h.seq, h.n_taken + n_left, set->size);
        *n_taken = h.n_taken;
    }
    return rc;
}

/* What was counted after `from` was there all the time, or RC_AGAIN: it must be counted anew. */
static enum rc check_counted(struct page_index *x, struct reader *r, const struct page_set *set,
                             int64_t from, int64_t n_taken, struct err *err)
{
    struct log_horizon h;
    enum rc rc = r->db->reads->horizon(r->db, set->ids, set->n_ids, false, &h, err);

    if (rc != RC_OK)
        return rc;
    x->horizon = h.seq;
    if (h.seq <= from && (n_taken < 0 || n_taken == h.n_taken))
        return RC_OK;
    x->looked_to = 0;
    return RC_AGAIN;
}

/* Count all of them. */
static enum rc count_all(struct page_index *x, struct reader *r, const struct page_set *set,
                         struct err *err)
{
    int64_t from, n_taken;
    enum rc rc;

    do {
        rc = pass_horizon(x, r, set, &n_taken, err);
        from = x->looked_to;
        if (rc == RC_OK)
            rc = count_rest(x, r, set, err);
        if (rc == RC_OK && (x->looked_to > from || n_taken >= 0))
            rc = check_counted(x, r, set, from, n_taken, err);
    } while (rc == RC_AGAIN);
    return rc;
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

/* A revision of it may be: perhaps that at which it began. */
static bool is_gone(const struct page_index *x, size_t i)
{
    return x->places[i].first <= x->horizon || (i == 0 && x->is_part);
}

static enum rc describe(const struct page_index *x, size_t size, int64_t n, struct log_page *out,
                        struct err *err)
{
    size_t i = n >= 0 ? (size_t)(n - x->base) : x->n - 1; /* SIZE_MAX if the index is empty */

    if (n >= 0 && (n < x->base || (i < x->n && is_gone(x, i))))
        return err_set(err, RC_GONE,
                       "A part of this document was taken away, because it was old, and so were "
                       "those before it. "
                       "What is kept follows the cursor `horizon`.");

    if (i >= x->n)
        return err_set(err, RC_NOT_FOUND, "%s",
                       x->n == 0 ? "there are no entries yet" : "there is no such page yet");
    *out = (struct log_page){.n = x->base + (int64_t)i,
                             .n_pages = x->base + (int64_t)x->n,
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

/* Nobody knows the numbers of what matches after something was taken. */
static enum rc refuse_taken(struct reader *r, const struct page_set *set, struct err *err)
{
    struct log_horizon h;
    enum rc rc = r->db->reads->horizon(r->db, set->ids, set->n_ids, false, &h, err);

    if (rc != RC_OK || h.seq == 0)
        return rc;
    return err_set(err, RC_GONE,
                   "A part of the history of these feeds was taken away, because it was old. An "
                   "archive with a filter "
                   "begins at the beginning, so there is none any more. What is kept follows the "
                   "cursor `horizon`, "
                   "with the same filter.");
}

enum rc reader_page(struct reader *r, const struct page_set *set, int64_t n, struct log_page *out,
                    struct err *err)
{
    struct page_index *x = take(r->store->pages, store_fork(r->store), set);
    size_t bytes;
    enum rc rc;

    pthread_mutex_lock(&x->lock);
    rc = set->filter == NULL ? count_all(x, r, set, err) : refuse_taken(r, set, err);
    if (rc == RC_OK && set->filter != NULL && !is_known(x, n))
        rc = count_some(x, r, set, err);
    if (rc == RC_OK || (rc == RC_TIMEOUT && is_known(x, n)))
        rc = describe(x, set->size, n, out, err);
    bytes = sizeof *x + x->cap * sizeof *x->places;
    pthread_mutex_unlock(&x->lock);
    give_back(r->store->pages, x, bytes);
    return rc;
}
