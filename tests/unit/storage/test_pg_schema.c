/* tests/unit/storage/test_pg_schema.c - what is there at the start: nothing, our tables, others. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "storage/pg/schema.h"
#include "storage/schema_version.h"

static void empty(struct pg_link *l)
{
    script_ok(l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
}

static void test_schema__an_empty_database_gets_our_tables(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);
    int64_t secret;

    empty(super.l);
    assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL));
    assert_int_equal(SCHEMA_VERSION, number_of(s.l, "SELECT schema_version FROM log"));
    assert_int_equal(64 + 36, number_of(s.l, "SELECT length(log_id || secret)::bigint FROM log"));
    assert_int_equal(256, number_of(s.l, "SELECT count(*) FROM slots"));
    secret = number_of(s.l, "SELECT hashtextextended(secret, 0) FROM log");
    assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL)); /* and keeps them */
    assert_true(secret == number_of(s.l, "SELECT hashtextextended(secret, 0) FROM log"));
    link_end(&s);
    link_end(&super);
}

static void *make_ready(void *arg)
{
    return pg_schema_ready(arg, NULL) == RC_OK ? arg : NULL;
}

static void test_schema__nodes_may_start_at_the_same_time(void **state UNUSED)
{
    struct server_link super = connected(SUPER), nodes[4];
    pthread_t threads[ARRAY_LEN(nodes)];
    void *done;

    empty(super.l);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        nodes[i] = connected(PLAIN);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, make_ready, nodes[i].l));
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        pthread_join(threads[i], &done);
        assert_non_null(done);
        link_end(&nodes[i]);
    }
    assert_int_equal(1, number_of(super.l, "SELECT count(*) FROM log"));
    link_end(&super);
}

static void test_schema__another_database_is_refused(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);
    struct err err = ERR_INIT;

    empty(super.l);
    script_ok(s.l, "CREATE TABLE notes (x text)");
    assert_int_equal(RC_UNSUPPORTED, pg_schema_ready(s.l, &err));
    assert_non_null(strstr(err.text, "another program"));
    script_ok(s.l, "ALTER TABLE notes RENAME TO log"); /* a common name */
    assert_int_equal(RC_UNSUPPORTED, pg_schema_ready(s.l, &err));
    assert_int_equal(1, number_of(s.l, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND"
                                       " relnamespace = current_schema()::regnamespace"));
    link_end(&s);
    link_end(&super);
}

static void test_schema__a_newer_database_is_refused(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);
    struct err err = ERR_INIT;

    empty(super.l);
    assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL));
    script_ok(s.l, "UPDATE log SET schema_version = 1000");
    assert_int_equal(RC_UNSUPPORTED, pg_schema_ready(s.l, &err));
    assert_non_null(strstr(err.text, "newer"));
    assert_int_equal(1, number_of(s.l, "SELECT 1::bigint")); /* the connection is good */
    link_end(&s);
    link_end(&super);
}

/* A schema that cannot be made whole is not made at all. */
static void test_schema__all_tables_or_none(void **state UNUSED)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);
    struct err err = ERR_INIT;

    empty(super.l);
    script_ok(super.l, "CREATE SEQUENCE body_blocks"); /* near the end of the text */
    assert_int_not_equal(RC_OK, pg_schema_ready(s.l, &err));
    assert_non_null(strstr(err.text, "body_blocks"));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND"
                                       " relnamespace = current_schema()::regnamespace"));
    script_ok(super.l, "DROP SEQUENCE body_blocks");
    assert_int_equal(RC_OK, pg_schema_ready(s.l, &err));
    link_end(&s);
    link_end(&super);
}

#define T(name) cmocka_unit_test(test_schema__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_empty_database_gets_our_tables),
        T(nodes_may_start_at_the_same_time),
        T(another_database_is_refused),
        T(a_newer_database_is_refused),
        T(all_tables_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
