/* tests/unit/storage/test_pg_notices.c - two nodes on one PostgreSQL: each learns of the commits of
 * the other, in their order, without gaps, whatever happens to its connection. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "fixture.h"
#include "storage/engine.h"
#include "storage/pg/forks.h"
#include "storage/pg/link_priv.h"

/* ---- two nodes ------------------------------------------------------------------------------- */

#define SEEN_MAX 4096

struct seen { /* of a notice */
    int64_t first_seq, last_seq;
    bool is_foreign;
};

struct node {
    struct fixture f;
    pthread_mutex_t lock; /* guards the rest */
    struct seen seen[SEEN_MAX];
    size_t n_seen;
    size_t n_new, n_tried, n_subs, n_pinged, n_told, n_anew, n_own;
    struct pg_link *sql; /* not NULL: the next notice costs all nodes their connections */
};

static const char sql_end_all[] = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                  " WHERE usename = 'mill'";

static void on_notice(void *ctx, const struct commit_notice *notice)
{
    struct node *n = ctx;
    struct seen s = {.last_seq = notice->last_seq, .is_foreign = notice->is_foreign};

    for (size_t i = 0; i < notice->n_feeds; i++) {
        const struct feed_notice *f = &notice->feeds[i];

        if (f->first_seq != 0 && (s.first_seq == 0 || f->first_seq < s.first_seq))
            s.first_seq = f->first_seq;
        n->n_new += f->is_new;
        n->n_pinged += f->is_pinged;
        n->n_own += !notice->is_foreign && f->first_seq != 0;
    }
    if (n->sql != NULL)
        assert_true(number_of(n->sql, sql_end_all) > 0);
    n->sql = NULL;
    pthread_mutex_lock(&n->lock);
    n->n_told++;
    n->n_anew += notice->is_anew;
    if (n->n_seen < SEEN_MAX)
        n->seen[n->n_seen++] = s;
    n->n_tried += notice->n_tried_subs;
    n->n_subs += notice->n_subs;
    pthread_mutex_unlock(&n->lock);
}

static struct node *node_open(void)
{
    struct node *n = NEW(struct node);

    pthread_mutex_init(&n->lock, NULL);
    snprintf(n->f.path, sizeof n->f.path, "%s", getenv(PLAIN));
    n->f.is_shared = true;
    fixture_open(&n->f);
    store_listen(n->f.store, on_notice, n);
    return n;
}

static void node_close(struct node *n)
{
    fixture_close(&n->f);
    arena_release(&n->f.arena);
    pthread_mutex_destroy(&n->lock);
    mem_free(n);
}

struct pair {
    struct server_link sql; /* the superuser's */
    struct node *a, *b;
};

static struct pair pair_open(void)
{
    struct pair p = {.sql = connected(SUPER)};

    digest_init();
    log_set_level(LOG_LEVEL_ERROR);
    script_ok(p.sql.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    p.a = node_open();
    p.b = node_open();
    return p;
}

/* A feed that somebody has made, with the notice of it, which nobody is woken for. */
static void make_feed(struct pair *p, int64_t id)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    buf_printf(&sql,
               "INSERT INTO feeds (id, url, credential, next_reason, version, id_url) VALUES (%lld,"
               " 'http://%lld.example/', '', 0, 1, 'http://%lld.example/');"
               "UPDATE log SET last_notice = last_notice + 1;"
               "INSERT INTO notices SELECT last_notice, 99, last_notice, 0, last_seq, last_at_us,"
               " version, '{%lld}', '{1}', '{0}', '{}', '{}', '{}', '{}', '{}', '{}', false"
               " FROM log%c",
               (long long)id, (long long)id, (long long)id, (long long)id, 0);
    script_ok(p->sql.l, sql.ptr);
}

static void pair_close(struct pair *p)
{
    node_close(p->a);
    node_close(p->b);
    link_end(&p->sql);
}

static void on_current(void *ctx, enum rc rc)
{
    on_answer(ctx, rc, &(struct store_result){0}, NULL);
}

/* As soon as the node has a connection it knows all that anybody has acknowledged. */
static void catch_up(struct node *n)
{
    struct answer a;

    do {
        a = answer_init(1);
        store_catch_up(n->f.store, on_current, &a);
        answer_wait(&a);
        if (a.rc == RC_AGAIN)
            usleep(5000);
    } while (a.rc == RC_AGAIN);
    assert_int_equal(RC_OK, a.rc);
}

/* Two nodes that know the feeds 1 to n. */
static struct pair pair_with(int64_t n)
{
    struct pair p = pair_open();

    for (int64_t id = 1; id <= n; id++)
        make_feed(&p, id);
    catch_up(p.a);
    catch_up(p.b);
    return p;
}

static bool knows(struct node *n, const char *url)
{
    struct feed_brief brief;

    return store_find_feed(n->f.store, str_from(url), STR_NULL, &brief);
}

static void add_entry(struct node *n, int64_t feed_id, const char *uid)
{
    struct entry_change c = change(&n->f, uid, uid, 1);

    store_changes(&n->f, feed_id, &c, 1);
}

static int64_t version_of(struct node *n, int64_t id)
{
    return store_version(n->f.store, &id, 1);
}

/* Do both know the same of the feeds 1 to n? */
static void assert_same(struct pair *p, int64_t n)
{
    struct view v = view_of(VIEW_NEWEST, NULL, 1);
    struct feed_brief x, y;

    for (int64_t id = 1; id <= n; id++) {
        assert_int_equal(store_brief(p->a->f.store, id, &x), store_brief(p->b->f.store, id, &y));
        assert_int_equal(version_of(p->a, id), version_of(p->b, id));
        assert_int_equal(store_seq_of(p->a->f.store, &id, 1), store_seq_of(p->b->f.store, &id, 1));
        v.feed_ids = &id;
        assert_string_equal(view_titles(&p->a->f, &v), view_titles(&p->b->f, &v));
    }
    assert_int_equal(store_last_seq(p->a->f.store), store_last_seq(p->b->f.store));
}

/* ---- what one commits, the other knows ------------------------------------------------------- */

/* NODE-02 */
static void test_pg_notices__one_writes_the_other_knows(void **state UNUSED)
{
    struct pair p = pair_with(2);

    assert_true(knows(p.a, "http://2.example/") && knows(p.b, "http://2.example/"));
    assert_int_equal(2, p.b->n_new);
    add_entry(p.a, 1, "one");
    catch_up(p.b);
    assert_same(&p, 2);
    assert_false(p.a->seen[p.a->n_seen - 1].is_foreign);
    assert_true(p.b->seen[p.b->n_seen - 1].is_foreign);
    add_entry(p.a, 2, "two");
    add_entry(p.b, 1, "three"); /* its notice comes after A's, and it was told of both */
    assert_int_equal(3, store_last_seq(p.b->f.store));
    catch_up(p.a);
    assert_same(&p, 2);
    pair_close(&p);
}

/* A notice has all that the one in memory has. */
static void test_pg_notices__subscriptions_and_pings(void **state UNUSED)
{
    struct pair p = pair_with(1);
    struct push_outcome o = {.sub_id = 1, .next_try_at = TIME_UNKNOWN, .state = SUB_SUSPENDED};
    struct answer a;
    int64_t feed = 1;

    script_ok(p.sql.l, "INSERT INTO subscriptions (id, endpoint, sink, position, created_at)"
                       " VALUES (1, 'http://e/', 'xmlrpc', 0, 0);"
                       "INSERT INTO sub_feeds (sub_id, feed_id, place, url)"
                       " VALUES (1, 1, 0, 'http://1.example/')");
    WRITE(a, store_push_outcomes(p.a->f.store, &o, 1, on_answer, &a));
    catch_up(p.b);
    assert_int_equal(1, p.b->n_subs);
    assert_int_equal(0, p.b->n_tried);
    WRITE(a, store_resume(p.a->f.store, 1, -1, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    WRITE(a, store_ping(p.a->f.store, &feed, 1, on_answer, &a));
    catch_up(p.b);
    assert_int_equal(2, p.b->n_subs);
    assert_int_equal(1, p.b->n_tried);
    assert_int_equal(1, p.b->n_pinged);
    pair_close(&p);
}

/* ---- both write at once ---------------------------------------------------------------------- */

#define N_FEEDS 4
#define N_WRITES 60

static void *write_some(void *arg)
{
    struct node *n = arg;
    char uid[32];

    for (int i = 0; i < N_WRITES; i++) {
        struct entry_change c;
        struct poll_outcome o;
        struct answer a;

        snprintf(uid, sizeof uid, "%p %d", arg, i);
        c = change(&n->f, uid, uid, i);
        o = outcome(1 + i % N_FEEDS, &c, i % 5 == 4 ? 0 : 1); /* some have no news, no notice */
        WRITE(a, store_poll_outcome(n->f.store, &o, 0, on_answer, &a));
        if (a.rc != RC_OK)
            print_error("%s\n", a.text);
        if (a.rc == RC_OK && a.res.last_seq > store_last_seq(n->f.store))
            a.rc = RC_INTERNAL; /* what was acknowledged is not known */
        if (a.rc != RC_OK)
            return n;
    }
    return NULL;
}

/* All revisions of the log were told of, in their order. */
static void check_order(const struct node *n)
{
    int64_t last = 0;

    for (size_t i = 0; i < n->n_seen; i++) {
        assert_true(n->seen[i].first_seq == 0 || n->seen[i].first_seq == last + 1);
        assert_true(n->seen[i].last_seq >= last);
        last = n->seen[i].last_seq;
    }
    assert_true(n->n_seen < SEEN_MAX);
}

/* NODE-03: nobody sees a number before a lower one; no notice is left out. */
static void test_pg_notices__both_write(void **state UNUSED)
{
    struct pair p = pair_with(N_FEEDS);
    pthread_t writers[2];
    void *failed[2];
    int64_t seen[3] = {0}, now[3];

    assert_int_equal(0, pthread_create(&writers[0], NULL, write_some, p.a));
    assert_int_equal(0, pthread_create(&writers[1], NULL, write_some, p.b));
    do {
        now[0] = store_last_seq(p.a->f.store);
        now[1] = store_last_seq(p.b->f.store);
        now[2] = number_of(p.sql.l, "SELECT last_seq FROM log");
        assert_true(number_of(p.sql.l, "SELECT coalesce(max(seq), 0) FROM revisions") >= now[2]);
        for (int i = 0; i < 3; i++) {
            assert_true(now[i] >= seen[i]);
            seen[i] = now[i];
        }
    } while (now[2] < (int64_t)2 * N_WRITES * 4 / 5);
    for (int i = 0; i < 2; i++) {
        pthread_join(writers[i], &failed[i]);
        assert_null(failed[i]);
    }
    catch_up(p.a);
    catch_up(p.b);
    check_order(p.a);
    check_order(p.b);
    assert_same(&p, N_FEEDS);
    assert_int_equal(number_of(p.sql.l, "SELECT max(n) FROM notices"),
                     number_of(p.sql.l, "SELECT count(*) FROM notices"));
    pair_close(&p);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

/* NODE-07: by looks alone this would take a second each. */
static void test_pg_notices__is_woken(void **state UNUSED)
{
    struct pair p = pair_with(1);
    int64_t id = 1, began, took, least = INT64_MAX;
    char uid[16];

    for (int i = 1; i <= 20; i++) {
        snprintf(uid, sizeof uid, "%d", i);
        began = clock_mono_ms();
        add_entry(p.a, id, uid);
        while (store_last_seq(p.b->f.store) < i)
            usleep(1000);
        took = clock_mono_ms() - began;
        if (i > 1 && took < least) /* the one before ended with a look */
            least = took;
    }
    assert_true(least < 500);
    pair_close(&p);
}

/* A commit whose notification nobody got. */
static void test_pg_notices__looks_anyway(void **state UNUSED)
{
    struct pair p = pair_open();

    make_feed(&p, 1);
    while (!knows(p.b, "http://1.example/") || !knows(p.a, "http://1.example/"))
        usleep(5000);
    pair_close(&p);
}

static void test_pg_notices__connections_are_lost(void **state UNUSED)
{
    struct pair p = pair_with(1);
    int64_t id = 1;
    char uid[16];

    for (int i = 0; i < 3; i++) {
        assert_true(number_of(p.sql.l, sql_end_all) > 0);
        snprintf(uid, sizeof uid, "%d", i);
        add_entry(i % 2 == 0 ? p.a : p.b, id, uid);
    }
    catch_up(p.a);
    catch_up(p.b);
    check_order(p.a);
    check_order(p.b);
    assert_int_equal(3, store_last_seq(p.a->f.store));
    assert_int_equal(3, store_last_seq(p.b->f.store));
    assert_int_equal(version_of(p.a, id), version_of(p.b, id));
    pair_close(&p);
}

/* A session in which a node stores, whose node stops while it sends a commit: it has the lock of
 * the log, and the server waits for the rest. */
static struct server_link stalled_session(struct pg_link *sql)
{
    struct server_link s = connected(PLAIN);

    script_ok(s.l, "DO $$ BEGIN PERFORM pg_advisory_lock(1181050213, 12345); END $$");
    pg_queue_begin(s.l);
    pg_queue(s.l, "UPDATE log SET last_notice = last_notice", NULL, "", NULL);
    while (PQflush(s.l->conn) > 0)
        usleep(1000);
    wait_for(sql, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                  " AND wait_event = 'ClientRead' AND query LIKE 'UPDATE log SET%'");
    return s;
}

static void start_write(struct node *n, struct answer *a)
{
    struct entry_change c = change(&n->f, "one", "one", 1);
    struct poll_outcome o = outcome(1, &c, 1);

    *a = answer_init(1);
    assert_int_equal(RC_OK, store_poll_outcome(n->f.store, &o, 0, on_answer, a));
}

/* NODE-09: it does not stop the others, and is the only one whose session is ended. */
static void test_pg_notices__a_stalled_node_lets_go(void **state UNUSED)
{
    static const char sql_sessions[] =
        "SELECT sum(l.pid)::bigint FROM pg_locks l WHERE l.locktype = 'advisory'"
        " AND l.classid = 1181050213";
    struct pair p = pair_with(1);
    int64_t sessions = number_of(p.sql.l, sql_sessions);
    struct server_link stalled = stalled_session(p.sql.l);
    struct answer a, b;

    start_write(p.a, &a);
    start_write(p.b, &b);
    answer_wait(&a);
    answer_wait(&b);
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(RC_OK, b.rc);
    assert_int_equal(sessions, number_of(p.sql.l, sql_sessions));
    assert_int_equal(RC_AGAIN, pg_run(stalled.l, NULL));
    link_end(&stalled);
    pair_close(&p);
}

/* It was away for so long that the notices are gone. */
static void test_pg_notices__reads_all_anew(void **state UNUSED)
{
    struct pair p = pair_with(2);

    script_ok(p.sql.l,
              "BEGIN; INSERT INTO feeds (id, url, credential, next_reason, version, id_url) VALUES"
              " (77, 'http://new.example/', '', 0, 1, 'http://new.example/');"
              "DELETE FROM feeds WHERE id = 1;"
              "UPDATE log SET last_notice = last_notice + 5; COMMIT");
    catch_up(p.b);
    assert_false(knows(p.b, "http://1.example/"));
    assert_int_equal(0, version_of(p.b, 1));
    assert_true(knows(p.b, "http://2.example/"));
    assert_true(knows(p.b, "http://new.example/"));
    assert_int_equal(3, p.b->n_new); /* the listeners got to know it, too */
    pair_close(&p);
}

/* Nobody is woken for these notices of pings. */
static void make_notices(struct pair *p, int n_feeds, int n)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    buf_printf(&sql,
               "BEGIN; INSERT INTO notices SELECT l.last_notice + i, 98, i,"
               " (extract(epoch FROM now()) * 1000000)::bigint, l.last_seq, l.last_at_us,"
               " l.version, ARRAY[1 + i %% %d], '{2}', '{0}', '{}', '{}', '{}', '{}',"
               " '{}', '{}', false FROM log l, generate_series(1, %d) AS i;"
               " UPDATE log SET last_notice = last_notice + %d; COMMIT%c",
               n_feeds, n, n, 0);
    script_ok(p->sql.l, sql.ptr);
}

/* NODE-02: however far it is behind, it follows as long as the notices are there: reading all anew
 * may take so long that it would be as far behind after it. */
static void test_pg_notices__far_behind(void **state UNUSED)
{
    struct pair p = pair_with(3);
    size_t before = p.b->n_told;

    make_notices(&p, 3, 10007);
    catch_up(p.b);
    assert_int_equal(10007, p.b->n_pinged);
    assert_int_equal(before + 10007, p.b->n_told);
    assert_int_equal(0, p.b->n_anew);
    add_entry(p.b, 2, "one"); /* on it goes */
    assert_int_equal(1, p.b->n_own);
    catch_up(p.a);
    assert_int_equal(10007, p.a->n_pinged);
    assert_same(&p, 3);
    pair_close(&p);
}

/* It has told half of it when it loses its connection: what is left is told as for all anew. */
static void test_pg_notices__lost_while_far_behind(void **state UNUSED)
{
    struct pair p = pair_with(3);

    make_notices(&p, 3, 10007);
    p.b->sql = p.sql.l;
    catch_up(p.b);
    assert_int_equal(1, p.b->n_anew);
    assert_int_equal(4096, p.b->n_pinged);
    add_entry(p.b, 2, "one");
    assert_int_equal(1, p.b->n_anew);
    pair_close(&p);
}

/* The notice before that of the node's own commit is gone. What the node has committed is told as
 * such all the same: nobody else announces it. */
static void test_pg_notices__own_commit_among_the_missed(void **state UNUSED)
{
    struct pair p = pair_with(1);

    script_ok(p.sql.l, "UPDATE log SET last_notice = last_notice + 5");
    add_entry(p.b, 1, "one");
    assert_int_equal(1, p.b->n_own);
    assert_int_equal(1, p.b->n_anew);
    pair_close(&p);
}

/* Old notices go by some thousand, however many there are. Those of the last hour stay, and NODE-08
 * the last one of each node: it may have been cut off since that commit, and then looks for it. */
static void test_pg_notices__old_ones_are_deleted(void **state UNUSED)
{
    struct pair p = pair_open();
    struct db *writer = NULL, *follower = NULL;
    bool more = false;

    pair_close(&p);
    p.sql = connected(SUPER);
    assert_int_equal(RC_OK,
                     engine_postgresql.open_writer(getenv(PLAIN), false, true, &writer, NULL));
    assert_int_equal(RC_OK, engine_postgresql.open_follower(writer, &follower, NULL));
    script_ok(p.sql.l, "INSERT INTO notices SELECT n, 0, n, CASE WHEN n > 5000 THEN extract(epoch"
                       " FROM now()) * 1000000 ELSE n END, 0, 0, 0, '{}', '{}', '{}', '{}', '{}',"
                       " '{}', '{}', '{}', '{}', false FROM generate_series(1, 5007) AS n");
    /* nodes that were cut off when they committed: for two hours, and for eight days */
    script_ok(p.sql.l,
              "INSERT INTO notices SELECT 6000 + i, 10 + i / 2, i, (extract(epoch FROM now()"
              " - CASE WHEN i < 4 THEN interval '2 hours' ELSE interval '8 days' END)"
              " * 1000000)::bigint, 0, 0, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
              " '{}', false FROM generate_series(2, 5) AS i");
    assert_int_equal(RC_OK, follower->follows->prune(follower, &more, NULL));
    assert_true(more);
    assert_int_equal(5011 - 4096, number_of(p.sql.l, "SELECT count(*) FROM notices"));
    assert_int_equal(RC_OK, follower->follows->prune(follower, &more, NULL));
    assert_false(more);
    assert_int_equal(7, number_of(p.sql.l, "SELECT count(*) FROM notices WHERE node = 0"));
    assert_int_equal(1, number_of(p.sql.l, "SELECT count(*) FROM notices WHERE node <> 0"));
    assert_int_equal(6003, number_of(p.sql.l, "SELECT n FROM notices WHERE node = 11"));
    follower->reads->close(&follower);
    writer->reads->close(&writer);
    link_end(&p.sql);
}

/* NODE-09: no number is given twice, and no id either. */
static void test_pg_notices__another_server_takes_over(void **state UNUSED)
{
    struct pair p = pair_with(1);
    int64_t id = 1;

    add_entry(p.a, id, "one");
    catch_up(p.b);
    /* as if the log had been another server's, and that server had been lost */
    script_ok(p.sql.l, "UPDATE log SET timeline = timeline + 1");
    /* and this one does not know of ids that were drawn there */
    script_ok(p.sql.l, "SELECT setval('entry_blocks', 1, false), setval('feeds_id_seq', 1),"
                       " setval('nodes_id_seq', 1, false)");
    assert_true(number_of(p.sql.l, sql_end_all) > 0);
    add_entry(p.a, id, "two");
    assert_int_equal(FORK_GAP + 2, store_last_seq(p.a->f.store));
    catch_up(p.b);
    assert_int_equal(FORK_GAP + 2, store_last_seq(p.b->f.store));
    assert_int_equal(version_of(p.a, id), version_of(p.b, id));
    assert_int_equal(1, number_of(p.sql.l, "SELECT count(*) FROM forks"));
    assert_int_equal(1, number_of(p.sql.l, "SELECT last_seq FROM forks"));
    assert_int_equal(FORK_GAP + 2, number_of(p.sql.l, "SELECT next_seq FROM forks"));
    assert_true(number_of(p.sql.l, "SELECT last_notice FROM log") > FORK_GAP);
    assert_true(number_of(p.sql.l, "SELECT nextval('entry_blocks')") > FORK_GAP / 1000);
    assert_int_equal(FORK_GAP + 2, number_of(p.sql.l, "SELECT nextval('feeds_id_seq')"));
    assert_true(number_of(p.sql.l, "SELECT nextval('nodes_id_seq')") > FORK_GAP);
    add_entry(p.b, id, "three"); /* on goes the log, without another gap */
    assert_int_equal(FORK_GAP + 3, store_last_seq(p.b->f.store));
    pair_close(&p);
}

/* NODE-09: what was lost with a server is in no page. */
static void test_pg_notices__pages_after_a_fork(void **state UNUSED)
{
    struct pair p = pair_with(1);
    struct log_page page;
    int64_t id = 1;
    struct page_set set = {.ids = &id, .n_ids = 1, .size = 2};

    for (char uid[] = "a"; uid[0] <= 'c'; uid[0]++)
        add_entry(p.a, id, uid);
    catch_up(p.b);
    assert_int_equal(0, store_fork(p.b->f.store));
    assert_int_equal(RC_OK, reader_page(p.b->f.reader, &set, 0, &page, NULL));
    assert_int_equal(2, page.last_seq);
    script_ok(p.sql.l, "UPDATE log SET timeline = timeline + 1;"
                       "DELETE FROM revisions WHERE seq = 2; DELETE FROM entries WHERE seq = 2");
    assert_true(number_of(p.sql.l, sql_end_all) > 0);
    add_entry(p.a, id, "d");
    catch_up(p.b);
    assert_int_not_equal(0, store_fork(p.b->f.store));
    assert_int_equal(store_fork(p.a->f.store), store_fork(p.b->f.store));
    while (reader_page(p.b->f.reader, &set, 0, &page, NULL) == RC_AGAIN)
        ; /* it connects again */
    assert_int_equal(3, page.last_seq);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pg_notices__one_writes_the_other_knows),
        cmocka_unit_test(test_pg_notices__subscriptions_and_pings),
        cmocka_unit_test(test_pg_notices__both_write),
        cmocka_unit_test(test_pg_notices__is_woken),
        cmocka_unit_test(test_pg_notices__looks_anyway),
        cmocka_unit_test(test_pg_notices__connections_are_lost),
        cmocka_unit_test(test_pg_notices__a_stalled_node_lets_go),
        cmocka_unit_test(test_pg_notices__reads_all_anew),
        cmocka_unit_test(test_pg_notices__far_behind),
        cmocka_unit_test(test_pg_notices__lost_while_far_behind),
        cmocka_unit_test(test_pg_notices__own_commit_among_the_missed),
        cmocka_unit_test(test_pg_notices__old_ones_are_deleted),
        cmocka_unit_test(test_pg_notices__another_server_takes_over),
        cmocka_unit_test(test_pg_notices__pages_after_a_fork),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
