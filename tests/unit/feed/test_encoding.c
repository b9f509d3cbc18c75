#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "feed/encoding.h"

static void check(struct str body, const char *content_type, const char *want_text,
                  const char *want_encoding, bool is_doubtful)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(decoded_release) struct decoded d;

    decode_document(&a, body, str_from(content_type), &d);
    if (!str_eqz(d.text, want_text))
        fail_msg("text %.*s, not %s", STR_ARG(d.text), want_text);
    if (!str_eqz(d.encoding, want_encoding))
        fail_msg("encoding %.*s, not %s", STR_ARG(d.encoding), want_encoding);
    assert_int_equal(!str_is_null(d.why), is_doubtful);
}

static void test_encoding__utf8_without_a_word(void **state)
{
    (void)state;
    check(STR("<a>ü</a>"), NULL, "<a>ü</a>", "utf-8", false);
}

static void test_encoding__declaration_is_heard(void **state)
{
    (void)state;
    check(STR("<?xml version='1.0' encoding='KOI8-R'?><a>\xC1</a>"), NULL,
          "<?xml version='1.0' encoding='KOI8-R'?><a>а</a>", "koi8-r", false);
}

static void test_encoding__charset_parameter_wins_over_declaration(void **state)
{
    (void)state;
    check(STR("<?xml encoding='utf-8'?><a>\xE4</a>"), "application/xml; charset=\"iso-8859-1\"",
          "<?xml encoding='utf-8'?><a>ä</a>", "iso-8859-1", false);
}

static void test_encoding__mark_wins_over_all(void **state)
{
    (void)state;
    check(STR("\xEF\xBB\xBF<a>ü</a>"), "text/xml; charset=iso-8859-1", "<a>ü</a>", "utf-8", false);
}

static void test_encoding__utf16_with_and_without_mark(void **state)
{
    (void)state;
    check(STR("\xFF\xFE<\0a\0>\0\xFC\0"), NULL, "<a>ü", "utf-16le", false);
    check(STR("\0<\0a\0>\0\xFC"), NULL, "<a>ü", "utf-16be", false);
}

static void test_encoding__wrong_declaration_is_passed_over(void **state)
{
    (void)state;
    check(STR("<?xml encoding='us-ascii'?>ü"), NULL, "<?xml encoding='us-ascii'?>ü", "utf-8", true);
    check(STR("<?xml encoding='x-none'?>ü"), NULL, "<?xml encoding='x-none'?>ü", "utf-8", true);
}

static void test_encoding__utf8_declaration_over_single_bytes(void **state)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(decoded_release) struct decoded d;

    (void)state;
    decode_document(&a, STR("<?xml encoding='utf-8'?><a>caf\xE9 d'\xE9t\xE9</a>"), STR_NULL, &d);
    assert_false(str_is_null(d.why));
    assert_int_equal(str_utf8_valid(d.text), d.text.len);
    assert_true(str_find(d.text, STR("café")) >= 0);
}

static void test_encoding__few_bad_bytes_in_utf8(void **state)
{
    (void)state;
    check(STR("üüüüü \x93quoted\x94 ööö"), NULL, "üüüüü “quoted” ööö", "utf-8", true);
}

/* Half a character at the end, and a surrogate alone: all else is read. */
static void test_encoding__utf16_with_what_is_no_character(void **state)
{
    static const char be[] = "\xFE\xFF\0<\0a\xD8\x00\0b\0>\0", le[] = "<\0a\0>\0x";

    (void)state;
    check(str_of(be, sizeof be - 1), NULL,
          "<a\xEF\xBF\xBD"
          "b>\xEF\xBF\xBD",
          "utf-16be", true);
    check(str_of(le, sizeof le - 1), NULL, "<a>\xEF\xBF\xBD", "utf-16le", true);
    check(STR("\xFF\xFE\0\0<\0\0\0\0\xD8\0\0>\0\0\0x"), NULL, "<\xEF\xBF\xBD>\xEF\xBF\xBD",
          "utf-32le", true);
}

static void test_encoding__names_from_outside_reach_no_iconv_option(void **state)
{
    (void)state;
    check(STR("<?xml encoding='utf-16//IGNORE'?>a"), NULL, "<?xml encoding='utf-16//IGNORE'?>a",
          "utf-8", true);
}

static void test_encoding__name_of_any_bytes_makes_a_valid_reason(void **state)
{
    static const char *const bodies[] = {"<?xml encoding='b\xC7gus'?><a/>",
                                         "<?xml encoding='b\x01'?>"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(decoded_release) struct decoded d;

        decode_document(&a, str_from(bodies[i]), i == 0 ? STR_NULL : STR("text/xml; charset=\xFF"),
                        &d);
        assert_false(str_is_null(d.why));
        assert_true(str_find(d.why, i == 0 ? STR("b?gus") : STR(" ? ")) > 0);
        assert_int_equal(str_utf8_valid(d.why), d.why.len);
        assert_int_equal(str_utf8_valid(d.encoding), d.encoding.len);
    }
}

static void test_encoding__charset_of_content_type(void **state)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    (void)state;
    assert_true(
        str_eqz(content_type_charset(&a, STR("text/xml; Charset = 'UTF-8' ; q=1")), "utf-8"));
    assert_true(str_is_null(content_type_charset(&a, STR("text/xml; qs=0.9"))));
}

/* Labels of browsers, of libraries and of registries, whatever their punctuation. */
static void test_encoding__names_of_charsets(void **state)
{
    static const struct {
        const char *label, *byte, *text;
    } rows[] = {
        {"ISO_8859-9:1989", "\xFD", "ı"},
        {"iso_8859_2", "\xB1", "ą"},
        {"l4", "\xB3", "ŗ"},
        {"x-cp1251", "\xC0", "А"},
        {"1251", "\xC0", "А"},
        {"windows_1253", "\xC1", "Α"},
        {"csPTCP154", "\x82", "Ӯ"},
        {"kz-1048", "\xA1", "Ұ"},
        {"dos-874", "\xA1", "ก"},
        {"iso-8859-11", "\xA1", "ก"},
        {"Mac_Greek", "\xB0", "Α"},
        {"x-mac-turkish", "\xDA", "Ğ"},
        {"maciceland", "\xDC", "Ð"},
        {"x-mac-ukrainian", "\xA2", "Ґ"},
        {"korean", "\xB0\xA1", "가"},
        {"ks_c_5601-1989", "\xB0\xA1", "가"},
        {"ms_kanji", "\x82\xA0", "あ"},
        {"windows-31j", "\x82\xA0", "あ"},
        {"x-euc-jp", "\xA4\xA2", "あ"},
        {"iso_ir_58", "\xB0\xA1", "啊"},
        {"x-x-big5", "\xA4@", "一"},
        {"ISO2022_JP", "\x1B$B$\"\x1B(B", "あ"},
        {"ASMO-708", "\xC7", "ا"},
        {"visual", "\xE0", "א"},
        {"sun_eu_greek", "\xC1", "Α"},
        {"ruscii", "\x80", "А"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(decoded_release) struct decoded d;
        struct str body =
            str_printf(&a, "<?xml encoding='%s'?><a>%s</a>", rows[i].label, rows[i].byte);

        decode_document(&a, body, STR_NULL, &d);
        if (!str_is_null(d.why) || str_find(d.text, str_from(rows[i].text)) < 0)
            fail_msg("%s: %.*s", rows[i].label, STR_ARG(d.text));
    }
}

static void test_encoding__unmarked_wide_documents(void **state)
{
    (void)state;
    check(str_of("{\0\"\0a\0\"\0:\0\x31\0}\0", 14), NULL, "{\"a\":1}", "utf-16le", false);
    check(str_of("\0\n\0<\0a\0/\0>", 10), NULL, "\n<a/>", "utf-16be", false);
    check(str_of("\0\0\0{\0\0\0}", 8), NULL, "{}", "utf-32be", false);
    check(str_of("{\0\0\0}\0\0\0", 8), NULL, "{}", "utf-32le", false);
}

static void test_encoding__zeros_win_over_labels(void **state)
{
    const struct str be = str_of("\0<\0a\0/\0>", 8), le = str_of("<\0a\0/\0>\0", 8);

    (void)state;
    check(be, "application/xml; charset=utf-16", "<a/>", "utf-16", false);
    check(le, "application/xml; charset=utf-16", "<a/>", "utf-16", false);
    check(be, "application/xml; charset=utf-16be", "<a/>", "utf-16be", false);
    check(be, "application/xml; charset=utf-16le", "<a/>", "utf-16be", true);
    check(le, "application/xml; charset=iso-8859-1", "<a/>", "utf-16le", true);
    check(le, "application/xml; charset=utf-32", "<a/>", "utf-16le", true);
}

/* A server's default for all its files says nothing of this one. */
static void test_encoding__utf8_under_a_latin_parameter(void **state)
{
    (void)state;
    check(STR("<?xml encoding='utf-8'?><a>ü</a>"), "text/xml; charset=windows-1252",
          "<?xml encoding='utf-8'?><a>ü</a>", "utf-8", true);
    check(STR("<?xml encoding='iso-8859-1'?><a>\xC3\xBC</a>"), "text/xml; charset=windows-1252",
          "<?xml encoding='iso-8859-1'?><a>Ã¼</a>", "windows-1252", false);
    check(STR("<?xml encoding='utf-8'?><a>u</a>"), "text/xml; charset=iso-8859-1",
          "<?xml encoding='utf-8'?><a>u</a>", "iso-8859-1", false);
}

/* A Windows program writes "unicode" into files that it then saves as bytes. */
static void test_encoding__wide_label_on_bytes_is_a_lie(void **state)
{
    (void)state;
    check(STR("<?xml encoding='unicode'?><a>ü</a>"), NULL, "<?xml encoding='unicode'?><a>ü</a>",
          "utf-8", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoding__utf8_without_a_word),
        cmocka_unit_test(test_encoding__names_of_charsets),
        cmocka_unit_test(test_encoding__unmarked_wide_documents),
        cmocka_unit_test(test_encoding__zeros_win_over_labels),
        cmocka_unit_test(test_encoding__utf8_under_a_latin_parameter),
        cmocka_unit_test(test_encoding__wide_label_on_bytes_is_a_lie),
        cmocka_unit_test(test_encoding__declaration_is_heard),
        cmocka_unit_test(test_encoding__charset_parameter_wins_over_declaration),
        cmocka_unit_test(test_encoding__mark_wins_over_all),
        cmocka_unit_test(test_encoding__utf16_with_and_without_mark),
        cmocka_unit_test(test_encoding__wrong_declaration_is_passed_over),
        cmocka_unit_test(test_encoding__utf8_declaration_over_single_bytes),
        cmocka_unit_test(test_encoding__few_bad_bytes_in_utf8),
        cmocka_unit_test(test_encoding__utf16_with_what_is_no_character),
        cmocka_unit_test(test_encoding__names_from_outside_reach_no_iconv_option),
        cmocka_unit_test(test_encoding__name_of_any_bytes_makes_a_valid_reason),
        cmocka_unit_test(test_encoding__charset_of_content_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
