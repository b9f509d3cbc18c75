/* tests/unit/storage/test_storer.c - commits: notices, grouping, failures, and kill -9. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/stats.h"
#include "storage/pushes.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/writer.h"

/* ---- notices --------------------------------------------------------------------------------- */

struct watch {
    struct store *store;
    int calls;
    int64_t last_seq, known_seq, next_fetch_at, first_seq, feed_id;
    bool is_new;
    size_t n_feeds, n_subs, n_tried;
    struct answer *answer; /* of the operation: not answered yet when the notice comes */
    int answered;
};

static void on_notice(void *ctx, const struct commit_notice *notice)
{
    struct watch *w = ctx;

    w->calls++;
    w->last_seq = notice->last_seq;
    w->known_seq = store_last_seq(w->store);
    w->n_feeds = notice->n_feeds;
    w->n_subs = notice->n_subs;
    w->n_tried = notice->n_tried_subs;
    if (notice->n_feeds > 0) {
        w->feed_id = notice->feeds[0].feed_id;
        w->next_fetch_at = notice->feeds[0].next_fetch_at;
        w->first_seq = notice->feeds[0].first_seq;
        w->is_new = notice->feeds[0].is_new;
    }
    if (w->answer != NULL)
        w->answered += w->answer->got;
}

/* The directory is up to date before listeners run, and they before the answer. */
static void test_storer__notices(void **state)
{
    struct fixture *f = *state;
    struct watch w = {.store = f->store};
    struct entry_change c[] = {change(f, "1", "one", 1), change(f, "2", "two", 2)};
    struct poll_outcome o;
    struct answer a;
    int64_t id;

    store_listen(f->store, on_notice, &w);
    id = add_feed(f, "http://a.example/", NULL);
    assert_int_equal(1, w.calls);
    assert_int_equal(id, w.feed_id);
    assert_true(w.is_new);
    assert_int_equal(0, w.first_seq);
    assert_true(w.next_fetch_at <= clock_now_s());
    o = outcome(id, c, 2);
    o.check.next_fetch_at = 4242;
    w.answer = &a;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(2, w.calls);
    assert_int_equal(0, w.answered);
    assert_int_equal(2, w.last_seq);
    assert_int_equal(2, w.known_seq);
    assert_int_equal(1, w.first_seq);
    assert_int_equal(4242, w.next_fetch_at);
    assert_int_equal(1, w.n_feeds);
    assert_false(w.is_new);
}

/* D56: only what somebody has changed says that it is to be tried now. A notice that comes after
 * the subscription was read lifts no Retry-After. */
static void test_storer__notice_of_subscriptions(void **state)
{
    struct fixture *f = *state;
    struct watch w = {.store = f->store};
    struct feed_ref ref = {.url = STR("http://a.example/")};
    struct sub_request req = {
        .sink = STR("xmlrpc"), .feeds = &ref, .n_feeds = 1, .level = LEVEL_KEEP};
    struct push_outcome o = {.next_try_at = TIME_UNKNOWN, .position = 5};
    struct sub_change title = {.events = SUB_EVENTS_DEFAULT, .level = LEVEL_KEEP};
    struct answer a;

    store_listen(f->store, on_notice, &w);
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(1, w.n_subs);
    assert_int_equal(0, w.n_tried);
    assert_true(w.is_new);
    o.sub_id = title.sub_id = a.res.id;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a)); /* the notifier's own business */
    assert_int_equal(1, w.calls);
    o.state = SUB_SUSPENDED;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(2, w.calls);
    assert_int_equal(1, w.n_subs);
    assert_int_equal(0, w.n_tried);
    WRITE(a, store_change_sub(f->store, &title, on_answer, &a));
    assert_int_equal(3, w.calls);
    assert_int_equal(1, w.n_subs);
    assert_int_equal(0, w.n_tried);
    WRITE(a, store_resume(f->store, o.sub_id, -1, on_answer, &a));
    assert_int_equal(4, w.calls);
    assert_int_equal(1, w.n_subs);
    assert_int_equal(1, w.n_tried);
    WRITE(a, store_unsubscribe(f->store, o.sub_id, NULL, 0, on_answer, &a));
    assert_int_equal(5, w.calls);
    assert_int_equal(1, w.n_subs);
    assert_int_equal(0, w.n_tried);
    assert_int_equal(1, w.n_feeds);
}

/* ---- grouping -------------------------------------------------------------------------------- */

/* Many waiting operations share commits, and each has its own answer. */
static void test_storer__groups_what_waits(void **state)
{
    enum { N = 500 };
    struct fixture *f = *state;
    struct answer a = answer_init(2 * N);
    int64_t commits = stats_get(STAT_store_commits_total);
    int i;

    for (i = 0; i < N; i++) {
        struct feed_ref ref = {.url = str_printf(&f->arena, "http://%d.example/", i)};

        assert_int_equal(RC_OK, store_add_feed(f->store, &ref, on_answer, &a));
        assert_int_equal(RC_OK, store_resume(f->store, 9999, -1, on_answer, &a));
    }
    answer_wait(&a);
    assert_int_equal(N, store_find_by_any_url(f->store, STR("http://0.example/"), NULL, 0) +
                            (size_t)N - 1);
    assert_true(stats_get(STAT_store_commits_total) - commits < N);
}

/* An operation that fails takes nothing of its batch with it. */
static void test_storer__an_operation_fails_alone(void **state)
{
    struct fixture *f = *state;
    struct feed_ref refs[] = {{.url = STR("http://a.example/")}, {.url = STR("http://b.example/")}};
    struct sub_request bad = {
        .sink = STR("xmlrpc"), .feeds = refs, .n_feeds = 2, .level = LEVEL_EXACT, .period_s = -1};
    struct answer first = answer_init(1), second = answer_init(1), third = answer_init(1);
    struct feed_brief b;

    assert_int_equal(RC_OK, store_add_feed(f->store, &refs[0], on_answer, &first));
    assert_int_equal(RC_OK, store_subscribe(f->store, &bad, on_answer, &second));
    assert_int_equal(RC_OK, store_add_feed(f->store, &refs[1], on_answer, &third));
    answer_wait(&first);
    answer_wait(&second);
    answer_wait(&third);
    assert_int_equal(RC_OK, first.rc);
    assert_int_equal(RC_INPUT, second.rc);
    assert_int_equal(RC_OK, third.rc);
    assert_true(store_find_feed(f->store, refs[1].url, STR_NULL, &b));
}

/* ---- failures -------------------------------------------------------------------------------- */

static int refuse(void *ctx)
{
    int *left = ctx;

    return --*left >= 0; /* not 0: the commit becomes a rollback */
}

/* A failed commit is told to everybody in it, announced to nobody, and leaves no trace. */
static void test_storer__failed_commit(void **state)
{
    struct fixture *f = *state;
    struct watch w = {.store = f->store};
    struct entry_change c = change(f, "1", "one", 1);
    struct poll_outcome o;
    int64_t id, version, left = 1;
    int refusals = 1;
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct answer a;

    ONLY_ON_SQLITE();
    id = add_feed(f, "http://a.example/", NULL);
    version = store_version(f->store, &id, 1);
    store_listen(f->store, on_notice, &w);
    sqlite3_commit_hook(db_handle(storer_db(f->store->storer)), refuse, &refusals);
    o = outcome(id, &c, 1);
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_IO, a.rc);
    assert_true(a.text[0] != '\0');
    assert_int_equal(0, a.res.n_new);
    assert_int_equal(0, w.calls);
    assert_int_equal(0, store_last_seq(f->store));
    assert_int_equal(version, store_version(f->store, &id, 1));
    assert_string_equal("", view_titles(f, &v));
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a)); /* and the next succeeds */
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(left, a.res.last_seq);
    assert_string_equal("one", view_titles(f, &v));
    sqlite3_commit_hook(db_handle(storer_db(f->store->storer)), NULL, NULL);
}

/* A full disk. */
static void test_storer__no_room(void **state)
{
    struct fixture *f = *state;
    struct entry_change big = change(f, "1", "one", 1), small = change(f, "2", "two", 2);
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct poll_outcome o = outcome(id, &big, 1);
    struct answer a;
    sqlite3 *sq;

    ONLY_ON_SQLITE();
    sq = db_handle(storer_db(f->store->storer));
    big.doc = str_of(arena_zalloc(&f->arena, 3000000), 3000000);
    memset((char *)(uintptr_t)big.doc.ptr, 'x', big.doc.len);
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, "PRAGMA max_page_count = 200", NULL, NULL, NULL));
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_UNAVAILABLE, a.rc);
    assert_string_equal("", view_titles(f, &v));
    o.entries.changes = &small;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_string_equal("two", view_titles(f, &v));
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool at_gate;

static void wait_at_gate(void *ctx UNUSED, const struct commit_notice *notice UNUSED)
{
    atomic_store(&at_gate, true);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

/* A store with a short queue, whose writer waits at the gate, filled until it refuses. Returns how
 * much it took. */
static int fill_queue(struct fixture *f, struct answer *a)
{
    struct store_cfg cfg = fixture_cfg(f);
    struct feed_ref ref = {.url = STR("http://a.example/")};
    enum rc rc = RC_OK;
    int accepted = 0;

    fixture_close(f);
    cfg.queue_len = 4;
    cfg.batch_ops = 1;
    assert_int_equal(RC_OK, store_open(&cfg, &f->store, NULL));
    store_listen(f->store, wait_at_gate, NULL);
    pthread_mutex_lock(&gate);
    atomic_store(&at_gate, false);
    while (accepted < 100) {
        while (accepted == 1 && !atomic_load(&at_gate))
            usleep(1000); /* later it would make room by taking what it waits with */
        rc = store_add_feed(f->store, &ref, on_answer, a);
        if (rc != RC_OK)
            break;
        accepted++;
    }
    assert_int_equal(RC_FULL, rc);
    return accepted;
}

/* The queue is bounded: more than it holds is refused, and refused means not called back. */
static void test_storer__full_queue(void **state)
{
    struct fixture *f = *state;
    struct answer a = answer_init(0);
    int accepted = fill_queue(f, &a);

    assert_int_equal(5, accepted); /* one at the writer */
    pthread_mutex_unlock(&gate);
    a.wanted = accepted;
    answer_wait(&a);
    store_close(&f->store); /* nothing more comes */
    assert_int_equal(accepted, a.got);
    fixture_open(f);
}

/* Documents that are given travel with the outcome; when it is refused they stay as they were. */
static void test_storer__given_documents(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://b.example/", NULL);
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct answer a = answer_init(0), done;
    struct entry_change c = change(f, "1", "one", 1);
    struct arena docs = ARENA_INIT;
    struct poll_outcome o;
    struct revision *rows;
    struct err err = ERR_INIT;
    size_t size, n;

    c.doc = str_dup(&docs, STR("{\"given\":1}"));
    size = arena_size(&docs);
    a.wanted = fill_queue(f, &a);
    o = outcome(id, &c, 1);
    o.entries.docs = &docs;
    assert_int_equal(RC_FULL, store_poll_outcome(f->store, &o, 0, on_answer, &done));
    assert_true(str_eqz(c.doc, "{\"given\":1}"));
    assert_int_equal(size, arena_size(&docs));
    pthread_mutex_unlock(&gate);
    answer_wait(&a);
    WRITE(done, store_poll_outcome(f->store, &o, 0, on_answer, &done));
    assert_int_equal(RC_OK, done.rc);
    assert_int_equal(0, arena_size(&docs));
    store_close(&f->store);
    fixture_open(f);
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, &err));
    assert_int_equal(1, n);
    assert_true(str_eqz(rows[0].doc, "{\"given\":1}"));
}

/* Closing carries out what is queued. */
static void test_storer__close_drains(void **state)
{
    enum { N = 300 };
    struct fixture *f = *state;
    struct answer a = answer_init(N);
    struct feed_brief b;
    int i;

    for (i = 0; i < N; i++) {
        struct feed_ref ref = {.url = str_printf(&f->arena, "http://%d.example/", i)};

        assert_int_equal(RC_OK, store_add_feed(f->store, &ref, on_answer, &a));
    }
    fixture_close(f);
    assert_int_equal(N, a.got);
    fixture_open(f);
    assert_true(store_find_feed(f->store, STR("http://299.example/"), STR_NULL, &b));
}

/* ---- readers beside the writer --------------------------------------------------------------- */

struct read_ctx {
    struct fixture *f;
    int64_t id, last; /* newest seq this thread has seen */
    int rounds;
    struct answer *done;
};

/* No seq below one that was seen appears later, and each batch is seen whole. */
static void read_on(void *ctx, struct reader *r)
{
    struct read_ctx *rc = ctx;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct view v = view_of(VIEW_LOG, &rc->id, 1);
    struct store_result none = {0};
    struct revision *rows;
    size_t n, i;

    v.after_seq = rc->last;
    v.len = 1000;
    assert_int_equal(RC_OK, reader_rows(r, &v, &a, &rows, &n, NULL));
    for (i = 0; i < n; i++)
        assert_int_equal(rc->last + 1 + (int64_t)i, rows[i].seq);
    assert_int_equal(0, n % 5);
    rc->last += (int64_t)n;
    if (--rc->rounds > 0 && store_read(rc->f->store, read_on, rc) == RC_OK)
        return;
    on_answer(rc->done, RC_OK, &none, NULL);
}

static void test_storer__readers_see_whole_commits(void **state)
{
    enum { READERS = 3, WRITES = 60 };
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct answer reads = answer_init(READERS), writes = answer_init(WRITES);
    struct read_ctx ctx[READERS];
    int i, k;

    for (i = 0; i < READERS; i++) {
        ctx[i] = (struct read_ctx){f, id, 0, 200, &reads};
        assert_int_equal(RC_OK, store_read(f->store, read_on, &ctx[i]));
    }
    for (i = 0; i < WRITES; i++) {
        struct entry_change c[5];
        struct poll_outcome o = outcome(id, c, 5);

        for (k = 0; k < 5; k++)
            c[k] = change(f, str_printf(&f->arena, "%d/%d", i, k).ptr, "x", 1000 + i);
        assert_int_equal(RC_OK, store_poll_outcome(f->store, &o, 0, on_answer, &writes));
    }
    answer_wait(&writes);
    answer_wait(&reads);
    assert_int_equal(RC_OK, writes.rc);
    assert_int_equal(5 * WRITES, store_last_seq(f->store));
}

struct relay {
    struct fixture *f;
    atomic_bool stop, is_in_log;
};

/* Two readers that take turns: at every moment one of them looks at an older state of the log. */
static void *relay_main(void *arg)
{
    struct relay *relay = arg;
    struct reader *r[2] = {reader_open(relay->f->store), reader_open(relay->f->store)};
    int64_t n;
    int i;

    for (i = 0; !atomic_load(&relay->stop); i ^= 1) {
        assert_int_equal(RC_OK, db_snapshot(r[i]->db, NULL));
        assert_int_equal(RC_OK, db_meta_number(r[i]->db, "last_seq", &n, NULL));
        atomic_store(&relay->is_in_log, true);
        usleep(3000);
        if (db_in_transaction(r[i ^ 1]->db))
            db_snapshot_end(r[i ^ 1]->db);
    }
    for (i = 0; i < 2; i++) {
        if (db_in_transaction(r[i]->db))
            db_snapshot_end(r[i]->db);
        reader_close(&r[i]);
    }
    return NULL;
}

static long size_of(struct fixture *f, const char *ending)
{
    struct stat st;

    assert_int_equal(0, stat(arena_printf(&f->arena, "%s%s", f->path, ending), &st));
    return (long)st.st_size;
}

/* Store 2 MB so many times. Returns how long the log was at most. */
static long write_big(struct fixture *f, int64_t id, int from, int to)
{
    enum { SIZE = 2000000 };
    struct entry_change big = change(f, "1", "one", 1);
    char *doc = arena_zalloc(&f->arena, SIZE);
    long longest = 0;

    memset(doc, 'x', SIZE);
    big.doc = str_of(doc, SIZE);
    for (int i = from; i < to; i++) {
        memset(big.essence, i + 1, sizeof big.essence);
        store_changes(f, id, &big, 1);
        if (size_of(f, "-wal") > longest)
            longest = size_of(f, "-wal");
    }
    return longest;
}

/* The write-ahead log does not grow for ever though there is always a reader in it. */
static void test_storer__log_is_emptied_behind_busy_readers(void **state)
{
    enum { FEW = 25, MANY = 90 };
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), n;
    struct relay relay = {.f = f};
    struct reader *first;
    pthread_t thread;

    ONLY_ON_SQLITE();
    first = reader_open(f->store);
    assert_int_equal(RC_OK, db_snapshot(first->db, NULL));
    assert_int_equal(RC_OK, db_meta_number(first->db, "last_seq", &n, NULL));
    /* without a reader in it the log starts anew at 12 MB */
    assert_true(write_big(f, id, 0, FEW) > 40000000);
    assert_int_equal(0, pthread_create(&thread, NULL, relay_main, &relay));
    while (!atomic_load(&relay.is_in_log))
        usleep(1000);
    db_snapshot_end(first->db);
    reader_close(&first);
    assert_true(write_big(f, id, FEW, MANY) < 100000000);
    atomic_store(&relay.stop, true);
    pthread_join(thread, NULL);
}

static void run_sql(struct db *db, const char *sql)
{
    assert_int_equal(RC_OK, db_begin(db, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_exec(db_handle(db), sql, NULL, NULL, NULL));
    assert_int_equal(RC_OK, db_commit(db, NULL));
}

/* KEEP-03: a commit writes to the log alone, so it is not late because the log is long. Another
 * thread moves the pages, and then the log starts anew. The storer's calls are made here: its thread
 * would use the connection at the same time. */
static void test_storer__a_commit_moves_no_pages(void **state)
{
    enum { SIZE = 40000000, TRIES = 500 };
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct db *db = NULL;
    int64_t n;
    int i;

    ONLY_ON_SQLITE();
    fixture_close(f);
    assert_int_equal(RC_OK, writer_open(f->path, false, false, &db, &err));
    run_sql(db, "CREATE TABLE big AS SELECT randomblob(40000000) AS x");
    assert_true(db_log_pages(db) > SIZE / 4096);
    assert_true(size_of(f, "") < SIZE / 2);
    for (i = 0; i < TRIES && db_log_pages(db) > SIZE / 4096; i++) {
        run_sql(db, "INSERT INTO big VALUES (1)");
        assert_int_equal(RC_OK, db->writes->give_back(db, &n, &err)); /* it looks at the log */
        usleep(2000);
    }
    assert_true(size_of(f, "") > SIZE);
    assert_true(db_log_pages(db) < 1000);
    run_sql(db, "DROP TABLE big");
    db_close(&db);
    fixture_open(f);
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

static int pipe_to_parent;

static void tell_parent(void *ctx UNUSED, enum rc rc, const struct store_result *res,
                        const struct err *err UNUSED)
{
    int64_t line[2] = {res->id, res->last_seq};

    if (rc != RC_OK || write(pipe_to_parent, line, sizeof line) != sizeof line)
        _exit(3);
}

/* Stores entries for ever, and names each acknowledged seq to the parent. */
static void child_main(const char *path, int fd)
{
    struct fixture f = {.store = NULL};
    struct answer a;
    int64_t id;
    int i;

    pipe_to_parent = fd;
    snprintf(f.path, sizeof f.path, "%s", path);
    fixture_open(&f);
    id = add_feed(&f, "http://a.example/", NULL);
    for (i = 0;; i++) {
        struct entry_change c = change(&f, str_printf(&f.arena, "urn:n:%d", i).ptr, "x", 1000 + i);
        struct poll_outcome o = outcome(id, &c, 1);
        struct feed_ref ref = {.url = str_printf(&f.arena, "http://%d.example/", i)};
        struct sub_request req = {
            .sink = STR("xmlrpc"), .feeds = &ref, .n_feeds = 1, .level = LEVEL_KEEP};

        if (store_poll_outcome(f.store, &o, 0, tell_parent, NULL) != RC_OK)
            _exit(4);
        WRITE(a, store_subscribe(f.store, &req, on_answer, &a));
    }
}

/* REST-36 and more: what was acknowledged is there, numbers go on behind it */
static void test_storer__kill_9(void **state)
{
    struct fixture *f = *state;
    int64_t line[2], last = 0, n_seen = 0, id = 0;
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct entry_change more;
    struct revision *rows;
    int fds[2], status;
    pid_t child;
    size_t n;

    fixture_close(f);
    assert_int_equal(0, pipe(fds));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(fds[0]);
        child_main(f->path, fds[1]);
    }
    close(fds[1]);
    while (n_seen < 100 && read(fds[0], line, sizeof line) == sizeof line) {
        id = line[0];
        last = line[1];
        n_seen++;
    }
    assert_int_equal(100, n_seen);
    kill(child, SIGKILL);
    while (read(fds[0], line, sizeof line) == sizeof line) /* acknowledged up to the last moment */
        last = line[1];
    close(fds[0]);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    fixture_open(f);
    assert_true(store_last_seq(f->store) >= last);
    v.len = 100000;
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_true((int64_t)n >= last);
    assert_int_equal(store_last_seq(f->store), n);
    assert_int_equal(n, rows[n - 1].seq);
    more = change(f, "after", "x", 1);
    assert_int_equal(n + 1, store_changes(f, id, &more, 1).res.last_seq);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_storer__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(notices),
        T(notice_of_subscriptions),
        T(groups_what_waits),
        T(an_operation_fails_alone),
        T(failed_commit),
        T(no_room),
        T(full_queue),
        T(given_documents),
        T(close_drains),
        T(readers_see_whole_commits),
        T(log_is_emptied_behind_busy_readers),
        T(a_commit_moves_no_pages),
        T(kill_9),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
