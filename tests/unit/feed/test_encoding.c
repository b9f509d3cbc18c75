
#include "base/buf.h"
#include "base/compiler.h"
#include "feed/read/encoding.h"
#include "tests/unit/cmocka_all.h"

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

static void test_encoding__utf8_without_a_word(void **state UNUSED)
{
    check(STR("<a>ü</a>"), NULL, "<a>ü</a>", "utf-8", false);
}

static void test_encoding__declaration_is_heard(void **state UNUSED)
{
    check(STR("<?xml version='1.0' encoding='KOI8-R'?><a>\xC1</a>"), NULL,
          "<?xml version='1.0' encoding='KOI8-R'?><a>а</a>", "koi8-r", false);
}

static void test_encoding__charset_parameter_wins_over_declaration(void **state UNUSED)
{
    check(STR("<?xml encoding='utf-8'?><a>\xE4</a>"), "application/xml; charset=\"iso-8859-1\"",
          "<?xml encoding='utf-8'?><a>ä</a>", "iso-8859-1", false);
}

static void test_encoding__mark_wins_over_all(void **state UNUSED)
{
    check(STR("\xEF\xBB\xBF<a>ü</a>"), "text/xml; charset=iso-8859-1", "<a>ü</a>", "utf-8", false);
}

static void test_encoding__utf16_with_and_without_mark(void **state UNUSED)
{
    check(STR("\xFF\xFE<\0a\0>\0\xFC\0"), NULL, "<a>ü", "utf-16le", false);
    check(STR("\0<\0a\0>\0\xFC"), NULL, "<a>ü", "utf-16be", false);
}

static void test_encoding__wrong_declaration_is_passed_over(void **state UNUSED)
{
    check(STR("<?xml encoding='us-ascii'?>ü"), NULL, "<?xml encoding='us-ascii'?>ü", "utf-8", true);
    check(STR("<?xml encoding='x-none'?>ü"), NULL, "<?xml encoding='x-none'?>ü", "utf-8", true);
}

/* Places count, not bytes: three broken bytes in a row are one place. */
static void test_encoding__utf8_with_a_broken_place(void **state UNUSED)
{
    check(STR("<?xml version='1.0' encoding='utf-8'?><a>Caf\u00E9 \u2013 na\u00EFve "
              "\u201Cd\u00E9j\u00E0 vu\u201D ma\u00F1ana x\xff\xfe\xe2( y</a>"),
          NULL,
          "<?xml version='1.0' encoding='utf-8'?><a>Caf\u00E9 \u2013 na\u00EFve "
          "\u201Cd\u00E9j\u00E0 vu\u201D ma\u00F1ana x\u00FF\u00FE\u00E2( y</a>",
          "utf-8", true);
    check(STR("<?xml version='1.0' encoding='utf-8'?><a>Caf\u00E9\u2013na\u00EFve\u00E0"
              "\xff\xfe\xe2( y</a>"),
          NULL,
          "<?xml version='1.0' encoding='utf-8'?><a>Caf\u00E9\u2013na\u00EFve\u00E0"
          "\u00FF\u00FE\u00E2( y</a>",
          "utf-8", true);
}

static void test_encoding__utf8_declaration_over_single_bytes(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(decoded_release) struct decoded d;

    decode_document(&a, STR("<?xml encoding='utf-8'?><a>caf\xE9 d'\xE9t\xE9</a>"), STR_NULL, &d);
    assert_false(str_is_null(d.why));
    assert_int_equal(str_utf8_valid(d.text), d.text.len);
    assert_true(str_find(d.text, STR("café")) >= 0);
}

static void test_encoding__few_bad_bytes_in_utf8(void **state UNUSED)
{
    check(STR("üüüüü \x93quoted\x94 ööö"), NULL, "üüüüü “quoted” ööö", "utf-8", true);
}

/* Half a character at the end, and a surrogate alone: all else is read. */
static void test_encoding__utf16_with_what_is_no_character(void **state UNUSED)
{
    static const char be[] = "\xFE\xFF\0<\0a\xD8\x00\0b\0>\0", le[] = "<\0a\0>\0x";

    check(str_of(be, sizeof be - 1), NULL,
          "<a\xEF\xBF\xBD"
          "b>\xEF\xBF\xBD",
          "utf-16be", true);
    check(str_of(le, sizeof le - 1), NULL, "<a>\xEF\xBF\xBD", "utf-16le", true);
    check(STR("\xFF\xFE\0\0<\0\0\0\0\xD8\0\0>\0\0\0x"), NULL, "<\xEF\xBF\xBD>\xEF\xBF\xBD",
          "utf-32le", true);
}

static void test_encoding__names_from_outside_reach_no_iconv_option(void **state UNUSED)
{
    check(STR("<?xml encoding='utf-16//IGNORE'?>a"), NULL, "<?xml encoding='utf-16//IGNORE'?>a",
          "utf-8", true);
}

static void test_encoding__name_of_any_bytes_makes_a_valid_reason(void **state UNUSED)
{
    static const char *const bodies[] = {"<?xml encoding='b\xC7gus'?><a/>",
                                         "<?xml encoding='b\x01'?>"};

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

static void test_encoding__charset_of_content_type(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    assert_true(
        str_eqz(content_type_charset(&a, STR("text/xml; Charset = 'UTF-8' ; q=1")), "utf-8"));
    assert_true(str_is_null(content_type_charset(&a, STR("text/xml; qs=0.9"))));
}

/* Labels of browsers, of libraries and of registries, whatever their punctuation. */
static void test_encoding__names_of_charsets(void **state UNUSED)
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

/* Every label of the WHATWG Encoding standard but those of wide and of refused encodings. */
static void test_encoding__labels_of_browsers(void **state UNUSED)
{
    struct str rest =
        STR("unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8 866 cp866 "
            "csibm866 ibm866 csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 "
            "iso_8859-2:1987 l2 latin2 csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 "
            "iso_8859-3 iso_8859-3:1988 l3 latin3 csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 "
            "iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4 csisolatincyrillic cyrillic "
            "iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988 arabic asmo-708 "
            "csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
            "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987 "
            "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 "
            "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek csiso88598e csisolatinhebrew "
            "hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
            "iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical csisolatin6 iso-8859-10 "
            "iso-ir-157 iso8859-10 iso885910 l6 latin6 iso-8859-13 iso8859-13 iso885913 "
            "iso-8859-14 iso8859-14 iso885914 csisolatin9 iso-8859-15 iso8859-15 iso885915 "
            "iso_8859-15 l9 iso-8859-16 cskoi8r koi koi8 koi8-r koi8_r koi8-ru koi8-u "
            "csmacintosh mac macintosh x-mac-roman dos-874 iso-8859-11 iso8859-11 iso885911 "
            "tis-620 windows-874 cp1250 windows-1250 x-cp1250 cp1251 windows-1251 x-cp1251 "
            "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 "
            "iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 "
            "x-cp1252 cp1253 windows-1253 x-cp1253 cp1254 csisolatin5 iso-8859-9 iso-ir-148 "
            "iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254 "
            "cp1255 windows-1255 x-cp1255 cp1256 windows-1256 x-cp1256 cp1257 windows-1257 "
            "x-cp1257 cp1258 windows-1258 x-cp1258 x-mac-cyrillic x-mac-ukrainian chinese "
            "csgb2312 csiso58gb231280 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030 big5 "
            "big5-hkscs cn-big5 csbig5 x-x-big5 cseucpkdfmtjapanese euc-jp x-euc-jp csiso2022jp "
            "iso-2022-jp csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis "
            "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 "
            "ksc5601 ksc_5601 windows-949");

    while (!str_is_null(rest)) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(decoded_release) struct decoded d;
        struct str label = str_split(&rest, ' ');

        decode_document(&a, str_printf(&a, "<?xml encoding='%.*s'?><a>b</a>", STR_ARG(label)),
                        STR_NULL, &d);
        if (!str_is_null(d.why) || !str_eq(d.encoding, label))
            fail_msg("%.*s", STR_ARG(label));
    }
}

static void test_encoding__unmarked_wide_documents(void **state UNUSED)
{
    check(str_of("{\0\"\0a\0\"\0:\0\x31\0}\0", 14), NULL, "{\"a\":1}", "utf-16le", false);
    check(str_of("\0\n\0<\0a\0/\0>", 10), NULL, "\n<a/>", "utf-16be", false);
    check(str_of("\0\0\0{\0\0\0}", 8), NULL, "{}", "utf-32be", false);
    check(str_of("{\0\0\0}\0\0\0", 8), NULL, "{}", "utf-32le", false);
}

static void test_encoding__zeros_win_over_labels(void **state UNUSED)
{
    const struct str be = str_of("\0<\0a\0/\0>", 8), le = str_of("<\0a\0/\0>\0", 8);

    check(be, "application/xml; charset=utf-16", "<a/>", "utf-16", false);
    check(le, "application/xml; charset=utf-16", "<a/>", "utf-16", false);
    check(be, "application/xml; charset=utf-16be", "<a/>", "utf-16be", false);
    check(be, "application/xml; charset=utf-16le", "<a/>", "utf-16be", true);
    check(le, "application/xml; charset=iso-8859-1", "<a/>", "utf-16le", true);
    check(le, "application/xml; charset=utf-32", "<a/>", "utf-16le", true);
}

/* A server's default for all its files says nothing of this one. */
static void test_encoding__utf8_under_a_latin_parameter(void **state UNUSED)
{
    check(STR("<?xml encoding='utf-8'?><a>ü</a>"), "text/xml; charset=windows-1252",
          "<?xml encoding='utf-8'?><a>ü</a>", "utf-8", true);
    check(STR("<?xml encoding='iso-8859-1'?><a>\xC3\xBC</a>"), "text/xml; charset=windows-1252",
          "<?xml encoding='iso-8859-1'?><a>Ã¼</a>", "windows-1252", false);
    check(STR("<?xml encoding='utf-8'?><a>u</a>"), "text/xml; charset=iso-8859-1",
          "<?xml encoding='utf-8'?><a>u</a>", "iso-8859-1", false);
}

/* A Windows program writes "unicode" into files that it then saves as bytes. */
static void test_encoding__wide_label_on_bytes_is_a_lie(void **state UNUSED)
{
    check(STR("<?xml encoding='unicode'?><a>ü</a>"), NULL, "<?xml encoding='unicode'?><a>ü</a>",
          "utf-8", true);
}

/* A Polish letter in front of each run, from none to beyond all sizes that are handled at once. */
static void test_encoding__single_bytes_between_runs_of_ascii(void **state UNUSED)
{
    static const char xml[] = "<?xml encoding='ISO-8859-2'?>";
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY), want = BUF_INIT(BUF_ANY);

    buf_puts(&in, xml);
    buf_puts(&want, xml);
    for (int n = 0; n < 600; n += n < 140 ? 1 : 37) {
        buf_puts(&in, "\xB1");
        buf_puts(&want, "ą");
        for (int i = 0; i < n; i++) {
            buf_putc(&in, (char)('a' + i % 26));
            buf_putc(&want, (char)('a' + i % 26));
        }
    }
    check(buf_view(&in), NULL, want.ptr, "iso-8859-2", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoding__utf8_without_a_word),
        cmocka_unit_test(test_encoding__names_of_charsets),
        cmocka_unit_test(test_encoding__labels_of_browsers),
        cmocka_unit_test(test_encoding__unmarked_wide_documents),
        cmocka_unit_test(test_encoding__zeros_win_over_labels),
        cmocka_unit_test(test_encoding__utf8_under_a_latin_parameter),
        cmocka_unit_test(test_encoding__wide_label_on_bytes_is_a_lie),
        cmocka_unit_test(test_encoding__declaration_is_heard),
        cmocka_unit_test(test_encoding__charset_parameter_wins_over_declaration),
        cmocka_unit_test(test_encoding__mark_wins_over_all),
        cmocka_unit_test(test_encoding__utf16_with_and_without_mark),
        cmocka_unit_test(test_encoding__wrong_declaration_is_passed_over),
        cmocka_unit_test(test_encoding__utf8_with_a_broken_place),
        cmocka_unit_test(test_encoding__utf8_declaration_over_single_bytes),
        cmocka_unit_test(test_encoding__few_bad_bytes_in_utf8),
        cmocka_unit_test(test_encoding__utf16_with_what_is_no_character),
        cmocka_unit_test(test_encoding__names_from_outside_reach_no_iconv_option),
        cmocka_unit_test(test_encoding__name_of_any_bytes_makes_a_valid_reason),
        cmocka_unit_test(test_encoding__charset_of_content_type),
        cmocka_unit_test(test_encoding__single_bytes_between_runs_of_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
