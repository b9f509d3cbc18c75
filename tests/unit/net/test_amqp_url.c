/* tests/unit/net/test_amqp_url.c - endpoints at a message broker, and routing keys. */
#include "net/amqp_url.h"

#include "net/url.h"
#include "tests/unit/cmocka_all.h"

static struct arena a = ARENA_INIT;

static int teardown(void **state UNUSED)
{
    arena_release(&a);
    return 0;
}

/* AMQP-01 */
static void test_amqp_url__canonical(void **state UNUSED)
{
    static const struct {
        const char *raw, *url, *credential;
    } rows[] = {
        {"amqp://h?exchange=e", "amqp://h/%2F?exchange=e", NULL},
        {"AMQP://U:P@H:5672/?exchange=e", "amqp://h/%2F?exchange=e", "U:P"},
        {" amqps://h:5671/v?exchange=e ", "amqps://h/v?exchange=e", NULL},
        {"amqps://h:5672/%2fv?exchange=e", "amqps://h:5672/%2Fv?exchange=e", NULL},
        {"amqp://u:p%40%2F%3a@[::1]:7/v?exchange=e", "amqp://[::1]:7/v?exchange=e", "u:p@/:"},
        {"amqp://h/?key=a+b%2Bc&exchange=%C3%A9", "amqp://h/%2F?exchange=%C3%A9&key=a%20b%2Bc",
         NULL},
        {"amqp://h/?declare=topic&&exchange=e&key=feed.{feed}.%7Bkind%7D",
         "amqp://h/%2F?exchange=e&declare=topic", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct url_parts parts = {.credential = STR_NULL}, again;

        assert_int_equal(RC_OK, amqp_url_parse(&a, str_from(rows[i].raw), &parts, NULL));
        assert_str(parts.url, rows[i].url);
        if (rows[i].credential == NULL)
            assert_true(str_is_null(parts.credential));
        else
            assert_str(parts.credential, rows[i].credential);
        assert_int_equal(RC_OK, amqp_url_parse(&a, parts.url, &again, NULL));
        assert_str(again.url, rows[i].url);
    }
}

static void test_amqp_url__parts(void **state UNUSED)
{
    struct amqp_url u;

    assert_int_equal(
        RC_OK, amqp_url_read(&a, STR("amqps://h/a%2Fb?exchange=x%20y&key=k.{feed}"), &u, NULL));
    assert_str(u.host, "h");
    assert_int_equal(5671, u.port);
    assert_true(u.is_tls);
    assert_str(u.vhost, "a/b");
    assert_str(u.exchange, "x y");
    assert_str(u.key, "k.{feed}");
    assert_false(u.declares);
}

/* AMQP-01, AMQP-04: no error repeats a password */
static void test_amqp_url__wrong(void **state UNUSED)
{
    static const char *const rows[] = {
        "",
        "amqp:",
        "amqp://",
        "amqp:///?exchange=e",
        "http://h/?exchange=e",
        "amqp:u:sEcReT@h?exchange=e",
        "amqp://u:sEcReT@/v?exchange=e",
        "amqp://u:sEcReT@h",
        "amqp://u:sEcReT@h/v",
        "amqp://u:sEcReT@h/?exchange=",
        "amqp://u:sEcReT@h/?exchange=e&exchange=e",
        "amqp://u:sEcReT@h/?exchange=e&heartbeat=3",
        "amqp://u:sEcReT@h/?exchange=e&declare=direct",
        "amqp://u:sEcReT@h/?exchange=e&key=",
        "amqp://u:sEcReT@h/?exchange=e&key={id}",
        "amqp://u:sEcReT@h/?exchange=e&key=a}",
        "amqp://u:sEcReT@h/?exchange=e&key={feed",
        "amqp://u:sEcReT@h/?exchange=e%00",
        "amqp://u:sEcReT@h/?exchange=%ff",
        "amqp://u:sEcReT@h/a/b?exchange=e",
        "amqp://u:sEcReT@h/%00?exchange=e",
        "amqp://u:sEcReT@h/?exchange=e#f",
        "amqp://u:sEcReT@h:0/?exchange=e",
        "amqp://u:sEcReT@h:x/?exchange=e",
        "amqp://u:sEcReT/1@h/?exchange=e",
        "amqp://u:sEcReT%0a@h/?exchange=e",
        "amqp://u%3Ax:sEcReT@h/?exchange=e",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct url_parts parts;

        assert_int_equal(RC_INPUT, amqp_url_parse(&a, str_from(rows[i]), &parts, &err));
        assert_true(err.text[0] != '\0');
        assert_null(strstr(err.text, "sEcReT"));
    }
}

/* AMQP-01: what is not percent-encoded well would be another password than the one that is meant */
static void test_amqp_url__wrong_encoding(void **state UNUSED)
{
    static const char *const rows[] = {
        "amqp://u:sEcReT%@h/?exchange=e",        "amqp://u:sEcReT%4@h/?exchange=e",
        "amqp://u:100%sEcReT@h/?exchange=e",     "amqp://u%zz:sEcReT@h/?exchange=e",
        "amqp://u:sEcReT@h/50%?exchange=e",      "amqp://u:sEcReT@h/?exchange=e%",
        "amqp://u:sEcReT@h/?exchange=e&key=%g0",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct url_parts parts;

        assert_int_equal(RC_INPUT, amqp_url_parse(&a, str_from(rows[i]), &parts, &err));
        assert_non_null(strstr(err.text, "%25"));
        assert_null(strstr(err.text, "sEcReT"));
    }
}

/* whatever is cut off or changed, it is read or refused */
static void test_amqp_url__mutants(void **state UNUSED)
{
    static const char raw[] = "amqps://u:p%40@[::1]:7/%2fv?exchange=e%C3%A9&key={feed}.%7Bkind%7D"
                              "&declare=topic";
    static const char bytes[] = "%{}[]@:/?&=#\0\xff";

    for (size_t n = 0; n < sizeof raw; n++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            struct str text = str_dup(&a, str_of(raw, sizeof raw - 1));
            struct url_parts parts;

            if (n < text.len)
                ((char *)(uintptr_t)text.ptr)[n] = bytes[k];
            if (amqp_url_parse(&a, text, &parts, NULL) == RC_OK)
                assert_int_equal(RC_OK, amqp_url_parse(&a, parts.url, &parts, NULL));
            (void)!amqp_url_parse(&a, str_slice(text, 0, n), &parts, NULL);
        }
    }
}

static void test_amqp_url__long_names(void **state UNUSED)
{
    struct str x = str_printf(&a, "%0255d", 0), y = str_printf(&a, "%0256d", 0);
    struct url_parts parts;

    assert_int_equal(RC_OK, amqp_url_parse(&a,
                                           str_printf(&a, "amqp://h/?exchange=%.*s&key=%.*s",
                                                      STR_ARG(x), STR_ARG(x)),
                                           &parts, NULL));
    assert_int_equal(
        RC_INPUT,
        amqp_url_parse(&a, str_printf(&a, "amqp://h/?exchange=%.*s", STR_ARG(y)), &parts, NULL));
    assert_int_equal(
        RC_INPUT,
        amqp_url_parse(&a, str_printf(&a, "amqp://h/?exchange=e&key={feed}%.*s", STR_ARG(x)),
                       &parts, NULL));
}

static void test_amqp_url__key(void **state UNUSED)
{
    assert_str(amqp_key_fill(&a, STR(AMQP_KEY_DEFAULT), 7, STR("new")), "feed.7.new");
    assert_str(amqp_key_fill(&a, STR("{kind}{feed}{kind}"), 12, STR("x")), "x12x");
    assert_str(amqp_key_fill(&a, STR("plain"), 7, STR("new")), "plain");
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(test_amqp_url__##name, teardown)
    const struct CMUnitTest tests[] = {
        T(canonical), T(parts), T(wrong), T(wrong_encoding), T(mutants), T(long_names), T(key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
