/* api/http/token_book.c - see token_book.h. */
#include "api/http/token_book.h"

#include <pthread.h>

#include "api/http/again.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

#define READ_EVERY_MS 1000
#define NOTE_EVERY_S 60 /* the last use is written so often */

struct known_token {
    int64_t id, rate, expires_at, used_at;
    int64_t session_of; /* as in struct token */
    enum access_role role;
    unsigned char digest[DIGEST_SHA256_LEN];
};

/* A token that was deleted. Readings up to this number may still show it. */
struct forgotten {
    int64_t id;
    uint64_t last_reading;
};

struct token_book {
    struct store *store;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t woken;
    struct map by_digest;      /* of struct known_token */
    struct map by_id;          /* the same ones */
    size_t n_sessions;         /* of them */
    uint64_t n_begun, n_taken; /* readings; the newest one that was taken */
    struct forgotten *forgotten;
    size_t n_forgotten, cap_forgotten;
    struct again *looks; /* requests that wait for the next reading */
    bool stops;
    bool has_thread;
    pthread_t thread;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digest(struct str hex, unsigned char out[DIGEST_SHA256_LEN])
{
    if (hex.len != 2 * DIGEST_SHA256_LEN)
        return false;
    for (size_t i = 0; i < DIGEST_SHA256_LEN; i++) {
        int high = hex_digit(hex.ptr[2 * i]), low = hex_digit(hex.ptr[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static struct str digest_key(const unsigned char digest[DIGEST_SHA256_LEN])
{
    return str_of((const char *)digest, DIGEST_SHA256_LEN);
}

static struct str id_key(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

static bool is_forgotten(const struct token_book *b, int64_t id)
{
    for (size_t i = 0; i < b->n_forgotten; i++)
        if (b->forgotten[i].id == id)
            return true;
    return false;
}

/* Keep only what readings after this one may show. */
static void prune_forgotten(struct token_book *b, uint64_t no)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->n_forgotten; i++)
        if (b->forgotten[i].last_reading > no)
            b->forgotten[kept++] = b->forgotten[i];
    b->n_forgotten = kept;
}

/* A use that is not on disk yet is not forgotten. */
static void take_locked(struct token_book *b, const struct token *rows, size_t n)
{
    struct map fresh = MAP_INIT, by_id = MAP_INIT;

    b->n_sessions = 0;
    for (size_t i = 0; i < n; i++) {
        struct known_token *t, *old;

        if (is_forgotten(b, rows[i].id))
            continue;
        t = NEW(struct known_token);
        *t = (struct known_token){.id = rows[i].id,
                                  .rate = rows[i].rate,
                                  .expires_at = rows[i].expires_at,
                                  .used_at = rows[i].used_at,
                                  .role = rows[i].role,
                                  .session_of = rows[i].session_of};
        if (!read_digest(rows[i].digest, t->digest)) {
            mem_free(t);
            continue;
        }
        old = map_get(&b->by_digest, digest_key(t->digest));
        if (old != NULL && old->used_at > t->used_at)
            t->used_at = old->used_at;
        old = map_put(&fresh, digest_key(t->digest), t);
        if (old != NULL) /* somebody has copied a row */
            mem_free(map_del(&by_id, id_key(&old->id)));
        map_put(&by_id, id_key(&t->id), t);
        b->n_sessions += t->session_of != 0;
    }
    map_release(&b->by_digest, mem_free);
    map_release(&b->by_id, NULL);
    b->by_digest = fresh;
    b->by_id = by_id;
}

enum rc token_book_read(struct token_book *b, struct reader *r, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct token *rows;
    uint64_t no;
    size_t n;
    enum rc rc;

    pthread_mutex_lock(&b->lock);
    no = ++b->n_begun;
    pthread_mutex_unlock(&b->lock);
    rc = reader_tokens(r, &a, &rows, &n, err);
    if (rc != RC_OK)
        return rc;
    pthread_mutex_lock(&b->lock);
    if (no > b->n_taken) { /* else one that began later was faster */
        b->n_taken = no;
        take_locked(b, rows, n);
        prune_forgotten(b, no);
    }
    pthread_mutex_unlock(&b->lock);
    return RC_OK;
}

void token_book_forget(struct token_book *b, int64_t id)
{
    struct known_token *t;

    pthread_mutex_lock(&b->lock);
    t = map_del(&b->by_id, id_key(&id));
    if (t != NULL) {
        map_del(&b->by_digest, digest_key(t->digest));
        b->n_sessions -= t->session_of != 0;
    }
    mem_free(t);
    b->forgotten =
        mem_grow(b->forgotten, &b->cap_forgotten, b->n_forgotten + 1, sizeof *b->forgotten);
    b->forgotten[b->n_forgotten++] = (struct forgotten){id, b->n_begun};
    pthread_mutex_unlock(&b->lock);
}

/* ---- other nodes ----------------------------------------------------------------------------- */

static void post_all(struct again *looks, enum rc rc)
{
    while (looks != NULL) {
        struct again *next = looks->next;

        again_post(looks, rc);
        looks = next;
    }
}

/* All look together: so wrong tokens cost no more than one reading a second. Returns who looks;
 * *stops: the store is closing. */
static struct again *wait_for_looks(struct token_book *b, bool *stops)
{
    struct timespec until = clock_mono_after_ms(READ_EVERY_MS);
    struct again *looks;

    pthread_mutex_lock(&b->lock);
    while (!b->stops && pthread_cond_timedwait(&b->woken, &b->lock, &until) == 0)
        ;
    looks = b->looks;
    b->looks = NULL;
    *stops = b->stops;
    pthread_mutex_unlock(&b->lock);
    return looks;
}

static void *follow(void *arg)
{
    struct token_book *b = arg;
    struct reader *r = reader_open(b->store);
    bool stops = false;

    thread_set_name("tokens");
    while (!stops) {
        struct again *looks = wait_for_looks(b, &stops);
        struct err err = ERR_INIT;
        enum rc rc = r == NULL ? RC_AGAIN : token_book_read(b, r, &err);

        if (rc != RC_OK)
            log_debug("api", "tokens_not_read", "error=%s", log_quote(str_from(err.text)));
        post_all(looks, rc);
        if (r == NULL)
            r = reader_open(b->store);
    }
    reader_close(&r);
    return NULL;
}

bool token_book_look(struct token_book *b, struct request *req, request_handler_fn *handle)
{
    struct again *look;
    bool can;

    pthread_mutex_lock(&b->lock);
    can = b->has_thread && !b->stops;
    pthread_mutex_unlock(&b->lock);
    if (!can)
        return false;
    look = again_take(req, handle);
    pthread_mutex_lock(&b->lock);
    look->next = b->looks;
    b->looks = look;
    pthread_mutex_unlock(&b->lock);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool read_first(struct token_book *b)
{
    struct reader *r = reader_open(b->store);
    struct err err = ERR_INIT;
    enum rc rc = r == NULL ? RC_IO : token_book_read(b, r, &err);

    if (r != NULL && rc != RC_OK)
        log_error("api", "tokens_not_read", "error=%s", log_quote(str_from(err.text)));
    reader_close(&r);
    return rc == RC_OK;
}

struct token_book *token_book_new(struct store *s)
{
    struct token_book *b = NEW(struct token_book);
    pthread_condattr_t attr;

    b->store = s;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->woken, &attr);
    pthread_condattr_destroy(&attr);
    if (!read_first(b)) {
        token_book_free(&b);
        return NULL;
    }
    b->has_thread = store_is_shared(s) && pthread_create(&b->thread, NULL, follow, b) == 0;
    if (store_is_shared(s) && !b->has_thread) {
        log_error("api", "tokens_not_followed", "error=thread");
        token_book_free(&b);
    }
    return b;
}

void token_book_stop(struct token_book *b)
{
    bool first;

    pthread_mutex_lock(&b->lock);
    first = b->has_thread && !b->stops;
    b->stops = true;
    pthread_mutex_unlock(&b->lock);
    pthread_cond_signal(&b->woken);
    if (first)
        pthread_join(b->thread, NULL);
}

void token_book_free(struct token_book **bp)
{
    struct token_book *b = *bp;

    if (b == NULL)
        return;
    token_book_stop(b);
    while (b->looks != NULL) { /* they came while the thread ended; their requests are over */
        struct again *next = b->looks->next;

        again_free(b->looks);
        b->looks = next;
    }
    map_release(&b->by_digest, mem_free);
    map_release(&b->by_id, NULL);
    mem_free(b->forgotten);
    pthread_cond_destroy(&b->woken);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
    *bp = NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool is_over(const struct known_token *t, int64_t now)
{
    return t->expires_at != TIME_UNKNOWN && t->expires_at <= now;
}

/* A session ends with the token of which it is. That of --token is bound to it in another way: the
 * bytes whose digest is stored contain it (api/session.c). */
static bool has_ended(struct token_book *b, const struct known_token *t, int64_t now)
{
    const struct known_token *whole;

    if (is_over(t, now) || t->session_of <= 0)
        return is_over(t, now);
    whole = map_get(&b->by_id, id_key(&t->session_of));
    return whole == NULL || is_over(whole, now);
}

/* The map finds by a seeded hash of the digest; that the token is the one is compared in constant
 * time. */
static struct known_token *find_locked(struct token_book *b, struct str token, int64_t now)
{
    unsigned char digest[DIGEST_SHA256_LEN];
    struct known_token *t;

    digest_sha256(token, digest);
    t = map_get(&b->by_digest, digest_key(digest));
    return t != NULL && digest_same(t->digest, digest, sizeof digest) && !has_ended(b, t, now)
               ? t
               : NULL;
}

bool token_book_find(struct token_book *b, struct str token, struct caller *out)
{
    int64_t now = clock_now_s(), note_id = 0;
    const struct known_token *found;
    struct known_token *t;
    enum rc rc;

    pthread_mutex_lock(&b->lock);
    found = t = find_locked(b, token, now);
    if (found != NULL)
        *out = (struct caller){.role = t->role,
                               .owner = t->session_of != 0 ? t->session_of : t->id,
                               .rate = t->rate,
                               .session = t->session_of != 0 ? t->id : 0};
    if (t != NULL && (t->used_at == TIME_UNKNOWN || now - t->used_at >= NOTE_EVERY_S)) {
        t->used_at = now;
        note_id = t->id;
    }
    pthread_mutex_unlock(&b->lock);
    if (note_id != 0) {
        rc = store_token_used(b->store, note_id, now);
        (void)rc; /* the next use after a minute says it again */
    }
    return found != NULL;
}

bool token_book_has(struct token_book *b, int64_t id)
{
    const struct known_token *t;
    bool has;

    pthread_mutex_lock(&b->lock);
    t = map_get(&b->by_id, id_key(&id));
    has = t != NULL && !has_ended(b, t, clock_now_s());
    pthread_mutex_unlock(&b->lock);
    return has;
}

bool token_book_is_empty(struct token_book *b)
{
    bool is_empty;

    pthread_mutex_lock(&b->lock);
    is_empty = map_count(&b->by_digest) == b->n_sessions;
    pthread_mutex_unlock(&b->lock);
    return is_empty;
}
