/* tests/unit/storage/fixture.h - a store of its own for each test, and writes that wait for their
 * answer. With FEEDMILL_TEST_ENGINE=pg in the environment it is a store in the PostgreSQL that
 * with_postgres.py has started, otherwise one in a file. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/pushes.h"
#include "storage/store_priv.h"

#ifdef WITH_POSTGRESQL
#include "pg_server.h"
#endif

struct fixture {
    char dir[64];        /* empty: it is not in a file */
    char path[128];      /* what --db would be */
    bool is_shared;      /* others open the same database */
    int64_t keep_s;      /* as in struct store_cfg; no thread takes anything */
    const char *replica; /* what --db-replica would be; NULL: nothing */
    struct store *store;
    struct reader *reader;
    struct arena arena;
};

static inline struct store_cfg fixture_cfg(const struct fixture *f)
{
    return (struct store_cfg){.path = str_from(f->path),
                              .n_readers = 2,
                              .queue_len = 20000,
                              .batch_ops = 64,
                              .batch_ms = 5,
                              .cache_bytes = 1 << 20,
                              .is_shared = f->is_shared,
                              .replica = str_from(f->replica),
                              .keep.age_s = f->keep_s,
                              .levels = {{86400, 1800, 300}}};
}

static inline void fixture_open(struct fixture *f)
{
    struct store_cfg cfg = fixture_cfg(f);
    struct err err = ERR_INIT;

    if (store_open(&cfg, &f->store, &err) != RC_OK)
        fail_msg("open: %s", err.text);
    f->reader = reader_open(f->store);
    assert_non_null(f->reader);
}

static inline void fixture_close(struct fixture *f)
{
    reader_close(&f->reader);
    store_close(&f->store);
}

static inline bool on_postgresql(void)
{
    const char *engine = getenv("FEEDMILL_TEST_ENGINE");

    return engine != NULL && strcmp(engine, "pg") == 0;
}

/* At the beginning of a test that looks into the file. */
#define ONLY_ON_SQLITE()                                                                           \
    if (on_postgresql())                                                                           \
    skip()

/* The database that the server has made for us, empty. */
static inline bool make_database(struct fixture *f)
{
#ifdef WITH_POSTGRESQL
    struct server_link super = connected(SUPER);

    script_ok(super.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    link_end(&super);
    snprintf(f->path, sizeof f->path, "%s", getenv(PLAIN));
    return true;
#else
    (void)f;
    return false;
#endif
}

static inline bool make_folder(struct fixture *f)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(f->dir, sizeof f->dir, "%s/feedmill-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(f->dir) == NULL)
        return false;
    snprintf(f->path, sizeof f->path, "%s/f.db", f->dir);
    return true;
}

static inline int fixture_setup(void **state)
{
    struct fixture *f = NEW(struct fixture);

    digest_init();
    log_set_level(LOG_LEVEL_ERROR);
    if (!(on_postgresql() ? make_database(f) : make_folder(f)))
        return -1;
    *state = f;
    fixture_open(f);
    return 0;
}

static inline int fixture_teardown(void **state)
{
    static const char *const names[] = {"f.db", "f.db-wal", "f.db-shm"};
    struct fixture *f = *state;
    char path[160];
    size_t i;

    clock_fake_us(0);
    fixture_close(f);
    for (i = 0; i < sizeof names / sizeof names[0] && f->dir[0] != '\0'; i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, names[i]);
        unlink(path);
    }
    if (f->dir[0] != '\0')
        rmdir(f->dir);
    arena_release(&f->arena);
    mem_free(f);
    return 0;
}

/* ---- waiting for an answer --------------------------------------------------------------------
 */

struct answer {
    pthread_mutex_t lock;
    pthread_cond_t come;
    int wanted, got; /* calls of done */
    enum rc rc;      /* of the last call */
    struct store_result res;
    char text[512];
    char next_cursor[32];
};

static inline struct answer answer_init(int wanted)
{
    return (struct answer){
        .lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER, .wanted = wanted};
}

static inline void on_answer(void *ctx, enum rc rc, const struct store_result *res,
                             const struct err *err)
{
    struct answer *a = ctx;

    pthread_mutex_lock(&a->lock);
    a->rc = rc;
    a->res = *res;
    a->res.sub = NULL; /* borrowed, like the next two */
    a->res.next_archive = a->res.next_cursor = STR_NULL;
    snprintf(a->next_cursor, sizeof a->next_cursor, "%.*s", STR_ARG(res->next_cursor));
    snprintf(a->text, sizeof a->text, "%s", err == NULL ? "" : err->text);
    a->got++;
    pthread_cond_broadcast(&a->come);
    pthread_mutex_unlock(&a->lock);
}

static inline void answer_wait(struct answer *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->got < a->wanted)
        pthread_cond_wait(&a->come, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

/* Run a writing call and wait for its answer. Its last parameters must be on_answer and the
 * answer. */
#define WRITE(answer, call)                                                                        \
    do {                                                                                           \
        (answer) = answer_init(1);                                                                 \
        assert_int_equal(RC_OK, (call));                                                           \
        answer_wait(&(answer));                                                                    \
    } while (0)

static inline int64_t add_feed(struct fixture *f, const char *url, const char *credential)
{
    struct feed_ref ref = {.url = str_from(url), .credential = str_from(credential)};
    struct answer a;

    WRITE(a, store_add_feed(f->store, &ref, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a.res.id;
}

/* Make a change. Its essence and document are made from uid and text. */
static inline struct entry_change change(struct fixture *f, const char *uid, const char *text,
                                         int64_t published_at)
{
    struct entry_change c = {.kind = REV_NEW,
                             .uid = str_from(uid),
                             .published_at = published_at,
                             .updated_at = TIME_UNKNOWN,
                             .title = str_from(text),
                             .link = STR("http://e.example/x")};

    digest_content(str_from(text), c.essence);
    c.doc = str_printf(&f->arena, "{\"id\":\"%s\",\"title\":\"%s\"}", uid, text);
    c.ext = STR("");
    return c;
}

static inline struct poll_outcome outcome(int64_t feed_id, const struct entry_change *changes,
                                          size_t n)
{
    return (struct poll_outcome){.check.feed_id = feed_id,
                                 .check.checked_at = clock_now_s(),
                                 .check.ok = true,
                                 .check.status = 200,
                                 .has_document = true,
                                 .head.json = STR("{\"title\":\"T\"}"),
                                 .head.ext = STR(""),
                                 .head.title = STR("T"),
                                 .head.site_url = STR("http://site.example/"),
                                 .entries.changes = changes,
                                 .entries.n = n,
                                 .check.state = FEED_OK,
                                 .check.level = LEVEL_KEEP,
                                 .check.next_fetch_at = clock_now_s() + 1800,
                                 .check.next_reason = REASON_PERIOD};
}

static inline struct answer store_changes(struct fixture *f, int64_t feed_id,
                                          const struct entry_change *changes, size_t n)
{
    struct poll_outcome o = outcome(feed_id, changes, n);
    struct answer a;

    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("outcome: %s", a.text);
    return a;
}

/* The credential of a subscription's endpoint; null: it has none, or there is no such one. */
static inline struct str endpoint_credential(struct fixture *f, int64_t sub_id)
{
    struct push_sub sub = {.id = sub_id, .arena = &f->arena};

    assert_int_equal(RC_OK, reader_push_subs(f->reader, &sub, 1, NULL));
    return sub.credential;
}

/* Returns the titles of a view's rows, separated by spaces. A deleted entry is "-". */
static inline const char *view_titles(struct fixture *f, const struct view *v)
{
    struct revision *rows;
    struct err err = ERR_INIT;
    char *text = arena_printf(&f->arena, "%s", "");
    size_t n, i;

    if (reader_rows(f->reader, v, &f->arena, &rows, &n, &err) != RC_OK)
        fail_msg("rows: %s", err.text);
    for (i = 0; i < n; i++)
        text = arena_printf(&f->arena, "%s%s%.*s", text, i == 0 ? "" : " ",
                            STR_ARG(rows[i].kind == REV_DELETED ? STR("-") : rows[i].title));
    return text;
}

static inline struct view view_of(enum view_order order, const int64_t *ids, size_t n)
{
    return (struct view){
        .feed_ids = ids, .n_feeds = n, .order = order, .before_seq = INT64_MAX, .len = 50};
}
