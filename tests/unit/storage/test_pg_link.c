/* tests/unit/storage/test_pg_link.c - a connection to a real PostgreSQL: trips, values, failures,
 * stops. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "storage/engine.h"
#include "storage/pg/link_priv.h"
#include "storage/schema_version.h"

#define HIDDEN "pa:ss/w@rd é%" /* the password, as tests/integration/env/postgres.py has it */

static int64_t pid_of(struct pg_link *l)
{
    return number_of(l, "SELECT pg_backend_pid()::bigint");
}

/* Call a function of the server for another session. */
static void signal_session(struct pg_link *super, const char *sql, int64_t pid)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_int(&p, pid);
    pg_queue(super, sql, &p, "o", NULL);
    run_ok(super);
}

static const char sql_terminate[] = "SELECT pg_terminate_backend($1::int, 10000)";
static const char sql_cancel[] = "SELECT pg_cancel_backend($1::int)";

static void test_link__values_go_and_come_back(void **state UNUSED)
{
    static const char sql[] = "SELECT $1::bigint, $2::text, $3::bytea, $4::float8, $5::bool,"
                              " $6::bigint, $7::text, $8::bytea, $9::bigint, $10::text";
    static const char bytes[] = {0, 1, '\xff'};
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct pg_answer a;

    pg_put_int(&p, INT64_MIN + 1);
    pg_put_text(&p, STR("a\tb ü \xf0\x9f\x98\x80"));
    pg_put_bytes(&p, str_of(bytes, sizeof bytes));
    pg_put_real(&p, -0.1);
    pg_put_bool(&p, true);
    pg_put_time(&p, TIME_UNKNOWN);
    pg_put_text(&p, STR_NULL);
    pg_put_bytes(&p, STR_NULL);
    pg_put_time(&p, -5);
    pg_put_text(&p, STR(""));
    pg_queue(s.l, sql, &p, "isbfoisbis", &a);
    run_ok(s.l);
    assert_int_equal(1, a.n);
    assert_true(pg_get_int(&a, 0, 0) == INT64_MIN + 1);
    assert_str(pg_get_str(&a, 0, 1, &arena), "a\tb ü \xf0\x9f\x98\x80");
    assert_true(str_eq(pg_get_bytes(&a, 0, 2), str_of(bytes, sizeof bytes)));
    assert_true(pg_get_real(&a, 0, 3) == -0.1);
    assert_true(pg_get_bool(&a, 0, 4));
    assert_true(pg_is_null(&a, 0, 5) && pg_get_int(&a, 0, 5) == 0);
    assert_true(pg_get_time(&a, 0, 5) == TIME_UNKNOWN);
    assert_true(str_is_null(pg_get_bytes(&a, 0, 6)) && str_is_null(pg_get_bytes(&a, 0, 7)));
    assert_int_equal(-5, pg_get_time(&a, 0, 8));
    assert_false(str_is_null(pg_get_bytes(&a, 0, 9)));
    link_end(&s);
}

static void test_link__arrays_go_and_come_back(void **state UNUSED)
{
    static const char sql[] = "SELECT $1::bigint[], $2::text[], $3::bytea[], $4::float8[],"
                              " $5::bool[], $6::text[]";
    static const char bytes[] = {0, '\xff'};
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct pg_answer a;
    struct pg_param *array;
    struct str *texts;
    size_t n;

    array = pg_put_array(&p, PG_INT);
    pg_add_int(array, 7);
    pg_add_time(array, TIME_UNKNOWN);
    pg_add_int(array, -1);
    array = pg_put_array(&p, PG_TEXT);
    pg_add_text(&p, array, STR("one, \"two\" {3}"));
    pg_add_text(&p, array, STR_NULL);
    pg_add_text(&p, array, STR(""));
    array = pg_put_array(&p, PG_BYTES);
    pg_add_bytes(array, str_of(bytes, 2));
    array = pg_put_array(&p, PG_REAL);
    pg_add_real(array, 1e300);
    array = pg_put_array(&p, PG_BOOL);
    pg_add_bool(array, false);
    pg_add_null(array);
    pg_add_bool(array, true);
    pg_put_array(&p, PG_TEXT);
    pg_queue(s.l, sql, &p, "ISBFOS", &a);
    run_ok(s.l);
    assert_memory_equal(((int64_t[]){7, 0, -1}), pg_get_ints(&a, 0, 0, &arena, &n), 24);
    assert_int_equal(3, n);
    texts = pg_get_strs(&a, 0, 1, &arena, &n);
    assert_int_equal(3, n);
    assert_str(texts[0], "one, \"two\" {3}");
    assert_true(str_is_null(texts[1]) && !str_is_null(texts[2]) && texts[2].len == 0);
    assert_true(str_eq(pg_get_strs(&a, 0, 2, &arena, &n)[0], str_of(bytes, 2)));
    assert_true(pg_get_reals(&a, 0, 3, &arena, &n)[0] == 1e300);
    assert_memory_equal(((bool[]){false, false, true}), pg_get_bools(&a, 0, 4, &arena, &n), 3);
    assert_int_equal(3, n);
    pg_get_strs(&a, 0, 5, &arena, &n);
    assert_int_equal(0, n);
    link_end(&s);
}

/* A group of the storer: many rows by one statement, read back by another, one trip each. */
static void test_link__rows_go_by_sets(void **state UNUSED)
{
    static const char insert[] = "INSERT INTO pairs SELECT * FROM unnest($1::bigint[], $2::text[])";
    static const char select[] = "SELECT n, t FROM pairs WHERE n = ANY($1) ORDER BY n";
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct pg_param *numbers, *texts;
    struct pg_answer a;
    int64_t trips;

    script_ok(s.l, "CREATE TABLE pairs (n bigint PRIMARY KEY, t text)");
    trips = pg_trips(s.l);
    numbers = pg_put_array(&p, PG_INT);
    texts = pg_put_array(&p, PG_TEXT);
    for (int64_t i = 0; i < 20000; i++) {
        pg_add_int(numbers, i);
        pg_add_text(&p, texts, i % 3 == 0 ? STR_NULL : str_printf(&arena, "text %d", (int)i));
    }
    pg_queue_begin(s.l);
    pg_queue(s.l, insert, &p, "", &a);
    assert_int_equal(RC_OK, pg_commit(s.l, NULL));
    assert_int_equal(20000, a.n_changed);
    pg_params_reset(&p);
    pg_put_ints(&p, (int64_t[]){3, 20001, 19999, 4}, 4);
    pg_queue(s.l, select, &p, "is", &a);
    run_ok(s.l);
    assert_int_equal(trips + 2, pg_trips(s.l));
    assert_int_equal(3, a.n);
    assert_true(pg_is_null(&a, 0, 1));
    assert_str(pg_get_bytes(&a, 1, 1), "text 4");
    assert_str(pg_get_bytes(&a, 2, 1), "text 19999");
    script_ok(s.l, "DROP TABLE pairs");
    link_end(&s);
}

/* Neither side waits for the other to read first. */
static void test_link__a_trip_may_be_longer_than_all_buffers(void **state UNUSED)
{
    static const char sql[] = "SELECT $1::bytea";
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer a[40];
    char *big = malloc(1 << 20);

    memset(big, 'x', 1 << 20);
    pg_put_bytes(&p, str_of(big, 1 << 20));
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        pg_queue(s.l, sql, &p, "b", &a[i]);
    run_ok(s.l);
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        assert_int_equal(1 << 20, pg_get_bytes(&a[i], 0, 0).len);
    free(big);
    link_end(&s);
}

static void test_link__each_session_has_our_settings(void **state UNUSED)
{
    static const char *const settings[][2] = {
#define SETTING(name, value) {name, value},
#include "storage/pg/settings.def"
#undef SETTING
    };
    static const char sql[] = "SELECT current_setting($1)";
    struct server_link s = connected(PLAIN);
    struct pg_answer a;

    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        AUTO(pg_params_release) struct pg_params p = {.n = 0};

        pg_put_text(&p, str_from(settings[i][0]));
        pg_queue(s.l, sql, &p, "s", &a);
        run_ok(s.l);
        assert_str(pg_get_bytes(&a, 0, 0), settings[i][1]);
    }
    link_end(&s);
}

static void make_table(struct pg_link *l)
{
    script_ok(l, "DROP TABLE IF EXISTS one; CREATE TABLE one (n bigint PRIMARY KEY, t text)");
}

static int64_t count(struct pg_link *l)
{
    return number_of(l, "SELECT count(*) FROM one");
}

/* Run `sql` between an insert before and one after it: what kind of failure is it? */
static enum pg_fault fault_of(struct pg_link *l, const char *sql)
{
    enum pg_fault fault;
    struct err err = ERR_INIT;
    struct pg_answer after;

    make_table(l);
    pg_queue_begin(l);
    pg_queue(l, "INSERT INTO one VALUES (1, 'before')", NULL, "", NULL);
    pg_queue(l, sql, NULL, "", NULL);
    pg_queue(l, "INSERT INTO one VALUES (2, 'after')", NULL, "", &after);
    assert_int_not_equal(RC_OK, pg_commit(l, &err));
    fault = pg_fault(l);
    assert_int_equal(pg_fault_rc(fault), err.rc);
    assert_int_equal(0,
                     strncmp(err.text, pg_fault_sentence(fault), strlen(pg_fault_sentence(fault))));
    assert_int_equal(0, after.n_changed);
    pg_rollback(l);
    assert_true(pg_is_connected(l));
    assert_int_equal(0, count(l));
    return fault;
}

static void test_link__failures_have_kinds(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), other = connected(PLAIN);

    assert_int_equal(PG_FAULT_UNIQUE, fault_of(s.l, "INSERT INTO one VALUES (1, 'again')"));
    assert_int_equal(PG_FAULT_DATA, fault_of(s.l, "INSERT INTO one VALUES (NULL, '')"));
    assert_int_equal(PG_FAULT_DATA, fault_of(s.l, "UPDATE one SET n = 1 / (n - 1)"));
    assert_int_equal(PG_FAULT_OTHER, fault_of(s.l, "SELECT nonsense"));
    assert_int_equal(PG_FAULT_OTHER, fault_of(s.l, "not even SQL"));
    assert_int_equal(PG_FAULT_REFUSED, fault_of(s.l, "DELETE FROM pg_authid"));
    script_ok(other.l, "SET lock_timeout TO '10ms'");
    pg_queue_begin(s.l);
    pg_queue(s.l, "SELECT 1::bigint FROM (SELECT pg_advisory_xact_lock(5)) AS x", NULL, "i", NULL);
    run_ok(s.l);
    assert_int_equal(PG_FAULT_RETRY,
                     fault_of(other.l, "SELECT pg_advisory_xact_lock(5)")); /* a lock */
    pg_rollback(s.l);
    link_end(&s);
    link_end(&other);
}

/* The details of a message quote rows, which may have secrets. */
static void test_link__details_of_a_message_stay_out(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    struct err err = ERR_INIT;

    make_table(s.l);
    script_ok(s.l, "INSERT INTO one VALUES (1, 'row'); CREATE UNIQUE INDEX ON one (t)");
    assert_int_not_equal(RC_OK, pg_script(s.l, "INSERT INTO one VALUES (2, 'row')", &err));
    assert_int_equal(PG_FAULT_UNIQUE, pg_fault(s.l));
    assert_null(strstr(err.text, "row)"));
    assert_non_null(strstr(err.text, "one_t_idx"));
    link_end(&s);
}

/* Without a transaction of its own a trip is one: what cannot be sent undoes what was. */
static void test_link__text_with_nul_is_refused(void **state UNUSED)
{
    static const char insert[] = "INSERT INTO one VALUES ($1, $2)";
    static const char inserts[] = "INSERT INTO one SELECT 8, t FROM unnest($1::text[]) AS t";
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct err err = ERR_INIT;

    make_table(s.l);
    for (int i = 0; i < 2; i++) {
        pg_params_reset(&p);
        pg_put_int(&p, 1);
        pg_put_text(&p, STR("good"));
        pg_queue(s.l, insert, &p, "", NULL);
        pg_params_reset(&p);
        if (i == 0) {
            pg_put_int(&p, 2);
            pg_put_text(&p, STR("a\0b"));
        } else {
            pg_add_text(&p, pg_put_array(&p, PG_TEXT), STR("a\0b"));
        }
        pg_queue(s.l, i == 0 ? insert : inserts, &p, "", NULL);
        assert_int_equal(RC_INPUT, pg_run(s.l, &err));
        assert_int_equal(PG_FAULT_DATA, pg_fault(s.l));
        assert_non_null(strstr(err.text, "U+0000"));
        assert_int_equal(0, count(s.l));
    }
    link_end(&s);
}

static void test_link__invalid_utf8_is_refused(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_text(&p, STR("a\xff"));
    pg_queue(s.l, "SELECT $1::text", &p, "s", NULL);
    assert_int_equal(RC_INPUT, pg_run(s.l, NULL));
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint"));
    link_end(&s);
}

/* What a statement gives is what its reader expects, or it is an error and no wrong number. */
static void test_link__columns_are_compared(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    struct pg_answer a;

    pg_queue(s.l, "SELECT 1::int", NULL, "i", &a);
    assert_int_equal(RC_IO, pg_run(s.l, NULL));
    assert_int_equal(0, a.n);
    pg_queue(s.l, "SELECT 1::bigint, 2::bigint", NULL, "i", &a);
    assert_int_equal(RC_IO, pg_run(s.l, NULL));
    pg_queue(s.l, "SELECT 'a'::text", NULL, "S", &a);
    assert_int_equal(RC_IO, pg_run(s.l, NULL));
    link_end(&s);
}

static void test_link__a_rollback_forgets_what_is_queued(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);

    make_table(s.l);
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    pg_rollback(s.l);
    assert_int_equal(0, count(s.l));
    pg_queue_begin(s.l);
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    run_ok(s.l);
    pg_rollback(s.l);
    assert_int_equal(0, count(s.l));
    assert_true(pg_is_connected(s.l));
    link_end(&s);
}

/* The server answers a COMMIT of a transaction that has failed by ROLLBACK, without an error. */
static void test_link__a_commit_after_a_failure_fails(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);

    make_table(s.l);
    pg_queue_begin(s.l);
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    pg_queue(s.l, "SELECT nonsense", NULL, "", NULL);
    assert_int_equal(RC_IO, pg_run(s.l, NULL));
    assert_int_equal(RC_IO, pg_commit(s.l, NULL));
    assert_int_equal(0, count(s.l));
    link_end(&s);
}

static void reconnect(struct pg_link *l)
{
    while (pg_reconnect(l, NULL) != RC_OK)
        ;
}

static void test_link__a_lost_connection_comes_back(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);
    struct err err = ERR_INIT;

    make_table(s.l);
    assert_int_equal(0, count(s.l)); /* the statement is prepared */
    signal_session(super.l, sql_terminate, pid_of(s.l));
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    assert_int_equal(RC_AGAIN, pg_run(s.l, &err));
    assert_int_equal(PG_FAULT_LOST, pg_fault(s.l));
    assert_false(pg_is_connected(s.l));
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    assert_int_equal(RC_AGAIN, pg_run(s.l, &err));
    reconnect(s.l);
    assert_int_equal(0, count(s.l));
    link_end(&s);
    link_end(&super);
}

/* Who asks rarely learns before it asks that the server has ended the session, but not within a trip.
 * NODE-08 */
static void test_link__a_session_that_was_ended_is_seen_before_a_trip(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);

    pg_drop_if_ended(s.l);
    assert_true(pg_is_connected(s.l));
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint"));
    signal_session(super.l, sql_terminate, pid_of(s.l));
    pg_queue(s.l, "SELECT 1::bigint", NULL, "i", NULL);
    pg_drop_if_ended(s.l);
    assert_true(pg_is_connected(s.l));
    assert_int_equal(RC_AGAIN, pg_run(s.l, NULL));
    reconnect(s.l);
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint"));
    signal_session(super.l, sql_terminate, pid_of(s.l));
    pg_drop_if_ended(s.l);
    assert_false(pg_is_connected(s.l));
    pg_drop_if_ended(s.l);
    reconnect(s.l);
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint"));
    link_end(&s);
    link_end(&super);
}

/* The whole server goes down when a session of it crashes, and comes back. */
static void test_link__a_crashed_server_comes_back(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), other = connected(PLAIN);

    make_table(s.l);
    pg_queue_begin(s.l);
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    run_ok(s.l);
    assert_int_equal(0, kill((pid_t)pid_of(other.l), SIGKILL));
    while (pg_run(other.l, NULL) == RC_OK)
        pg_queue(other.l, "SELECT 1::bigint", NULL, "i", NULL);
    while (pg_run(s.l, NULL) == RC_OK)
        pg_queue(s.l, "SELECT 1::bigint", NULL, "i", NULL);
    assert_int_equal(PG_FAULT_LOST, pg_fault(s.l));
    reconnect(s.l);
    assert_int_equal(0, count(s.l));
    link_end(&s);
    link_end(&other);
}

/* A kept plan does not fit a table that was altered. */
static void test_link__statements_are_prepared_anew_after_a_migration(void **state UNUSED)
{
    static const char sql[] = "SELECT * FROM one";
    struct server_link s = connected(PLAIN), other = connected(PLAIN);

    make_table(s.l);
    pg_queue(s.l, sql, NULL, "is", NULL);
    run_ok(s.l);
    script_ok(other.l, "ALTER TABLE one ADD COLUMN x bigint");
    pg_queue(s.l, sql, NULL, "isi", NULL);
    assert_int_equal(RC_AGAIN, pg_run(s.l, NULL));
    assert_int_equal(PG_FAULT_LOST, pg_fault(s.l));
    reconnect(s.l);
    pg_queue(s.l, sql, NULL, "isi", NULL);
    run_ok(s.l);
    link_end(&s);
    link_end(&other);
}

struct waiting {
    struct pg_link *l;
    int64_t answer_ms; /* how long it waits for the answer; 0: without end */
    pthread_t thread;
    enum rc rc;
    enum pg_fault fault;
    atomic_bool is_over;
};

static void *commit_it(void *arg)
{
    struct waiting *w = arg;

    w->rc = pg_commit(w->l, NULL);
    w->fault = pg_fault(w->l);
    atomic_store(&w->is_over, true);
    return NULL;
}

/* Start to commit a row in another thread. Returns true when it waits for the standby, or has given
 * up; false when it was stored at once. */
static bool waits_in_commit(struct waiting *w, struct pg_link *super, int64_t n)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    int64_t pid = pid_of(w->l);
    struct pg_answer a;

    pg_put_int(&p, n);
    pg_queue_begin(w->l);
    pg_queue(w->l, "INSERT INTO one VALUES ($1, '')", &p, "", NULL);
    run_ok(w->l);
    w->l->cfg.answer_ms = w->answer_ms;
    atomic_store(&w->is_over, false);
    assert_int_equal(0, pthread_create(&w->thread, NULL, commit_it, w));
    pg_params_reset(&p);
    pg_put_int(&p, pid);
    do {
        pg_queue(super, "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $1", &p,
                 "o", &a);
        run_ok(super);
        if (a.n == 0 || pg_get_bool(&a, 0, 0))
            return true;
    } while (!atomic_load(&w->is_over));
    return w->rc != RC_OK;
}

/* Commit in another thread, with a standby to be waited for that does not exist. The server takes
 * some time until all its processes know of that standby. */
static void wait_in_commit(struct waiting *w, struct pg_link *super, int64_t n)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_int(&p, n);
    while (!waits_in_commit(w, super, n)) {
        pthread_join(w->thread, NULL);
        script_ok(super, "SET synchronous_commit = local"); /* this commit must not wait */
        pg_queue(super, "DELETE FROM one WHERE n = $1", &p, "", NULL);
        run_ok(super);
    }
}

static void wait_for_standby(struct pg_link *super, bool on)
{
    script_ok(super, on ? "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"
                        : "ALTER SYSTEM RESET synchronous_standby_names");
    script_ok(super, "SELECT pg_reload_conf()");
    wait_for(super,
             on ? "SELECT (current_setting('synchronous_standby_names') = 'nobody')::int::bigint"
                : "SELECT (current_setting('synchronous_standby_names') = '')::int::bigint");
}

static void test_link__a_commit_without_an_answer_is_unsure(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);
    struct server_link hasty = connected(PLAIN);
    struct waiting w = {.l = s.l}, late = {.l = hasty.l, .answer_ms = 50}, cancelled = {.l = s.l};
    int64_t pid;

    make_table(s.l);
    wait_for_standby(super.l, true);
    wait_in_commit(&late, super.l, 1); /* the answer is too late */
    pthread_join(late.thread, NULL);
    assert_int_equal(RC_AGAIN, late.rc);
    assert_int_equal(PG_FAULT_UNSURE, late.fault);
    assert_false(pg_is_connected(hasty.l));
    pid = pid_of(s.l);
    wait_in_commit(&w, super.l, 2); /* the session ends */
    signal_session(super.l, sql_terminate, pid);
    pthread_join(w.thread, NULL);
    assert_int_equal(RC_AGAIN, w.rc);
    assert_true(w.fault == PG_FAULT_UNSURE || w.fault == PG_FAULT_UNREPLICATED);
    reconnect(s.l);
    pid = pid_of(s.l);
    wait_in_commit(&cancelled, super.l, 3); /* it is stored, but not on a standby */
    signal_session(super.l, sql_cancel, pid);
    pthread_join(cancelled.thread, NULL);
    assert_int_equal(RC_AGAIN, cancelled.rc);
    assert_int_equal(PG_FAULT_UNREPLICATED, cancelled.fault);
    wait_for_standby(super.l, false);
    reconnect(s.l);
    assert_int_equal(3, count(s.l)); /* all of them were stored */
    link_end(&s);
    link_end(&super);
    link_end(&hasty);
}

/* What failed before the COMMIT says that it was not done. */
static void test_link__a_session_that_ends_before_the_commit_stores_nothing(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);

    make_table(s.l);
    pg_queue_begin(s.l);
    pg_queue(s.l, "INSERT INTO one VALUES (1, '')", NULL, "", NULL);
    run_ok(s.l);
    signal_session(super.l, sql_terminate, pid_of(s.l));
    pg_queue(s.l, "INSERT INTO one VALUES (2, '')", NULL, "", NULL);
    assert_int_equal(RC_AGAIN, pg_commit(s.l, NULL));
    assert_true(pg_fault(s.l) == PG_FAULT_LOST || pg_fault(s.l) == PG_FAULT_UNSURE);
    pg_rollback(s.l);
    reconnect(s.l);
    assert_int_equal(0, count(s.l));
    link_end(&s);
    link_end(&super);
}

static void *stop_it(void *arg)
{
    usleep(20000);
    pg_link_stop(arg);
    return NULL;
}

static void test_link__a_stop_ends_a_statement(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    struct err err = ERR_INIT;
    pthread_t thread;

    pg_queue(s.l, "SELECT pg_sleep(1000)::text", NULL, "s", NULL);
    assert_int_equal(0, pthread_create(&thread, NULL, stop_it, s.l));
    assert_int_equal(RC_CLOSED, pg_run(s.l, &err));
    pthread_join(thread, NULL);
    assert_int_equal(PG_FAULT_STOPPED, pg_fault(s.l));
    assert_int_equal(RC_CLOSED, pg_connect(s.l, &err));
    assert_int_equal(RC_CLOSED, pg_reconnect(s.l, &err));
    link_end(&s);
}

/* A port that takes connections, and never says a word. */
static int silent_port(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(0, bind(fd, (struct sockaddr *)&at, sizeof at));
    assert_int_equal(0, listen(fd, 8));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&at, &len));
    *port = ntohs(at.sin_port);
    return fd;
}

static void test_link__a_stop_ends_an_attempt_to_connect(void **state UNUSED)
{
    struct server_link s;
    pthread_t thread;
    char uri[128];
    int port, fd = silent_port(&port);

    snprintf(uri, sizeof uri, "postgresql://u:%s@127.0.0.1:%d/x?connect_timeout=100", "hidden",
             port);
    s = link_to(uri, 0);
    assert_int_equal(0, pthread_create(&thread, NULL, stop_it, s.l));
    assert_int_equal(RC_CLOSED, pg_connect(s.l, NULL));
    pthread_join(thread, NULL);
    assert_false(pg_is_connected(s.l));
    link_end(&s);
    close(fd); /* the thread that was left behind ends */
}

static void test_link__a_server_that_does_not_answer_is_lost(void **state UNUSED)
{
    struct server_link s = link_to(getenv(PLAIN), 50);
    struct err err = ERR_INIT;

    assert_int_equal(RC_OK, pg_connect(s.l, &err));
    pg_queue(s.l, "SELECT pg_sleep(1000)::text", NULL, "s", NULL);
    assert_int_equal(RC_AGAIN, pg_run(s.l, &err));
    assert_int_equal(PG_FAULT_LOST, pg_fault(s.l));
    assert_non_null(strstr(err.text, "does not answer"));
    link_end(&s);
}

/* The server's address in FEEDMILL_POSTGRES with another host before it. */
static const char *with_first_host(const char *host, char *out, size_t size)
{
    const char *uri = getenv(PLAIN), *at = strrchr(uri, '@') + 1;

    snprintf(out, size, "%.*s%s,%s", (int)(at - uri), uri, host, at);
    return out;
}

static void test_link__the_server_that_takes_writes_is_found(void **state UNUSED)
{
    struct server_link super = connected(SUPER), s;
    struct err err = ERR_INIT;
    char uri[512];

    s = link_to(with_first_host("127.0.0.1:1", uri, sizeof uri), 0);
    assert_int_equal(RC_OK, pg_connect(s.l, &err));
    script_ok(super.l, "ALTER DATABASE feedmill SET default_transaction_read_only = on");
    assert_int_equal(RC_AGAIN, pg_connect(s.l, &err)); /* as a standby, nobody is left */
    assert_non_null(strstr(err.text, "read-only"));
    assert_null(strstr(err.text, "\n"));
    script_ok(super.l, "SET default_transaction_read_only = off;"
                       "ALTER DATABASE feedmill RESET default_transaction_read_only");
    assert_int_equal(RC_OK, pg_connect(s.l, &err));
    link_end(&s);
    link_end(&super);
}

/* The server's address with a host before it that is switched off. Returns what stands for it. */
static int after_silent_host(int timeout_s, char *out, size_t size)
{
    const char *uri = getenv(PLAIN), *at = strrchr(uri, '@') + 1, *name = strrchr(uri, '/');
    int port, fd = silent_port(&port);

    snprintf(out, size, "%.*s127.0.0.1:%d,%.*s%s?connect_timeout=%d", (int)(at - uri), uri, port,
             (int)(name - at), at, name, timeout_s);
    return fd;
}

/* An attempt takes longer than a reader waits. NODE-09 */
static void test_link__the_host_after_a_silent_one_is_reached(void **state UNUSED)
{
    struct server_link s;
    char both[512];
    int fd = after_silent_host(2, both, sizeof both);

    s = link_to(both, 0);
    s.l->cfg.connect_ms = 200;
    while (pg_connect(s.l, NULL) != RC_OK) /* without an end: the test has a deadline */
        assert_int_equal(PG_FAULT_LOST, pg_fault(s.l));
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint"));
    s.l->cfg.connect_ms = 1; /* what is late when the link ends is left behind */
    assert_int_equal(RC_AGAIN, pg_connect(s.l, NULL));
    link_end(&s);
    close(fd);
}

/* A daemon that is started then gets its readers. NODE-09 */
static void test_link__a_reader_is_opened_after_a_silent_host(void **state UNUSED)
{
    struct err err = ERR_INIT;
    struct db *db = NULL;
    char both[512];
    int fd = after_silent_host(3, both, sizeof both); /* longer than a request waits */

    if (engine_postgresql.open_reader(both, &db, &err) != RC_OK)
        fail_msg("%s", err.text);
    db->reads->close(&db);
    close(fd);
}

/* A connection that came late, and was lost before somebody asked for it, is left alone. */
static void test_link__a_late_connection_may_be_lost(void **state UNUSED)
{
    static const char sql[] = "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
                              " WHERE usename = 'mill'";
    struct server_link super = connected(SUPER), s = link_to(getenv(PLAIN), 0);

    s.l->cfg.connect_ms = 1;
    while (pg_connect(s.l, NULL) == RC_OK) /* until one is late */
        ;
    while (number_of(super.l, sql) == 0) /* there it is */
        ;
    s.l->cfg.connect_ms = 0;
    while (pg_connect(s.l, NULL) != RC_OK)
        ;
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint"));
    link_end(&s);
    link_end(&super);
}

/* A standby that comes first in the address lacks what the server after it has acknowledged.
 * NODE-09 */
static void test_link__readers_leave_a_standby_alone(void **state UNUSED)
{
    struct server_link super = connected(SUPER);
    struct err err = ERR_INIT;
    struct db *db = NULL;

    script_ok(super.l, "ALTER DATABASE feedmill SET default_transaction_read_only = on");
    assert_int_equal(RC_AGAIN, engine_postgresql.open_reader(getenv(PLAIN), &db, &err));
    assert_non_null(strstr(err.text, "read-only"));
    script_ok(super.l, "SET default_transaction_read_only = off;"
                       "ALTER DATABASE feedmill RESET default_transaction_read_only");
    assert_int_equal(RC_OK, engine_postgresql.open_reader(getenv(PLAIN), &db, &err));
    db->reads->close(&db);
    link_end(&super);
}

static void expect_hidden(const char *uri, const char *word)
{
    struct server_link s = link_to(uri, 0);
    struct err err = ERR_INIT;

    assert_int_equal(RC_AGAIN, pg_connect(s.l, &err));
    assert_non_null(strstr(err.text, "cannot connect"));
    assert_null(strstr(err.text, word));
    assert_null(strstr(pg_uri_shown(s.uri), word));
    link_end(&s);
}

static void test_link__the_password_is_in_no_message(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    struct err err = ERR_INIT;
    char uri[512];
    const char *host = strrchr(getenv(PLAIN), '@') + 1;

    snprintf(uri, sizeof uri, "postgresql://mill:wrongword@%s", host);
    expect_hidden(uri, "wrongword");
    snprintf(uri, sizeof uri, "postgresql://no_such:wrongword@%s", host);
    expect_hidden(uri, "wrongword");
    expect_hidden("postgresql://mill:wrongword@127.0.0.1:1/x", "wrongword");
    expect_hidden("postgresql://mill@127.0.0.1:1/x?password=wrongword", "wrongword");
    expect_hidden("postgresql://wrongword:wrongword@127.0.0.1:1/wrongword?host=/wrongword",
                  "wrongword ");
    assert_int_not_equal(RC_OK, pg_script(s.l, "SELECT '" HIDDEN "'::bigint", &err));
    assert_non_null(strstr(err.text, "invalid input"));
    assert_null(strstr(err.text, HIDDEN));
    link_end(&s);
}

static void test_link__a_database_in_another_encoding_is_refused(void **state UNUSED)
{
    struct server_link super = connected(SUPER), s;
    struct err err = ERR_INIT;
    char uri[512];

    script_ok(super.l, "DROP DATABASE IF EXISTS old");
    script_ok(super.l, "CREATE DATABASE old ENCODING LATIN1 LOCALE 'C' TEMPLATE template0");
    snprintf(uri, sizeof uri, "%s", getenv(PLAIN));
    strcpy(strrchr(uri, '/'), "/old");
    s = link_to(uri, 0);
    assert_int_equal(RC_UNSUPPORTED, pg_connect(s.l, &err));
    assert_int_equal(PG_FAULT_REFUSED, pg_fault(s.l));
    assert_non_null(strstr(err.text, "LATIN1"));
    assert_non_null(strstr(err.text, "/old"));
    assert_false(pg_is_connected(s.l));
    link_end(&s);
    link_end(&super);
}

#define T(name) cmocka_unit_test(test_link__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(values_go_and_come_back),
        T(arrays_go_and_come_back),
        T(rows_go_by_sets),
        T(a_trip_may_be_longer_than_all_buffers),
        T(each_session_has_our_settings),
        T(failures_have_kinds),
        T(details_of_a_message_stay_out),
        T(text_with_nul_is_refused),
        T(invalid_utf8_is_refused),
        T(columns_are_compared),
        T(a_rollback_forgets_what_is_queued),
        T(a_commit_after_a_failure_fails),
        T(a_lost_connection_comes_back),
        T(a_session_that_was_ended_is_seen_before_a_trip),
        T(a_crashed_server_comes_back),
        T(statements_are_prepared_anew_after_a_migration),
        T(a_commit_without_an_answer_is_unsure),
        T(a_session_that_ends_before_the_commit_stores_nothing),
        T(a_stop_ends_a_statement),
        T(a_stop_ends_an_attempt_to_connect),
        T(a_server_that_does_not_answer_is_lost),
        T(the_server_that_takes_writes_is_found),
        T(readers_leave_a_standby_alone),
        T(the_host_after_a_silent_one_is_reached),
        T(a_reader_is_opened_after_a_silent_host),
        T(a_late_connection_may_be_lost),
        T(the_password_is_in_no_message),
        T(a_database_in_another_encoding_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
