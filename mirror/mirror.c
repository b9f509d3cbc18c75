/* mirror/mirror.c - see mirror.h. */
#include "mirror/mirror.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "mirror/files.h"
#include "mirror/folder.h"
#include "mirror/inside.h"
#include "model/fetch_secrets.h"
#include "net/url.h"

#define PER_HOST 2    /* of them, from one host */
#define GROUP 256     /* revisions that are looked through together */
#define LEAP 4096     /* so many without files are passed over before the place is stored */
#define DUE 1000      /* rows that are looked at together for the next transfer */
#define LOOK_MS 1000  /* without news, look so often */
#define AGAIN_MS 1000 /* after an error */

/* ---- waiting, and handing over --------------------------------------------------------------- */

/* Wait for so long, or, if that counts now, until a transfer has ended. False: the thread is to end. */
static bool wait_ms(struct mirror *m, int64_t ms, bool takes_ended)
{
    struct timespec until = clock_mono_after_ms(ms);
    bool goes_on;
    int late = 0;

    pthread_mutex_lock(&m->lock);
    while (!m->is_stopped && late == 0 && (m->n_ended == 0 || !takes_ended))
        late = pthread_cond_timedwait(&m->come, &m->lock, &until);
    goes_on = !m->is_stopped;
    pthread_mutex_unlock(&m->lock);
    return goes_on;
}

static void on_stored(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err)
{
    struct mirror *m = ctx;

    if (rc != RC_OK && rc != RC_CONFLICT && rc != RC_CLOSED)
        log_warn("mirror", "not_stored", "error=%s effect=again",
                 log_quote(str_from(err == NULL ? "" : err->text)));
    pthread_mutex_lock(&m->lock);
    m->rc = rc;
    m->is_answered = true;
    pthread_cond_signal(&m->come);
    pthread_mutex_unlock(&m->lock);
}

/* Hand a change over, and wait for its end. RC_CLOSED: the thread is to end. Then nobody waits any
 * more: the storer may wait for a database that is away, and is told to give up only after we have
 * ended. Its answer comes before mirror_free(). */
enum rc mirror_hand_over(struct mirror *m, const struct mirror_change *change)
{
    struct mirror_change fenced = *change;
    enum rc rc;

    fenced.fence = m->fence;
    pthread_mutex_lock(&m->lock);
    m->is_answered = false;
    pthread_mutex_unlock(&m->lock);
    rc = store_mirror(m->cfg.store, &fenced, on_stored, m);
    if (rc != RC_OK)
        return rc;
    pthread_mutex_lock(&m->lock);
    while (!m->is_answered && !m->is_stopped)
        pthread_cond_wait(&m->come, &m->lock);
    rc = m->is_answered ? m->rc : RC_CLOSED;
    pthread_mutex_unlock(&m->lock);
    if (rc == RC_CONFLICT)
        m->is_placed = m->is_swept = false;
    return rc;
}

enum rc mirror_insist(struct mirror *m, const struct mirror_change *change)
{
    enum rc rc;

    while ((rc = mirror_hand_over(m, change)) != RC_OK && rc != RC_CLOSED && rc != RC_CONFLICT) {
        struct timespec pause = {0, AGAIN_MS * 1000000L / 4};

        if (atomic_load(&m->is_stopped))
            break;
        nanosleep(&pause, NULL);
    }
    return rc;
}

/* ---- files that were served ------------------------------------------------------------------ */

void mirror_used(struct mirror *m, struct str sha256, bool is_lost)
{
    if (m == NULL || sha256.len != MIRROR_KEY_LEN)
        return;
    pthread_mutex_lock(&m->lock);
    used_files_add(&m->used, sha256, clock_now_us(), is_lost);
    pthread_mutex_unlock(&m->lock);
}

/* ---- the log --------------------------------------------------------------------------------- */

static enum rc find_place(struct mirror *m, struct err *err)
{
    enum rc rc = reader_mirror_place(m->reader, &m->stored, &m->n_bytes, err);
    struct mirror_change first = {.moves = true, .from = -1, .to = store_last_seq(m->cfg.store)};

    if (rc == RC_OK && m->stored < 0) { /* it begins at the end of the log */
        rc = mirror_hand_over(m, &first);
        m->stored = first.to;
        if (rc != RC_OK && rc != RC_CLOSED)
            err_set(err, rc, "the mirror's place in the log cannot be stored");
    }
    m->place = m->stored;
    m->is_placed = rc == RC_OK;
    stats_set(STAT_mirror_bytes, m->n_bytes);
    return rc;
}

/* One statement must not have a row twice. */
static size_t without_doubles(struct mirrored *rows, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < kept && !str_eq(rows[k].key, rows[i].key))
            k++;
        if (k == kept)
            rows[kept++] = rows[i];
    }
    return kept;
}

/* The files of these entries, as rows that wait, and who names them. What is not wanted is named only. Of an entry
 * that has changed twice, the newest revision counts. */
static void files_of(struct arena *a, const struct mirror_entry *entries, size_t n_entries,
                     struct mirror_change *change)
{
    struct entry_file files[ENTRY_FILES_MAX];
    struct mirrored *rows = ARENA_ARRAY(a, struct mirrored, n_entries * ENTRY_FILES_MAX + 1);
    struct mirror_name *names = ARENA_ARRAY(a, struct mirror_name, n_entries * (ENTRY_FILES_MAX + 1) + 1);
    int64_t now = clock_now_s();

    for (size_t i = 0; i < n_entries; i++) {
        size_t n_files, later = i + 1;

        while (later < n_entries && entries[later].id != entries[i].id)
            later++;
        if (later < n_entries)
            continue;
        names[change->n_names++] = (struct mirror_name){entries[i].id, STR_NULL};
        n_files = entry_files(a, entries[i].doc, files);
        for (size_t k = 0; k < n_files; k++) {
            struct str key = mirror_key(a, files[k].url);

            names[change->n_names++] = (struct mirror_name){entries[i].id, key};
            if (entries[i].is_wanted)
                rows[change->n_added++] = (struct mirrored){
                    .key = key, .url = files[k].url, .type = files[k].type, .since_at = now, .next_at = now};
        }
    }
    change->n_added = without_doubles(rows, change->n_added);
    change->added = rows;
    change->names = names;
}

/* Look through the next revisions. *more: there are others. */
static enum rc read_log(struct mirror *m, bool *more, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t end = store_last_seq(m->cfg.store);
    int64_t to = end - m->place > GROUP ? m->place + GROUP : end;
    struct mirror_change change = {.moves = true, .from = m->stored, .to = to};
    struct mirror_entry *entries;
    size_t n_entries;
    enum rc rc;

    *more = false;
    if (m->place >= end)
        return RC_OK;
    rc = reader_mirror_entries(m->reader, m->place, to, &a, &entries, &n_entries, err);
    if (rc != RC_OK)
        return rc;
    files_of(&a, entries, n_entries, &change);
    if (n_entries > 0 || to - m->stored >= LEAP) {
        rc = mirror_hand_over(m, &change);
        if (rc != RC_OK) /* RC_CONFLICT: another node was faster */
            return rc == RC_CONFLICT || rc == RC_CLOSED
                       ? RC_OK
                       : err_set(err, rc, "the files of new entries cannot be stored");
        m->stored = to;
    }
    m->place = to;
    *more = to < end;
    return RC_OK;
}

/* ---- what is served, or is not there any more ------------------------------------------------- */

/* A client wants a file that was deleted by hand: it is fetched once more, from all addresses that gave it, and
 * views name the originals until it is there. */
static void fetch_lost(struct mirror *m, struct str sha256)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct mirror_change change = {.lost = sha256, .lost_at = clock_now_s()};
    struct mirrored row;

    if (reader_mirror_file(m->reader, sha256, &a, &row, NULL) != RC_OK ||
        row.state != MIRROR_STORED || mirror_file_look(m->cfg.dir, sha256, row.size) != MIRROR_FILE_LOST)
        return;
    log_warn("mirror", "lost", "sha256=%.*s effect=fetched_again", STR_ARG(sha256));
    if (mirror_insist(m, &change) == RC_OK)
        mirror_forget(m, &row);
}

/* Store which files were served. If that fails, it is forgotten. Only the node that leads knows how many bytes there
 * are and may drop files; it finds a lost one when it is asked for it itself. */
static void note_used(struct mirror *m)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct mirror_change change = {.moves = false};
    struct mirror_use *used;
    struct str *lost;
    size_t n_lost;

    pthread_mutex_lock(&m->lock);
    used_files_take(&m->used, &a, &used, &change.n_used, &lost, &n_lost);
    pthread_mutex_unlock(&m->lock);
    change.used = used;
    if (change.n_used > 0)
        (void)mirror_hand_over(m, &change);
    for (size_t i = 0; i < n_lost && m->is_placed; i++)
        fetch_lost(m, lost[i]);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* May a transfer from this host begin? */
static bool is_free(struct mirror *m, struct str host, int64_t now_s)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_running; i++)
        n += str_eq(m->running[i]->host, host);
    return n < PER_HOST && !host_rests_has(&m->rests, host, now_s);
}

/* ---- the end of a transfer ------------------------------------------------------------------- */

static void transfer_free(struct transfer **tp)
{
    struct transfer *t = *tp;

    partial_close(&t->file);
    arena_release(&t->arena);
    mem_free(t);
    *tp = NULL;
}

/* The file has come: to its place. */
static enum rc keep(struct mirror *m, struct transfer *t, struct err *err)
{
    struct mirrored known;
    struct str sha256;
    bool is_known;
    enum rc rc;

    if (m->is_broken) /* then nothing makes room for it either */
        return err_set(err, RC_IO, "the folder of the mirror is not there");
    if (t->file.size > m->cfg.max_total)
        return err_set(err, RC_LIMIT,
                       "the file has more bytes than all together may have (--mirror-total)");
    if ((rc = partial_digest(&t->file, &t->arena, &m->is_stopped, &sha256, err)) != RC_OK)
        return rc;
    note_used(m);
    is_known = reader_mirror_file(m->reader, sha256, &t->arena, &known, NULL) == RC_OK &&
               known.state == MIRROR_STORED;
    rc = is_known ? RC_OK : mirror_make_room(m, t->row.key, err);
    if (rc == RC_OK)
        rc = partial_store(&t->file, m->cfg.dir, sha256, err);
    if (rc != RC_OK)
        return rc;
    if (!is_known)
        m->n_bytes += t->file.size;
    t->row.state = MIRROR_STORED;
    t->row.sha256 = sha256;
    t->row.size = t->file.size;
    t->row.type = t->type;
    t->row.error = STR_NULL;
    t->row.n_tries = 0;
    t->row.next_at = TIME_UNKNOWN;
    t->row.used_us = clock_now_us();
    stats_inc(STAT_mirror_files_total);
    stats_set(STAT_mirror_bytes, m->n_bytes);
    log_info("mirror", "stored", "url=%s sha256=%.*s bytes=%lld",
             log_quote(url_public(&t->arena, t->row.url)), STR_ARG(sha256),
             (long long)t->file.size);
    return RC_OK;
}

static void note_failure(struct mirror *m, struct transfer *t, enum rc rc, const struct err *err)
{
    struct str why = str_from(err->text);
    uint32_t chance;
    int64_t now = clock_now_s();

    why = str_slice(why, 0, str_utf8_valid(why)); /* it was cut to its room, and is stored */
    digest_random(&chance, sizeof chance);
    if (t->wait_s >= 0)
        host_rests_add(&m->rests, t->host, now + (t->wait_s < MIRROR_REST_MAX_S ? t->wait_s : MIRROR_REST_MAX_S));
    mirror_failed(&t->row, rc, str_dup(&t->arena, why), transfer_further(t), t->wait_s, now, chance);
    stats_inc(STAT_mirror_failed_total);
    log_info("mirror", t->row.state == MIRROR_FAILED ? "failed" : "postponed",
             "url=%s error=%s tries=%d", log_quote(url_public(&t->arena, t->row.url)),
             log_quote(t->row.error), t->row.n_tries);
    if (t->row.state == MIRROR_FAILED || str_is_null(t->file.validator)) /* it cannot go on */
        partial_drop(&t->file);
}

bool mirror_wants(struct mirror *m, struct str key)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct mirror_wish wish;

    return reader_mirror_wish(m->reader, key, &a, &wish, NULL) != RC_OK || wish.is_wanted;
}

/* Nobody wants it any more. */
static void end_unwanted(struct mirror *m, struct transfer *t)
{
    struct mirror_change change = {.unwanted = &t->row.key, .n_unwanted = 1};

    if (mirror_insist(m, &change) == RC_CONFLICT) /* the partial file is the next one's, too */
        return;
    partial_drop(&t->file);
    (void)folder_drop_partial(m->cfg.dir, t->row.key);
}

/* A transfer has ended, or could not begin: store what follows. */
static void settle(struct mirror *m, struct transfer *t, enum rc rc, struct err *err)
{
    struct mirror_change change = {.outcome = &t->row};

    if (!m->is_broken && !mirror_wants(m, t->row.key)) { /* it may have no row any more */
        end_unwanted(m, t);
        return;
    }
    if (rc == RC_OK)
        rc = keep(m, t, err);
    if (rc == RC_CLOSED && atomic_load(&m->is_stopped)) /* it goes on after the next start */
        return;
    if (rc != RC_OK)
        note_failure(m, t, rc, err);
    partial_close(&t->file);
    (void)mirror_insist(m, &change);
}

static struct transfer *next_ended(struct mirror *m)
{
    struct transfer *t = NULL;

    pthread_mutex_lock(&m->lock);
    if (m->n_ended > 0)
        t = m->ended[--m->n_ended];
    pthread_mutex_unlock(&m->lock);
    return t;
}

/* `leads`: what became of them is this node's to say. If it is not, they go on at the node that leads now, with what
 * has come. */
static void settle_ended(struct mirror *m, bool leads)
{
    struct transfer *t;

    while ((t = next_ended(m)) != NULL) {
        size_t i = 0;

        while (m->running[i] != t)
            i++;
        m->running[i] = m->running[--m->n_running];
        if (leads && !atomic_load(&t->is_ended_early))
            settle(m, t, t->rc, &t->err);
        else if (leads && !mirror_wants(m, t->row.key))
            end_unwanted(m, t);
        transfer_free(&t);
    }
    stats_set(STAT_mirror_running, (int64_t)m->n_running);
}

/* On the loop. */
static void on_ended(void *ctx, struct transfer *t)
{
    struct mirror *m = ctx;

    pthread_mutex_lock(&m->lock);
    ASSERT(m->n_ended < AT_ONCE);
    m->ended[m->n_ended++] = t;
    pthread_cond_signal(&m->come);
    pthread_mutex_unlock(&m->lock);
}

bool mirror_is_fetching(const struct mirror *m, struct str key)
{
    for (size_t i = 0; i < m->n_running; i++)
        if (str_eq(m->running[i]->row.key, key))
            return true;
    return false;
}

/* ---- the begin of a transfer ----------------------------------------------------------------- */

static struct transfer *transfer_of(struct mirror *m, const struct mirrored *row)
{
    struct transfer *t = NEW(struct transfer);

    t->row = *row;
    t->row.key = str_dup(&t->arena, row->key);
    t->row.url = str_dup(&t->arena, row->url);
    t->row.sha256 = str_dup(&t->arena, row->sha256);
    t->row.type = str_dup(&t->arena, row->type);
    t->row.error = str_dup(&t->arena, row->error);
    t->file = (struct partial)PARTIAL_CLOSED;
    t->limits = (struct mirror_limits){m->cfg.max_size, m->cfg.types};
    t->others_wait = &m->is_full;
    t->loop = m->loop;
    t->client = m->client;
    t->ended = on_ended;
    t->ctx = m;
    t->wait_s = -1;
    return t;
}

/* All that belongs to a feed with a proxy goes through it. */
static enum rc read_proxy(struct mirror *m, struct transfer *t, struct str secrets, struct err *err)
{
    struct fetch_secrets s;

    if (str_is_null(secrets))
        return RC_OK;
    if (store_unseal(m->cfg.store, secrets, &t->arena, &secrets, NULL) != RC_OK ||
        fetch_secrets_read(&t->arena, secrets, &s, NULL) != RC_OK)
        return err_set(err, RC_IO, "the secrets of its feed cannot be read, and with them whether it has a proxy");
    t->proxy = fetch_secrets_value(&s, STR("proxy"));
    return RC_OK;
}

/* Begin a transfer, if somebody still wants it, and its host lets it. */
static void begin(struct mirror *m, const struct mirrored *row, int64_t now)
{
    struct transfer *t = transfer_of(m, row);
    struct err err = ERR_INIT;
    struct url_parts parts;
    struct mirror_wish wish = {.is_wanted = true};
    enum rc rc = url_parse(&t->arena, row->url, &parts, &err);

    if (rc == RC_OK) {
        t->url = parts.url;
        t->host = url_authority(&t->arena, parts.url);
        if (!is_free(m, t->host, now) ||
            reader_mirror_wish(m->reader, row->key, &t->arena, &wish, NULL) != RC_OK) {
            transfer_free(&t);
            return;
        }
        rc = wish.is_wanted ? read_proxy(m, t, wish.secrets, &err) : RC_OK;
    }
    if (!wish.is_wanted) {
        end_unwanted(m, t);
        transfer_free(&t);
        return;
    }
    if (rc == RC_OK)
        rc = partial_open(&t->file, &t->arena, m->cfg.dir, row->key, &err);
    if (rc == RC_OK) {
        m->running[m->n_running++] = t;
        loop_post(m->loop, transfer_start, t);
        return;
    }
    settle(m, t, rc, &err);
    transfer_free(&t);
}

/* Begin what is due. If many are due that cannot begin, because of their hosts, the next look goes
 * on behind them. */
static enum rc begin_due(struct mirror *m, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t now = clock_now_s();
    struct mirrored *rows;
    size_t n;
    enum rc rc;

    if (m->n_running == AT_ONCE)
        return RC_OK;
    rc = reader_mirror_list(m->reader, MIRRORS_DUE, now, m->n_passed, DUE, &a, &rows, &n, err);
    for (size_t i = 0; rc == RC_OK && i < n && m->n_running < AT_ONCE; i++)
        if (!mirror_is_fetching(m, rows[i].key))
            begin(m, &rows[i], now);
    m->n_passed = rc == RC_OK && n == DUE && m->n_running < AT_ONCE ? m->n_passed + DUE : 0;
    atomic_store(&m->is_full, m->n_running == AT_ONCE);
    stats_set(STAT_mirror_running, (int64_t)m->n_running);
    return rc;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Another node leads: it fetches what is on its way here, and counts and drops files. */
static void stand_back(struct mirror *m)
{
    for (size_t i = 0; i < m->n_running; i++)
        atomic_store(&m->running[i]->is_ended_early, true);
    settle_ended(m, false);
    note_used(m);
}

static enum rc work(struct mirror *m, bool *more, struct err *err)
{
    bool has_grown = m->n_running > 0; /* what is there in part */
    bool is_there = folder_watch(m->cfg.dir, &m->is_broken), leads = nodes_leads_by(store_nodes(m->cfg.store), &m->fence);
    enum rc rc = RC_OK;

    *more = false;
    if (!is_there || !leads) /* others may store and drop meanwhile, or a file is without its row */
        m->is_placed = m->is_swept = false;
    if (!leads) {
        stand_back(m);
        return RC_OK;
    }
    if (!is_there) { /* what is to be fetched waits in the log and in its rows */
        settle_ended(m, true);
        return RC_OK;
    }
    if (!m->is_placed && (rc = find_place(m, err)) != RC_OK)
        return rc; /* nothing is dropped for a file before it is known how many bytes there are */
    settle_ended(m, true);
    note_used(m);
    rc = mirror_sweep(m, err);
    if (rc == RC_OK)
        rc = read_log(m, more, err);
    if (rc == RC_OK && !*more)
        rc = mirror_walk(m, err);
    if (rc == RC_OK && has_grown)
        rc = mirror_make_room(m, STR_NULL, err);
    return rc == RC_OK ? begin_due(m, err) : rc;
}

static void *mirror_main(void *arg)
{
    struct mirror *m = arg;
    bool goes_on = true;

    thread_set_name("mirror");
    while (goes_on) {
        struct err err = ERR_INIT;
        bool more;
        enum rc rc = work(m, &more, &err);

        if (rc != RC_OK)
            log_warn("mirror", "delayed", "error=%s", log_quote(str_from(err.text)));
        goes_on = wait_ms(m, rc != RC_OK ? AGAIN_MS : more ? 0 : LOOK_MS, rc == RC_OK);
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct mirror *mirror_new(const struct mirror_cfg *cfg)
{
    struct mirror *m = NEW(struct mirror);
    pthread_condattr_t monotonic;

    m->cfg = *cfg;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&m->come, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return m;
}

static void open_client(void *ctx)
{
    struct mirror *m = ctx;
    struct http_client_cfg cfg = {
        .guard = m->cfg.guard, .user_agent = m->cfg.user_agent, .max_total = AT_ONCE};

    m->client = http_client_new(m->loop, &cfg);
}

static void close_client(void *ctx)
{
    struct mirror *m = ctx;

    http_client_free(&m->client);
}

/* A folder that had files before is not made anew: its disk may not be mounted. */
static enum rc prepare(struct mirror *m, struct err *err)
{
    int64_t place, n_bytes;
    enum rc rc = reader_mirror_place(m->reader, &place, &n_bytes, err);

    if (rc == RC_OK && n_bytes == 0)
        rc = partial_prepare(m->cfg.dir, err);
    return rc == RC_OK ? RC_OK : err_prefix(err, "option mirror");
}

enum rc mirror_start(struct mirror *m, struct err *err)
{
    enum rc rc;

    m->reader = reader_open(m->cfg.store);
    if (m->reader == NULL)
        return err_set(err, RC_IO, "cannot open a reader for the mirror");
    rc = prepare(m, err);
    if (rc != RC_OK)
        return rc;
    m->loop = loop_new("mirror loop");
    loop_call(m->loop, open_client, m);
    if (pthread_create(&m->thread, NULL, mirror_main, m) != 0)
        return err_set(err, RC_IO, "cannot start the thread of the mirror");
    m->is_started = true;
    return RC_OK;
}

void mirror_stop(struct mirror *m)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    m->is_stopped = true;
    pthread_cond_signal(&m->come);
    pthread_mutex_unlock(&m->lock);
    if (m->is_started)
        pthread_join(m->thread, NULL);
    m->is_started = false;
    if (m->loop != NULL) { /* all calls end */
        loop_call(m->loop, close_client, m);
        loop_free(&m->loop);
    }
    while (m->n_running > 0)
        transfer_free(&m->running[--m->n_running]);
    reader_close(&m->reader);
}

void mirror_free(struct mirror **mp)
{
    struct mirror *m = *mp;

    if (m == NULL)
        return;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->come);
    mem_free(m);
    *mp = NULL;
}
