/* Slices: comparison, search, numbers, UTF-8; the search of sixteen bytes at once. */
#include "tests/unit/cmocka_all.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/digits.h"
#include "base/scan.h"
#include "base/str.h"
#include "base/switch.h"

static void test_str__null_and_empty_differ(void **state UNUSED)
{
    assert_true(str_is_null(STR_NULL));
    assert_false(str_is_null(STR("")));
    assert_true(str_eq(STR_NULL, STR("")));
}

static void test_str__case_folds_ascii_only(void **state UNUSED)
{
    assert_true(str_ieq(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_ieq(STR("\xC3\x84"), STR("\xC3\xA4")));
    assert_int_equal(str_ifind(STR("abcDEF"), STR("cde")), 2);
    assert_int_equal(str_ifind(STR("abc"), STR("abcd")), -1);
}

static void test_ascii__each_byte_has_its_classes(void **state UNUSED)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        const char *digit = i != 0 ? strchr(base64, c) : NULL;

        assert_int_equal(ascii_is_digit(c), i >= '0' && i <= '9');
        assert_int_equal(ascii_is_alnum(c), digit != NULL && c != '+' && c != '/');
        assert_int_equal(ascii_is_alpha(c), digit != NULL && digit - base64 < 52);
        assert_int_equal(ascii_is_blank(c), i != 0 && strchr(" \t", c) != NULL);
        assert_int_equal(ascii_is_space(c), i != 0 && strchr(" \t\r\n", c) != NULL);
        assert_int_equal(ascii_is_html_space(c), i != 0 && strchr(" \t\r\n\f", c) != NULL);
        assert_int_equal(ascii_base64(c), digit != NULL ? digit - base64 : -1);
    }
    assert_int_equal(ascii_hex('0'), 0);
    assert_int_equal(ascii_hex('f'), 15);
    assert_int_equal(ascii_hex('F'), 15);
    assert_int_equal(ascii_hex('g'), -1);
    assert_int_equal(ascii_hex('@'), -1);
    assert_int_equal(ascii_hex('\x10'), -1); /* with bit 0x20 it would be a digit */
    assert_int_equal(ascii_lower('Z'), 'z');
    assert_int_equal(ascii_lower('['), '[');
    assert_int_equal(ascii_lower('\xC4'), '\xC4');
}

static void test_str__split_gives_every_part(void **state UNUSED)
{
    struct str rest = STR("a,,b,");
    const char *want[] = {"a", "", "b", ""};
    size_t n = 0;

    while (!str_is_null(rest))
        assert_str(str_split(&rest, ','), want[n++]);
    assert_int_equal(n, 4);
}

static void test_str__numbers_without_overflow(void **state UNUSED)
{
    int64_t v = 7;

    assert_true(str_to_i64(STR("-9223372036854775808"), &v));
    assert_true(v == INT64_MIN);
    assert_false(str_to_i64(STR("9223372036854775808"), &v));
    assert_false(str_to_i64(STR(""), &v));
    assert_false(str_to_i64(STR("-"), &v));
    assert_false(str_to_i64(STR("1.5"), &v));
    assert_false(str_to_i64(STR("+5"), &v));
    assert_true(v == INT64_MIN);
}

static void test_str__switches_in_any_case(void **state UNUSED)
{
    static const char *const on[] = {"yes", "on", "true", "1", "YES", "On", "True"};
    static const char *const off[] = {"no", "off", "false", "0", "NO", "oFF", "False"};
    static const char *const neither[] = {"", "y", "n", "perhaps", "yes ", "10", "-1", "enabled"};
    bool b = false;

    for (size_t i = 0; i < ARRAY_LEN(on); i++)
        assert_true(switch_read(str_from(on[i]), &b) && b);
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        assert_true(switch_read(str_from(off[i]), &b) && !b);
    b = true;
    for (size_t i = 0; i < ARRAY_LEN(neither); i++)
        assert_false(switch_read(str_from(neither[i]), &b));
    assert_true(b);
}

static void test_str__utf8_valid_stops_at_the_first_bad_byte(void **state UNUSED)
{
    static const struct {
        const char *text;
        size_t len, valid;
    } rows[] = {
        {"abc", 3, 3},
        {"\xE2\x98\x83", 3, 3},
        {"a\xF0\x9F\x98\x80", 5, 5},
        {"a\x80", 2, 1},
        {"\xC0\x80", 2, 0},
        {"\xED\xA0\x80", 3, 0},
        {"\xF4\x90\x80\x80", 4, 0},
        {"ab\xE2\x98", 4, 2},
        {"\xE0\x80\x80", 3, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(str_utf8_valid(str_of(rows[i].text, rows[i].len)), rows[i].valid);
}

static void test_str__slice_and_trim_clamp(void **state UNUSED)
{
    assert_str(str_slice(STR("abc"), 1, 99), "bc");
    assert_str(str_slice(STR("abc"), 5, 2), "");
    assert_str(str_trim(STR(" \t\r\n x y \f")), "x y");
    assert_str(str_trim(STR("   ")), "");
}

/* Every length with every place of the first hit, and another hit behind it. */
static void test_scan__finds_the_first_of_every_length_and_place(void **state UNUSED)
{
    char bytes[64];

    for (size_t len = 0; len <= sizeof bytes; len++) {
        memset(bytes, 'a', sizeof bytes);
        assert_ptr_equal(scan_non_ascii(bytes, bytes + len), bytes + len);
        for (size_t at = len; at-- > 0;) {
            bytes[at] = (char)0xC3;
            assert_ptr_equal(scan_non_ascii(bytes, bytes + len), bytes + at);
            assert_ptr_equal(scan_beyond_latin1(bytes, bytes + len), bytes + len);
            assert_int_equal(str_utf8_valid(str_of(bytes, len)), at);
        }
    }
}

static void test_digits__as_printf(void **state UNUSED)
{
    const int64_t numbers[] = {0, 1, -1, 9, 10, 99, 100, -12345, INT32_MAX, INT64_MAX, INT64_MIN};
    char ours[DIGITS_MAX + 1], printed[DIGITS_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        snprintf(printed, sizeof printed, "%" PRId64, numbers[i]);
        ours[digits_write(ours, numbers[i])] = '\0';
        assert_string_equal(printed, ours);
    }
    *digits_pad(ours, 6, 1203) = '\0';
    assert_string_equal("001203", ours);
    *digits_pad(ours, 2, 1203) = '\0';
    assert_string_equal("03", ours);
}

static void test_str__beginning_cuts_no_character(void **state UNUSED)
{
    static const struct {
        size_t max, len;
    } rows[] = {{0, 0}, {1, 1}, {2, 1}, {3, 3}, {4, 3}, {5, 3}, {6, 6}, {7, 7}, {8, 7}, {99, 7}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) /* of one, two, three bytes, and one */
        assert_int_equal(rows[i].len, str_beginning(STR("a\xC3\xA4\xE2\x82\xAC"
                                                        "b"),
                                                    rows[i].max)
                                          .len);
    assert_true(str_is_null(str_beginning(STR_NULL, 5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str__null_and_empty_differ),
        cmocka_unit_test(test_str__case_folds_ascii_only),
        cmocka_unit_test(test_ascii__each_byte_has_its_classes),
        cmocka_unit_test(test_str__split_gives_every_part),
        cmocka_unit_test(test_str__numbers_without_overflow),
        cmocka_unit_test(test_str__switches_in_any_case),
        cmocka_unit_test(test_str__utf8_valid_stops_at_the_first_bad_byte),
        cmocka_unit_test(test_str__beginning_cuts_no_character),
        cmocka_unit_test(test_str__slice_and_trim_clamp),
        cmocka_unit_test(test_scan__finds_the_first_of_every_length_and_place),
        cmocka_unit_test(test_digits__as_printf),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
