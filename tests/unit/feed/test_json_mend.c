/* tests/unit/feed/test_json_mend.c - JSON that is broken, made whole. Each row is one kind of
 * breakage; what comes out is compared as text and, where it should be JSON, read. */
#include "tests/unit/cmocka_all.h"

#include "base/compiler.h"
#include "base/limits.h"
#include "feed/read/json_mend.h"
#include "feed/text/json.h"

struct row {
    const char *text, *mended;
};

static void assert_mended(const struct row *rows, size_t n, bool is_json)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
        struct value *v;

        json_mend(&out, str_from(rows[i].text));
        if (!str_eqz(buf_view(&out), rows[i].mended))
            fail_msg("%s\ngot    %.*s\nwanted %s", rows[i].text, STR_ARG(buf_view(&out)),
                     rows[i].mended);
        if (is_json && json_read(&a, buf_view(&out), &v, NULL) != RC_OK)
            fail_msg("%s is not JSON", rows[i].mended);
    }
}

static void test_json_mend__commas(void **state UNUSED)
{
    static const struct row rows[] = {
        {"[1,2,]", "[1,2]"},    {"{\"a\":1,}", "{\"a\":1}"},      {"[1,,2]", "[1,2]"},
        {"[,1]", "[,1]"}, /* nothing is known of what was meant: it stays broken */
        {"[1, 2 , ]", "[1,2]"}, {"{\"a\":[1,],}", "{\"a\":[1]}"},
    };

    assert_mended(rows, 3, true);
    assert_mended(rows, ARRAY_LEN(rows), false);
}

static void test_json_mend__strings(void **state UNUSED)
{
    static const struct row rows[] = {
        {"[\"a\nb\tc\"]", "[\"a\\u000ab\\u0009c\"]"},
        {"[\"it\\'s\"]", "[\"it's\"]"},
        {"[\"\\x41\"]", "[\"x41\"]"},
        {"[\"\\u00e9\\n\\/\"]", "[\"\\u00e9\\n\\/\"]"},
        {"[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]"},
        {"[\"\\ud83d\"]", "[\"\\ufffd\"]"},
        {"[\"\\ude00 x\"]", "[\"\\ufffd x\"]"},
        {"[\"\\ud83d\\u0041\"]", "[\"\\ufffd\\u0041\"]"},
        {"[\"\\u12\"]", "[\"u12\"]"},
        {"[\"a,]}\"]", "[\"a,]}\"]"},
    };

    assert_mended(rows, ARRAY_LEN(rows), true);
}

static void test_json_mend__words(void **state UNUSED)
{
    static const struct row rows[] = {
        {"[NaN,Infinity,-Infinity,undefined,None]", "[null,null,null,null,null]"},
        {"[true,false,null,-1.5e+3]", "[true,false,null,-1.5e+3]"},
    };

    assert_mended(rows, ARRAY_LEN(rows), true);
}

/* All values that are complete are kept. */
static void test_json_mend__documents_that_break_off(void **state UNUSED)
{
    static const struct row rows[] = {
        {"{\"items\":[{\"id\":\"1\"},{\"id\":\"2", "{\"items\":[{\"id\":\"1\"},{}]}"},
        {"{\"items\":[{\"id\":\"1\"},{\"id\"", "{\"items\":[{\"id\":\"1\"},{}]}"},
        {"{\"items\":[{\"id\":\"1\"},{\"id\":", "{\"items\":[{\"id\":\"1\"},{}]}"},
        {"{\"items\":[{\"id\":\"1\"},", "{\"items\":[{\"id\":\"1\"}]}"},
        {"{\"a\":1,\"b\":2", "{\"a\":1}"}, /* 2 may be the beginning of 20 */
        {"{\"a\":1,\"b\":tru", "{\"a\":1}"},
        {"{\"a\":\"x\\", "{}"},
        {"{\"a\":\"x\\u00", "{}"},
        {"[[1],[2,[3", "[[1],[2,[]]]"},
        {"{", "{}"},
    };

    assert_mended(rows, ARRAY_LEN(rows), true);
}

static void test_json_mend__what_follows_is_dropped(void **state UNUSED)
{
    static const struct row rows[] = {
        {"{\"a\":1}{\"b\":2}", "{\"a\":1}"},
        {"[1];</script>", "[1]"},
        {"\xef\xbb\xbf[1]", "[1]"},
        {"[1}", "[1]"}, /* the wrong bracket ends it */
    };

    assert_mended(rows, ARRAY_LEN(rows), true);
}

static void test_json_mend__nothing_comes_of_nothing(void **state UNUSED)
{
    static const struct row rows[] = {{"", ""}, {"  ", ""}, {"}", ""}, {"<html>", "html"}};

    assert_mended(rows, ARRAY_LEN(rows), false); /* a reader refuses them all */
}

/* Brackets beyond the limit end the document, with all that are open closed. */
static void test_json_mend__depth_has_a_bound(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
    struct value *v;

    for (int i = 0; i < 10 * LIMIT_JSON_DEPTH; i++)
        buf_putc(&in, '[');
    json_mend(&out, buf_view(&in));
    assert_int_equal(2 * LIMIT_JSON_DEPTH, out.len);
    assert_int_equal(RC_OK, json_read(&a, buf_view(&out), &v, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_mend__commas),
        cmocka_unit_test(test_json_mend__strings),
        cmocka_unit_test(test_json_mend__words),
        cmocka_unit_test(test_json_mend__documents_that_break_off),
        cmocka_unit_test(test_json_mend__what_follows_is_dropped),
        cmocka_unit_test(test_json_mend__nothing_comes_of_nothing),
        cmocka_unit_test(test_json_mend__depth_has_a_bound),
    };

    return cmocka_run_group_tests_name("json_mend", tests, NULL, NULL);
}
