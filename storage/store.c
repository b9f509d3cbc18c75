/* storage/store.c - opens and closes the parts of the store (database file, directory, storer,
 * reader threads), and has the calls of store.h that only pass on to one of them. */
#include <pthread.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/keeper.h"
#include "storage/merged_name.h"
#include "storage/store_priv.h"
#include "storage/upkeep.h"
#include "storage/verdicts.h"

#define READS_MAX 4096 /* jobs that may wait for a reader thread */
#define COPY_SPARE ((int64_t)64 << 20) /* of the disk, in bytes, that a copy leaves to others */
#define MEASURE_EVERY_MS 10000
#define MEASURE_BOUND_MS 100  /* the same when the size has a bound, ... */
#define MEASURE_REST 20       /* ... but at least so many times as long as it took */

struct read_job {
    store_read_fn *fn;
    void *ctx;
};

/* ---- readers --------------------------------------------------------------------------------- */

static int64_t known(void *ctx)
{
    struct store *s = ctx;

    return tail_known(storer_tail(s->storer));
}

static enum rc use_replica(struct store *s, struct db *db, struct err *err)
{
    struct replica_cfg cfg = {s->replica, storer_log_id(s->storer), known, s};

    if (s->engine->use_replica == NULL)
        return err_set(err, RC_UNSUPPORTED, "a database of %s has no copies for reading",
                       s->engine->name);
    return s->engine->use_replica(db, &cfg, err);
}

bool reader_allow_replica(struct reader *r, bool may)
{
    return r->db->reads->allow_replica != NULL && r->db->reads->allow_replica(r->db, may);
}

enum rc reader_make(struct store *s, struct reader **out, struct err *err)
{
    struct reader *r = NEW(struct reader);
    enum rc rc = s->engine->open_reader(storer_address(s->storer), &r->db, err);

    r->store = s;
    if (rc == RC_OK && s->replica != NULL)
        rc = use_replica(s, r->db, err);
    if (rc == RC_OK && s->memcached != NULL)
        rc = far_open(str_from(s->memcached), storer_log_id(s->storer), MEMCACHED_MS, &r->far, err);
    if (rc != RC_OK)
        reader_close(&r);
    else
        *out = r;
    return rc;
}

struct reader *reader_open(struct store *s)
{
    struct reader *r = NULL;
    struct err err = ERR_INIT;

    if (reader_make(s, &r, &err) != RC_OK)
        log_error("storage", "reader_failed", "error=%s", log_quote(str_from(err.text)));
    return r;
}

void reader_close(struct reader **rp)
{
    struct reader *r = *rp;

    if (r == NULL)
        return;
    far_close(&r->far);
    if (r->db != NULL)
        r->db->reads->close(&r->db);
    mem_free(r);
    *rp = NULL;
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    struct queue *jobs = r->store->reads;
    void *item;

    thread_set_name("reader");
    while (queue_pop(jobs, &item, 1, -1) > 0) {
        struct read_job job = *(struct read_job *)item;

        mem_free(item);
        job.fn(job.ctx, r);
        queue_done(1);
    }
    reader_close(&r);
    return NULL;
}

enum rc store_read(struct store *s, store_read_fn *fn, void *ctx)
{
    struct read_job *job = NEW(struct read_job);
    enum rc rc;

    *job = (struct read_job){fn, ctx};
    rc = queue_try_push(s->reads, job);
    if (rc != RC_OK)
        mem_free(job);
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

static enum rc start_readers(struct store *s, int n, struct err *err)
{
    struct reader *r;
    enum rc rc = RC_OK;

    ASSERT(n >= 1);
    s->threads = mem_zalloc((size_t)n * sizeof *s->threads);
    while (rc == RC_OK && s->n_threads < n) {
        rc = reader_make(s, &r, err);
        if (rc == RC_OK && pthread_create(&s->threads[s->n_threads], NULL, reader_main, r) != 0) {
            reader_close(&r);
            rc = err_set(err, RC_IO, "cannot start a reader thread");
        }
        if (rc == RC_OK)
            s->n_threads++;
    }
    return rc;
}

/* Runs on the thread that tells of commits, before the other listeners. */
static void on_commit(void *ctx, const struct commit_notice *notice)
{
    struct store *s = ctx;

    bool is_other = notice->is_anew;

    for (size_t i = 0; i < notice->n_feeds; i++)
        is_other |= notice->feeds[i].is_gone;
    if (is_other)
        pages_forget(s->pages);
}

static int64_t followed(void *ctx)
{
    return tail_applied(ctx);
}

static enum rc load_key(struct store *s, struct str path, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    if (path.len == 0)
        return RC_OK;
    s->key = NEW(struct seal_key);
    return seal_key_load(str_z(&a, path), s->key, err);
}

enum rc store_open(const struct store_cfg *cfg, struct store **out, struct err *err)
{
    AUTO(mem_autofree) char *address = mem_strndup(cfg->path.ptr, cfg->path.len);
    struct store *s = NEW(struct store);
    struct storer_cfg storer = {.address = address,
                                .check = cfg->check,
                                .is_shared = cfg->is_shared,
                                .queue_len = cfg->queue_len,
                                .batch_ops = cfg->batch_ops,
                                .batch_ms = cfg->batch_ms};
    enum rc rc;

    atomic_store(&s->mirror_edition, clock_now_us()); /* another one than before the restart */
    if (cfg->memcached.len > 0)
        s->memcached = mem_strndup(cfg->memcached.ptr, cfg->memcached.len);
    if (cfg->replica.len > 0)
        s->replica = mem_strndup(cfg->replica.ptr, cfg->replica.len);
    s->dir = directory_new();
    s->cache = cache_new(cfg->cache_bytes);
    s->pages = pages_new();
    s->verdicts = verdicts_new();
    s->read_filter = cfg->read_filter;
    s->reads = queue_new(READS_MAX, mem_free);
    queue_watch(s->reads, STAT_read_queue_oldest_age_seconds);
    storer.dir = s->dir;
    storer.levels = cfg->levels;
    storer.feed_quota = cfg->feed_quota;
    s->max_bytes = cfg->max_bytes;
    atomic_store(&s->room, s->max_bytes); /* until it was measured */
    s->keeper = keeper_new(s, &cfg->keep);
    stats_set(STAT_database_limit_bytes, s->max_bytes);
    rc = load_key(s, cfg->key_file, err);
    if (rc == RC_OK)
        rc = engine_of(cfg->path, &s->engine, err);
    storer.engine = s->engine;
    storer.key = s->key;
    storer.has_no_key = s->key == NULL && !cfg->seals_nothing;
    if (rc == RC_OK)
        s->nodes = nodes_new(s->engine->nodes, address);
    s->is_shared = rc == RC_OK && cfg->is_shared && s->engine->nodes != NULL;
    if (rc == RC_OK)
        rc = storer_new(&storer, &s->storer, err);
    if (rc == RC_OK)
        storer_listen(s->storer, on_commit, s);
    if (rc == RC_OK)
        rc = start_readers(s, cfg->n_readers, err);
    if (rc == RC_OK)
        rc = storer_start(s->storer, err);
    if (rc == RC_OK)
        nodes_set_followed(s->nodes, followed, storer_tail(s->storer));
    if (rc == RC_OK && s->engine->open_follower != NULL)
        rc = follower_start(s->engine, storer_db(s->storer), storer_tail(s->storer), &s->follower,
                            err);
    if (rc != RC_OK) {
        store_close(&s);
        return rc;
    }
    store_measure(s);
    *out = s;
    return RC_OK;
}

void store_reload(struct store *s, const struct levels *levels)
{
    storer_reload(s->storer, levels);
}

enum rc store_health(struct store *s, struct err *err)
{
    return storer_health(s->storer, err);
}

static enum store_fill fill_of(int64_t bytes, int64_t most)
{
    return most == 0 || bytes < most - most / 10 ? FILL_ROOM
           : bytes < most                        ? FILL_WARNS
                                                 : FILL_FULL;
}

static void tell_fill(struct store *s, enum store_fill now, int64_t bytes)
{
    static const char *const effects[] = {
        [FILL_ROOM] = "none", [FILL_WARNS] = "warning", [FILL_FULL] = "fetching_pauses"};

    atomic_store(&s->fill, (int)now);
    stats_set(STAT_database_fill, (int64_t)now);
    if (now == FILL_ROOM)
        log_info("storage", "database_size", "bytes=%lld max=%lld effect=%s", (long long)bytes,
                 (long long)s->max_bytes, effects[now]);
    else
        log_warn("storage", "database_size", "bytes=%lld max=%lld effect=%s", (long long)bytes,
                 (long long)s->max_bytes, effects[now]);
}

/* One measurement is under way at a time. */
static void set_fill(struct store *s, int64_t bytes)
{
    enum store_fill was = (enum store_fill)atomic_load(&s->fill), now = fill_of(bytes, s->max_bytes);

    if (s->max_bytes > 0)
        atomic_store(&s->room, s->max_bytes - bytes);
    if (was == FILL_ROOM && now == FILL_FULL) /* one who waits for the warning hears of it */
        tell_fill(s, FILL_WARNS, bytes);
    if (now != was)
        tell_fill(s, now, bytes);
}

/* What is free inside, beside free pages. It is asked for only where it makes a difference. */
static int64_t free_inside(const struct store *s, struct reader *r, int64_t bytes)
{
    const struct reads *reads = r->db->reads;
    int64_t n = 0;

    if (reads->free_inside == NULL || fill_of(bytes, s->max_bytes) == FILL_ROOM ||
        reads->free_inside(r->db, &n, NULL) != RC_OK)
        return 0;
    return n;
}

static void measure(void *ctx, struct reader *r)
{
    struct store *s = ctx;
    int64_t bytes, n_free, began_ms = clock_mono_ms();

    atomic_fetch_add(&s->n_measures_begun, 1);
    if (r->db->reads->size(r->db, &bytes, &n_free, NULL) == RC_OK) {
        stats_set(STAT_database_bytes, bytes);
        set_fill(s, bytes - n_free - free_inside(s, r, bytes));
        atomic_store(&s->n_measures_ended, atomic_load(&s->n_measures_begun));
    }
    atomic_store(&s->measure_ms, clock_mono_ms() - began_ms);
    atomic_store(&s->is_measuring, false);
}

void store_measure(struct store *s)
{
    int64_t now_ms = clock_mono_ms();
    int64_t rest_ms = MEASURE_REST * atomic_load(&s->measure_ms);
    int64_t pause_ms = s->max_bytes == 0           ? MEASURE_EVERY_MS
                       : rest_ms > MEASURE_BOUND_MS ? rest_ms
                                                    : MEASURE_BOUND_MS;

    if ((atomic_load(&s->measured_ms) != 0 && now_ms < atomic_load(&s->measured_ms) + pause_ms) ||
        store_health(s, NULL) == RC_AGAIN || atomic_exchange(&s->is_measuring, true))
        return;
    atomic_store(&s->measured_ms, now_ms);
    if (store_read(s, measure, s) != RC_OK)
        atomic_store(&s->is_measuring, false);
}

enum store_fill store_fill(struct store *s)
{
    if (s->max_bytes > 0)
        store_measure(s);
    return (enum store_fill)atomic_load(&s->fill);
}

struct store_room store_room(struct store *s)
{
    struct store_room out = {.bytes = INT64_MAX};

    if (s->max_bytes == 0)
        return out;
    store_measure(s);
    out.n_ended = atomic_load(&s->n_measures_ended); /* first: the size may be newer, never older */
    out.bytes = atomic_load(&s->room);
    out.n_begun = atomic_load(&s->n_measures_begun);
    return out;
}

int64_t store_max_bytes(const struct store *s)
{
    return s->max_bytes;
}

enum rc store_copy(struct store *s, upkeep_progress_fn *fn, void *ctx, int *fd, int64_t *len,
                   struct err *err)
{
    int64_t grows = store_room(s).bytes; /* so much the database may still take */
    int64_t spare = grows < 0 ? 0 : grows < COPY_SPARE ? grows : COPY_SPARE;

    return upkeep_copy(storer_address(s->storer), spare, fn, ctx, fd, len, err);
}

void store_close(struct store **sp)
{
    struct store *s = *sp;

    if (s == NULL)
        return;
    keeper_stop(s->keeper);
    queue_close(s->reads);
    for (int i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    follower_free(&s->follower);
    if (s->nodes != NULL)
        nodes_set_followed(s->nodes, NULL, NULL); /* the tail goes with the storer */
    storer_free(&s->storer);                      /* all other connections are closed now */
    nodes_free(&s->nodes);                        /* all is stored that ran in our slots */
    queue_free(&s->reads);
    keeper_free(&s->keeper);
    cache_free(&s->cache);
    pages_free(&s->pages);
    verdicts_free(&s->verdicts);
    mem_free(s->key);
    directory_free(&s->dir);
    mem_free(s->threads);
    mem_free(s->memcached);
    mem_free(s->replica);
    mem_free(s);
    *sp = NULL;
}

enum rc store_start_keeper(struct store *s, struct err *err)
{
    return keeper_start(s->keeper, err);
}

bool store_is_shared(const struct store *s)
{
    return s->is_shared;
}

struct nodes *store_nodes(struct store *s)
{
    return s->nodes;
}

void store_catch_up(struct store *s, store_current_fn *done, void *ctx)
{
    if (s->follower == NULL)
        done(ctx, RC_OK);
    else
        follower_ask(s->follower, done, ctx);
}

bool store_is_current(struct store *s)
{
    return s->follower == NULL;
}

void store_listen(struct store *s, store_notice_fn *fn, void *ctx)
{
    storer_listen(s->storer, fn, ctx);
}

/* ---- the directory --------------------------------------------------------------------------- */

bool store_find_feed(struct store *s, struct str url, struct str credential, struct feed_brief *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return directory_find(s->dir, url, sealed_credential(&a, s->key, credential), out);
}

bool store_brief(struct store *s, int64_t feed_id, struct feed_brief *out)
{
    return directory_brief(s->dir, feed_id, out);
}

bool store_is_merged(struct store *s, int64_t feed_id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return directory_has_alias(s->dir, merged_name(&a, feed_id));
}

struct str store_access_key(struct store *s, int64_t feed_id, struct arena *a)
{
    return directory_access_key(s->dir, feed_id, a);
}

struct str store_feed_url(struct store *s, int64_t feed_id, struct arena *a)
{
    return directory_url(s->dir, feed_id, a);
}

size_t store_feed_ids(struct store *s, struct arena *a, int64_t **out)
{
    return directory_ids(s->dir, a, out);
}

enum rc store_unseal(struct store *s, struct str sealed, struct arena *a, struct str *out,
                     struct err *err)
{
    return sealed_open(a, s->key, sealed, out, err);
}

struct str store_credential(struct store *s, int64_t feed_id, struct arena *a, struct str *given_at)
{
    struct str out = STR_NULL;

    if (store_unseal(s, directory_credential(s->dir, feed_id, a, given_at), a, &out, NULL) != RC_OK)
        return STR_NULL;
    return out;
}

size_t store_find_by_any_url(struct store *s, struct str url, int64_t *ids, size_t max)
{
    return directory_find_any(s->dir, url, ids, max);
}

size_t store_find_named(struct store *s, struct str url, int64_t *ids, size_t max)
{
    return directory_find_named(s->dir, url, ids, max);
}

int64_t store_n_needs(struct store *s)
{
    return directory_n_needs(s->dir);
}

void store_needs(struct store *s, uint32_t counts[NEED_CLASSES])
{
    directory_needs(s->dir, counts);
}

int64_t store_names(struct store *s)
{
    return directory_names(s->dir);
}

int64_t store_stamp(struct store *s)
{
    return directory_changes(s->dir);
}

int64_t store_horizon(struct store *s, const int64_t *ids, size_t n, bool all)
{
    return directory_horizon(s->dir, ids, n, all);
}

int64_t store_version(struct store *s, const int64_t *ids, size_t n)
{
    return directory_version(s->dir, ids, n);
}

size_t store_briefs(struct store *s, const int64_t *ids, size_t n, struct feed_brief *out)
{
    return directory_briefs(s->dir, ids, n, out);
}

size_t store_newest_feeds(struct store *s, const int64_t *ids, size_t n, size_t max, int64_t *out)
{
    return directory_newest(s->dir, ids, n, max, out);
}

int64_t store_fork(struct store *s)
{
    return tail_fork(storer_tail(s->storer));
}

int64_t store_seq_of(struct store *s, const int64_t *ids, size_t n)
{
    return directory_seq_of(s->dir, ids, n);
}

int64_t store_last_seq(struct store *s)
{
    return directory_last_seq(s->dir);
}

struct str store_secret(struct store *s)
{
    return storer_secret(s->storer);
}

struct str store_log_id(struct store *s)
{
    return storer_log_id(s->storer);
}

/* ---- the cache ------------------------------------------------------------------------------- */

bool cache_get(struct store *s, struct str key, struct cached_doc *out)
{
    return cache_find(s->cache, key, out);
}

bool cache_get_far(struct reader *r, struct str key, struct cached_doc *out)
{
    if (r->far == NULL || !far_find(r->far, key, out))
        return false;
    cache_add(r->store->cache, key, out);
    return true;
}

void cache_put(struct reader *r, struct str key, const struct cached_doc *doc)
{
    cache_add(r->store->cache, key, doc);
    if (r->far != NULL)
        far_add(r->far, key, doc);
}
