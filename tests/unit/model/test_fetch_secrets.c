/* tests/unit/model/test_fetch_secrets.c - what may be sent with the fetches of a feed. ETIQ-08. */
#include <string.h>

#include "base/compiler.h"
#include "model/fetch_secrets.h"
#include "tests/unit/cmocka_all.h"

#define SECRET "sesame"

static void test_fetch_secrets__good_values(void **state UNUSED)
{
    static const char *const rows[][2] = {
        {"cookie", "sid=" SECRET "; theme=dark"},
        {"user_agent", "Reader/1 (for an example)"},
        {"bearer", "abc.DEF-1_~+/=="},
        {"proxy", "socks5h://proxy.example:1080"},
        {"proxy", "HTTP://user:" SECRET "@proxy.example:3128"},
        {"fetch_header.X-Api-Key", SECRET "\tand more"},
        {"fetch_header.Authorization", "Token " SECRET},
        {"fetch_header.Accept-Language", "de"},
    };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_secrets s = {.n = 0};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str name = str_from(rows[i][0]), value = str_from(rows[i][1]);

        assert_int_equal(fetch_secrets_set(&a, &s, name, value, NULL), RC_OK);
        assert_true(str_eq(fetch_secrets_value(&s, name), value));
    }
    assert_int_equal(s.n, ARRAY_LEN(rows) - 1); /* the second proxy took the place of the first */
}

/* Each error says what would be right, and none repeats the value. */
static void test_fetch_secrets__bad_values(void **state UNUSED)
{
    static const struct {
        struct str name, value;
        const char *says;
    } rows[] = {
        {{"cookie", 6}, {SECRET "\r\nX: y", 12}, "line breaks"},
        {{"cookie", 6}, {SECRET "\n", 7}, "line breaks"},
        {{"cookie", 6}, {SECRET "\0x", 8}, "control characters"},
        {{"cookie", 6}, {" " SECRET, 7}, "blank"},
        {{"user_agent", 10}, {SECRET "\x7f", 7}, "control characters"},
        {{"bearer", 6}, {"Bearer " SECRET, 13}, "without \"Bearer\""},
        {{"bearer", 6}, {"=" SECRET, 7}, "the token alone"},
        {{"bearer", 6}, {"==", 2}, "the token alone"},
        {{"proxy", 5}, {"ftp://" SECRET, 12}, "socks5h:"},
        {{"proxy", 5}, {"https://" SECRET, 14}, "or HOST:PORT"},
        {{"fetch_header.", 13}, {SECRET, 6}, "name of an HTTP field"},
        {{"fetch_header.X Y", 16}, {SECRET, 6}, "name of an HTTP field"},
        {{"fetch_header.X:" SECRET, 21}, {SECRET, 6}, "name of an HTTP field"},
        {{"fetch_header.X\0Y", 16}, {SECRET, 6}, "name of an HTTP field"},
        {{"fetch_header.HOST", 17}, {SECRET, 6}, "HOST is set by Feedmill"},
        {{"fetch_header.Range", 18}, {SECRET, 6}, "set by Feedmill"},
        {{"fetch_header.A-IM", 17}, {SECRET, 6}, "set by Feedmill"},
        {{"fetch_header.Cookie", 19}, {SECRET, 6}, "of its own: cookie"},
        {{"fetch_header.User-Agent", 23}, {SECRET, 6}, "of its own: user_agent"},
        {{"password", 8}, {SECRET, 6}, "fetch_header.NAME"},
    };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_secrets s = {.n = 0};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(fetch_secrets_set(&a, &s, rows[i].name, rows[i].value, &err), RC_INPUT);
        assert_non_null(strstr(err.text, rows[i].says));
        assert_null(strstr(err.text, SECRET));
        assert_int_equal(s.n, 0);
    }
}

static struct str long_text(struct arena *a, size_t n)
{
    char *p = arena_alloc(a, n);

    memset(p, 'x', n);
    return str_of(p, n);
}

static void test_fetch_secrets__bounds(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_secrets s = {.n = 0};
    struct str most = long_text(&a, FETCH_VALUE_MAX), more = long_text(&a, FETCH_VALUE_MAX + 1);
    struct str name = long_text(&a, FETCH_NAME_MAX);

    assert_int_equal(fetch_secrets_set(&a, &s, STR("cookie"), most, NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("cookie"), more, NULL), RC_LIMIT);
    assert_int_equal(fetch_secrets_value(&s, STR("cookie")).len, FETCH_VALUE_MAX);
    assert_int_equal(
        fetch_secrets_set(&a, &s, str_concat(&a, STR("fetch_header."), name), STR("1"), NULL),
        RC_OK);
    assert_int_equal(
        fetch_secrets_set(&a, &s, str_concat(&a, STR("fetch_header.y"), name), STR("1"), NULL),
        RC_LIMIT);
    for (int i = 1; i < FETCH_FIELDS_MAX; i++)
        assert_int_equal(fetch_secrets_set(&a, &s, str_printf(&a, "fetch_header.X-%d", i),
                                           STR("1"), NULL),
                         RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("fetch_header.X-9"), STR("1"), NULL), RC_LIMIT);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("fetch_header.x-1"), STR("2"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("bearer"), STR("t"), NULL), RC_OK);
    assert_int_equal(s.n, FETCH_FIELDS_MAX + 2);
}

/* An empty value takes one away, and the others stay in their order. */
static void test_fetch_secrets__taken_away(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_secrets s = {.home = STR("http://a.example/f")};

    assert_int_equal(fetch_secrets_set(&a, &s, STR("cookie"), STR("a=1"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("bearer"), STR("t"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("proxy"), STR("http://p"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("bearer"), STR(""), NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("user_agent"), STR(""), NULL), RC_OK);
    assert_true(str_eqz(fetch_secrets_text(&a, &s), "home=http://a.example/f\ncookie=a=1\nproxy=http://p\n"));
    assert_true(str_is_null(fetch_secrets_value(&s, STR("bearer"))));
}

static void test_fetch_secrets__one_authorization(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_secrets s = {.n = 0};
    struct err err = ERR_INIT;

    assert_int_equal(fetch_secrets_set(&a, &s, STR("bearer"), STR(SECRET), NULL), RC_OK);
    assert_int_equal(fetch_secrets_check(&s, &err), RC_OK);
    assert_int_equal(
        fetch_secrets_set(&a, &s, STR("fetch_header.authorization"), STR("Token x"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_check(&s, &err), RC_INPUT);
    assert_non_null(strstr(err.text, "Authorization"));
    assert_null(strstr(err.text, SECRET));
}

static void test_fetch_secrets__as_text(void **state UNUSED)
{
    static const char *const damaged[] = {
        "cookie", "cookie=\n", "=x\n", "other=x\n", "\n", "cookie=a\n\n", "bearer=a b\n",
        "fetch_header.Host=" SECRET "\n", "home=http://a/\nfetch_header.Host=" SECRET "\n",
        "home=http://a/\nother=" SECRET "\n", "home=\ncookie=x\n", "cookie=x\n",
    };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_secrets s = {.home = STR("http://a.example/f")}, back;

    assert_true(str_eqz(fetch_secrets_text(&a, &s), ""));
    assert_int_equal(fetch_secrets_set(&a, &s, STR("cookie"), STR("a=1; b==2"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_set(&a, &s, STR("fetch_header.X"), STR("1"), NULL), RC_OK);
    assert_int_equal(fetch_secrets_read(&a, fetch_secrets_text(&a, &s), &back, NULL), RC_OK);
    assert_int_equal(back.n, 2);
    assert_true(str_eqz(back.home, "http://a.example/f"));
    assert_true(str_eqz(fetch_secrets_value(&back, STR("cookie")), "a=1; b==2"));
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(fetch_secrets_read(&a, str_from(damaged[i]), &back, &err), RC_INPUT);
        assert_null(strstr(err.text, SECRET));
        assert_int_equal(back.n, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch_secrets__good_values),
        cmocka_unit_test(test_fetch_secrets__bad_values),
        cmocka_unit_test(test_fetch_secrets__bounds),
        cmocka_unit_test(test_fetch_secrets__taken_away),
        cmocka_unit_test(test_fetch_secrets__one_authorization),
        cmocka_unit_test(test_fetch_secrets__as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
