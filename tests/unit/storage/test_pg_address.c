/* tests/unit/storage/test_pg_address.c - what needs no server: addresses, kinds of failures,
 * pauses. */
#include "tests/unit/cmocka_all.h"

#include "storage/pg/link.h"
#include "storage/pg/uri.h"

static struct pg_uri *read_uri(const char *text)
{
    struct pg_uri *u = NULL;

    assert_int_equal(RC_OK, pg_uri_read(text, &u, NULL));
    return u;
}

static const char *parameter(struct pg_uri *u, bool for_writing, const char *keyword)
{
    const char *const *keywords, *const *values, *found = NULL;

    pg_uri_parameters(u, for_writing, &keywords, &values);
    for (size_t i = 0; keywords[i] != NULL; i++)
        if (strcmp(keywords[i], keyword) == 0)
            found = values[i];
    return found == NULL ? "-" : found;
}

static void test_address__its_scheme(void **state UNUSED)
{
    assert_true(pg_uri_is(STR("postgresql://a/b")));
    assert_true(pg_uri_is(STR("postgres://a/b")));
    assert_false(pg_uri_is(STR("feeds.db")));
    assert_false(pg_uri_is(STR("host=a dbname=b")));
    assert_false(pg_uri_is(STR_NULL));
}

static void test_address__what_is_shown_has_no_password(void **state UNUSED)
{
    static const struct {
        const char *uri, *shown;
    } rows[] = {
        {"postgresql://mill:se%40cret@a,b:5433/feeds", "mill@a,b:5433/feeds"},
        {"postgres://a:1,b:2,c/feeds", "a:1,b:2,c/feeds"},
        {"postgres://a,b/feeds?port=7", "a:7,b:7/feeds"},
        {"postgres://mill@a:5433/feeds?password=secret", "mill@a:5433/feeds"},
        {"postgresql://a/feeds?sslpassword=secret", "a/feeds"},
        {"postgresql://[2001:db8::1]/feeds", "2001:db8::1/feeds"},
        {"postgresql:///feeds?host=/run/postgresql", "/run/postgresql/feeds"},
        {"postgresql://?hostaddr=127.0.0.1", "127.0.0.1/"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pg_uri *u = read_uri(rows[i].uri);

        assert_string_equal(rows[i].shown, pg_uri_shown(u));
        pg_uri_free(&u);
        assert_null(u);
    }
}

/* Nothing of an address that cannot be read is in the message: it may be the password. */
static void test_address__a_bad_one_is_refused_without_its_words(void **state UNUSED)
{
    static const char *const rows[] = {
        "postgresql://mill:hidden@word@host/feeds", /* libpq: the host is word@host */
        "postgresql://mill:hidden/word@host/feeds", /* the port is hidden, the name word@host/... */
        "postgresql://mill:hid%zzden@host/feeds",
        "postgresql://mill:hidden@host/feeds?no_such=hidden",
        "postgresql://mill:hidden@host:port/feeds",
        "postgresql://[hidden",
        "hidden.db",
        "host=hidden",
        "",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct pg_uri *u = NULL;

        assert_int_equal(RC_INPUT, pg_uri_read(rows[i], &u, &err));
        assert_null(u);
        assert_null(strstr(err.text, "hid"));
        assert_null(strstr(err.text, "@host/"));
        assert_non_null(strstr(err.text, "%40"));
    }
}

/* What libpq would say only when it connects. */
static void test_address__faulty_values_are_named(void **state UNUSED)
{
    static const struct {
        const char *text, *why;
    } rows[] = {{"postgresql://mill@127.0.0.1:99999/feeds", "port"},
                {"postgresql://mill@a:1,b:0/feeds", "port"},
                {"postgresql://mill@a/feeds?sslmode=bogus", "sslmode"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct pg_uri *u = NULL;

        assert_int_equal(RC_INPUT, pg_uri_read(rows[i].text, &u, &err));
        assert_null(u);
        assert_non_null(strstr(err.text, rows[i].why));
    }
    for (int i = 0; i < 2; i++) {
        struct pg_uri *u = read_uri(i == 0 ? "postgresql://a:5433,b/feeds?sslmode=verify-full" : "postgresql:///feeds");

        pg_uri_free(&u);
    }
}

static void test_address__secrets_are_hidden(void **state UNUSED)
{
    struct pg_uri *u = read_uri("postgresql://mill:se%40cret@a/feeds?sslpassword=key%20word");
    char text[] = "se@cret and se@cret, key word, other";

    pg_uri_hide(u, "other", text);
    assert_string_equal("******* and *******, ********, *****", text);
    pg_uri_free(&u);
}

static void test_address__what_it_says_counts(void **state UNUSED)
{
    struct pg_uri *u = read_uri("postgresql://a,b/feeds?connect_timeout=60&options=-c%20x.y%3D1"
                                "&target_session_attrs=any&client_encoding=LATIN1");

    assert_string_equal("60", parameter(u, true, "connect_timeout"));
    assert_string_equal("10000", parameter(u, true, "tcp_user_timeout"));
    assert_string_equal("a,b", parameter(u, true, "host"));
    assert_string_equal("UTF8", parameter(u, true, "client_encoding"));
    assert_string_equal("read-write", parameter(u, true, "target_session_attrs"));
    assert_string_equal("any", parameter(u, false, "target_session_attrs"));
    assert_int_equal(0, strncmp(parameter(u, true, "options"), "-c x.y=1 -c ", 12));
    assert_non_null(strstr(parameter(u, true, "options"), " -c enable_seqscan=off"));
    assert_non_null(strstr(parameter(u, true, "options"), "=read\\ committed"));
    pg_uri_free(&u);
}

static void test_fault__the_longest_beginning_counts(void **state UNUSED)
{
    static const struct {
        const char *sqlstate;
        enum pg_fault fault;
        enum rc rc;
    } rows[] = {
        {"08006", PG_FAULT_LOST, RC_AGAIN},      {"57P01", PG_FAULT_LOST, RC_AGAIN},
        {"25006", PG_FAULT_LOST, RC_AGAIN},      {"40001", PG_FAULT_RETRY, RC_AGAIN},
        {"40P01", PG_FAULT_RETRY, RC_AGAIN},     {"57014", PG_FAULT_RETRY, RC_AGAIN},
        {"23505", PG_FAULT_UNIQUE, RC_CONFLICT}, {"23503", PG_FAULT_DATA, RC_INPUT},
        {"22021", PG_FAULT_DATA, RC_INPUT},      {"53100", PG_FAULT_FULL, RC_UNAVAILABLE},
        {"53300", PG_FAULT_LOST, RC_AGAIN},      {"42501", PG_FAULT_REFUSED, RC_UNAVAILABLE},
        {"53200", PG_FAULT_SHORT, RC_AGAIN},     {"53400", PG_FAULT_SHORT, RC_AGAIN},
        {"42601", PG_FAULT_OTHER, RC_IO},        {"XX000", PG_FAULT_OTHER, RC_IO},
        {NULL, PG_FAULT_OTHER, RC_IO},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(rows[i].fault, pg_fault_of(rows[i].sqlstate));
        assert_int_equal(rows[i].rc, pg_fault_rc(rows[i].fault));
    }
}

/* 0.1 s doubled to 5 s, and of that a half to the whole */
static void test_pause__grows_and_is_bounded(void **state UNUSED)
{
    static const int64_t most[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000};

    for (int i = 0; i < (int)ARRAY_LEN(most); i++) {
        assert_int_equal(most[i] / 2, pg_pause_ms(i, 0));
        for (uint32_t chance = 0; chance < 100000; chance += 7) {
            assert_true(pg_pause_ms(i, chance) >= most[i] / 2);
            assert_true(pg_pause_ms(i, chance) <= most[i]);
        }
    }
    assert_int_equal(5000, pg_pause_ms(1000000, 2500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address__its_scheme),
        cmocka_unit_test(test_address__what_is_shown_has_no_password),
        cmocka_unit_test(test_address__a_bad_one_is_refused_without_its_words),
        cmocka_unit_test(test_address__faulty_values_are_named),
        cmocka_unit_test(test_address__secrets_are_hidden),
        cmocka_unit_test(test_address__what_it_says_counts),
        cmocka_unit_test(test_fault__the_longest_beginning_counts),
        cmocka_unit_test(test_pause__grows_and_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
