/* tests/unit/feed/test_json.c - feed/json. */
#include "feed/text/json.h"
#include "tests/unit/cmocka_all.h"

static void expect_written(const struct value *v, const char *text)
{
    struct buf b = BUF_INIT(BUF_ANY);

    json_write(&b, v);
    assert_string_equal(buf_view(&b).ptr, text);
    buf_release(&b);
}

static void expect_text(struct str s, const char *text)
{
    struct buf b = BUF_INIT(BUF_ANY);

    json_write_text(&b, s);
    assert_string_equal(buf_view(&b).ptr, text);
    buf_release(&b);
}

static void test_json__escapes_what_must_be(void **state UNUSED)
{
    expect_text(STR("a\"b\\c\n\t\r\b\f\x01\x1f z"),
                "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f z\"");
    expect_text(STR(""), "\"\"");
    expect_text(STR_NULL, "\"\"");
}

static void test_json__can_stand_in_a_page(void **state UNUSED)
{
    expect_text(STR("</script>"), "\"<\\/script>\"");
    expect_text(STR("a<b<"), "\"a<b<\"");
    expect_text(STR("x\xE2\x80\xA8y\xE2\x80\xA9"), "\"x\\u2028y\\u2029\"");
    expect_text(STR("\xE2\x82\xAC \xE2\x80\xA6"), "\"\xE2\x82\xAC \xE2\x80\xA6\"");
}

/* The scanner goes by eight bytes: a special byte is found at every offset of a word. */
static void test_json__finds_specials_at_every_offset(void **state UNUSED)
{
    for (size_t at = 0; at < 24; at++) {
        char in[24], want[64] = "\"";
        memset(in, 'x', sizeof in);
        in[at] = '"';
        for (size_t i = 0; i < sizeof in; i++)
            strcat(want, i == at ? "\\\"" : "x");
        strcat(want, "\"");
        expect_text(str_of(in, sizeof in), want);
    }
}

static void test_json__writes_values_in_order(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct value *d = value_dict(&a), *l = value_list(&a);

    value_push(&a, l, value_int(&a, INT64_MIN));
    value_push(&a, l, value_real(&a, 0.1));
    value_push(&a, l, value_real(&a, 3));
    value_push(&a, l, value_bool(&a, true));
    value_push(&a, l, value_null(&a));
    value_setz(&a, d, "z", l);
    value_set_textz(&a, d, "a", STR("b"));
    value_setz(&a, d, "e", value_dict(&a));
    expect_written(d, "{\"z\":[-9223372036854775808,0.1,3.0,true,null],\"a\":\"b\",\"e\":{}}");
    arena_release(&a);
}

static void expect_same(const char *text)
{
    struct arena a = ARENA_INIT;
    struct value *v = NULL;

    assert_int_equal(json_read(&a, str_from(text), &v, NULL), RC_OK);
    expect_written(v, text);
    arena_release(&a);
}

static void test_json__reads_what_it_writes(void **state UNUSED)
{
    expect_same("{\"b\":[1,-2,0.5,null,true,false],\"a\":{\"x\":\"\xC3\xA9\\n\"}}");
    expect_same("\"text\"");
    expect_same("9223372036854775807");
}

static void expect_read(const char *text, const char *want)
{
    struct arena a = ARENA_INIT;
    struct value *v = NULL;

    assert_int_equal(json_read(&a, str_from(text), &v, NULL), RC_OK);
    expect_written(v, want);
    arena_release(&a);
}

static void test_json__large_numbers_become_real(void **state UNUSED)
{
    expect_read("[1,92233720368547758080]", "[1,9.223372036854776e+19]");
}

static void test_json__last_of_equal_keys_counts(void **state UNUSED)
{
    expect_read("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
}

static void test_json__zero_becomes_replacement(void **state UNUSED)
{
    expect_read("\"a\\u0000b\"", "\"a\xEF\xBF\xBD"
                                 "b\"");
    expect_read("\xEF\xBB\xBF[]", "[]");
}

static void test_json__says_where_it_is_wrong(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct value *v = NULL;

    assert_int_equal(json_read(&a, STR("{\"a\":\n 1,}"), &v, &err), RC_INPUT);
    assert_non_null(strstr(err.text, "line 2"));
    assert_null(v);
    assert_int_equal(json_read(&a, STR(""), &v, NULL), RC_INPUT);
    assert_int_equal(json_read(&a, STR("[\"\xFF\"]"), &v, NULL), RC_INPUT);
    arena_release(&a);
}

/* "{}," costs a hundred times its length: 16 MB of it took 1.5 GB. */
static void test_json__values_are_bounded(void **state UNUSED)
{
    static const struct {
        const char *piece;
        size_t n;
        enum rc rc;
    } rows[] = {{"{},", 500001, RC_LIMIT},
                {"{},", 400000, RC_OK},
                {"1,", 1000001, RC_LIMIT},
                {"1,", 900000, RC_OK},
                {"\",[{\\\",\",", 400000, RC_OK}}; /* within strings nothing counts */

    for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
        AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct value *v;

        buf_putc(&text, '[');
        for (size_t i = 0; i < rows[k].n; i++)
            buf_puts(&text, rows[k].piece);
        buf_puts(&text, "0]");
        assert_int_equal(json_read(&a, buf_view(&text), &v, NULL), rows[k].rc);
    }
}

static void test_json__depth_is_bounded(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct value *v = NULL;
    char text[10001];

    for (size_t depth = 60; depth <= 5000; depth *= 9) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(json_read(&a, str_of(text, 2 * depth), &v, NULL),
                         depth <= 64 ? RC_OK : RC_LIMIT);
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__escapes_what_must_be),
        cmocka_unit_test(test_json__can_stand_in_a_page),
        cmocka_unit_test(test_json__finds_specials_at_every_offset),
        cmocka_unit_test(test_json__writes_values_in_order),
        cmocka_unit_test(test_json__reads_what_it_writes),
        cmocka_unit_test(test_json__large_numbers_become_real),
        cmocka_unit_test(test_json__last_of_equal_keys_counts),
        cmocka_unit_test(test_json__zero_becomes_replacement),
        cmocka_unit_test(test_json__says_where_it_is_wrong),
        cmocka_unit_test(test_json__values_are_bounded),
        cmocka_unit_test(test_json__depth_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
