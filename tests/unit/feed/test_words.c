/* Words are cut and folded so that both sides of a search agree; terms hold all that can be asked.
 */
#include "../cmocka_all.h"

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "feed/words/likeness.h"
#include "feed/words/terms.h"

static struct arena arena;

/* The words with a space between them; joined characters have a `+` in front. */
static const char *cut(struct str text)
{
    struct words w = words_cut(&arena, text, 1 << 20);
    struct str out = STR("");

    for (size_t i = 0; i < w.n; i++)
        out = str_printf(&arena, "%.*s%s%s%.*s", STR_ARG(out), i == 0 ? "" : " ",
                         w.list[i].is_joined ? "+" : "", STR_ARG(w.list[i].text));
    return str_z(&arena, out);
}

static const char *cutz(const char *text)
{
    return cut(str_from(text));
}

/* VIEW-02 */
static void test_words__case_and_diacritics_are_folded(void **state UNUSED)
{
    assert_string_equal(cutz("Café CAFE\xCC\x81 naïve"), "cafe cafe naive");
    assert_string_equal(cutz("STRASSE Straße"), "strasse strasse");
    assert_string_equal(cutz("Ёлка Ѝ Άνθρωπος ς"), "елка и ανθρωποσ σ");
    assert_string_equal(cutz("מַיִם مُحَمَّد"), "מים محمد");
    assert_string_equal(cutz("ﬁx Ａｂｃ 𝐁old"), "fix abc bold");
}

/* Words of common letters are folded without the library. An Armenian letter at the end needs it
 * for the whole word: the result must be the same. */
static void test_words__common_letters_are_folded_as_all_others(void **state UNUSED)
{
    for (uint32_t c = 0x80; c < 0x3000; c++) {
        struct arena_mark mark = arena_mark(&arena);
        struct buf b = BUF_INIT(32);
        struct words quick, slow;

        buf_putc(&b, 'X');
        buf_utf8(&b, c);
        quick = words_cut(&arena, str_dup(&arena, buf_view(&b)), 32);
        buf_puts(&b, "\xD5\xB1");
        slow = words_cut(&arena, buf_view(&b), 32);
        if (quick.n == 1 && slow.n == 1 &&
            !str_eq(slow.list[0].text, str_concat(&arena, quick.list[0].text, STR("\xD5\xB1"))))
            fail_msg("U+%04X: %.*s, %.*s", (unsigned)c, STR_ARG(quick.list[0].text),
                     STR_ARG(slow.list[0].text));
        buf_release(&b);
        arena_rewind(&arena, mark);
    }
}

static void test_words__marks_of_other_scripts_stay(void **state UNUSED)
{
    assert_string_equal(cutz("हिन्दी தமிழ்"), "हिन्दी தமிழ்");
    assert_string_equal(cutz("한국어 \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), "한국어 한");
}

static void test_words__what_is_no_letter_or_digit_divides(void **state UNUSED)
{
    assert_string_equal(cutz("don’t l'homme 3.14 foo_bar ex-wife C++"),
                        "don t l homme 3 14 foo bar ex wife c");
    assert_string_equal(cutz(""), "");
    assert_string_equal(cutz("\xCC\x81 ... !"), "");
    assert_string_equal(cutz("soft\xC2\xADhyphen"), "softhyphen");
    assert_string_equal(cutz("so😀so"), "so 😀 so");
}

/* VIEW-13 */
static void test_words__scripts_without_spaces_are_cut_into_characters(void **state UNUSED)
{
    assert_string_equal(cutz("東京都、カナ"), "東 +京 +都 カ +ナ");
    assert_string_equal(cutz("ｶﾞﾗｽ ガラス"), "ガ +ラ +ス ガ +ラ +ス");
    assert_string_equal(cutz("iPhone東京2020"), "iphone 東 +京 2020");
    assert_string_equal(cutz("ไทย ລາວ"), "ไ +ท +ย ລ +າ +ວ");
    assert_string_equal(cutz("ខ្មែ မြ"), "ខ +្ +ម +ែ မ +ြ");
}

static void test_words__bytes_that_are_not_utf8_divide(void **state UNUSED)
{
    assert_string_equal(cut(STR("a\xFF"
                                "b\xC3")),
                        "a b");
    assert_string_equal(cut(STR("x\xED\xA0\x80y\xC0\xAFz\xF4\x90\x80\x80")), "x y z");
    assert_string_equal(cut(STR("a\0b")), "a b");
}

/* a word in the index can be asked for as it is */
static void test_words__a_word_is_cut_into_itself(void **state UNUSED)
{
    for (uint32_t c = 1; c < 0x110000; c++) {
        struct arena_mark mark = arena_mark(&arena);
        struct buf b = BUF_INIT(16);
        struct words w;

        buf_putc(&b, 'a');
        buf_putc(&b, ' ');
        buf_utf8(&b, c);
        w = words_cut(&arena, buf_view(&b), 16);
        for (size_t i = 0; i < w.n; i++) {
            struct words again = words_cut(&arena, w.list[i].text, 256);

            if (again.n != 1 || !str_eq(again.list[0].text, w.list[i].text) ||
                again.list[0].is_single != w.list[i].is_single)
                fail_msg("U+%04X gives \"%.*s\", which is cut otherwise", (unsigned)c,
                         STR_ARG(w.list[i].text));
            for (size_t k = 0; k < w.list[i].text.len; k++) {
                unsigned char ch = (unsigned char)w.list[i].text.ptr[k];

                assert_true(ch >= 0x80 || (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9'));
            }
        }
        buf_release(&b);
        arena_rewind(&arena, mark);
    }
}

static void test_words__lengths_are_bounded(void **state UNUSED)
{
    char text[10000];
    struct words w;

    memset(text, 'X', sizeof text);
    w = words_cut(&arena, str_of(text, sizeof text), sizeof text);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.list[0].text.len, WORD_MAX);
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    w = words_cut(&arena, str_of(text, sizeof text), sizeof text);
    assert_int_equal(w.n, 1);
    assert_true(w.list[0].text.len <= WORD_MAX);
    assert_string_equal(cut(str_of("one two three", 13)), "one two three");
    w = words_cut(&arena, STR("one two three"), 7);
    assert_int_equal(w.n, 2);
    w = words_cut(&arena, STR("a 東"), 3); /* within a character */
    assert_int_equal(w.n, 1);
}

static void test_words__values_are_compared_without_case(void **state UNUSED)
{
    assert_true(str_eqz(words_fold_value(&arena, STR("  John \n Q.  Smith ")), "john q. smith"));
    assert_true(
        str_eq(words_fold_value(&arena, STR("ÉCOLE")), words_fold_value(&arena, STR("e\xCC\x81"
                                                                                    "cole"))));
    assert_false(
        str_eq(words_fold_value(&arena, STR("école")), words_fold_value(&arena, STR("ecole"))));
    assert_true(str_eqz(words_fold_value(&arena, STR("\xFF")), "\xFF"));
}

/* ---------------------------------------------------------------- terms */

static struct str_list terms(const char *doc, const char *link)
{
    struct revision rev = {
        .kind = REV_NEW, .doc = str_from(doc), .link = str_from(link), .ext = STR("")};

    return terms_of_revision(&arena, &rev);
}

static bool has(struct str_list list, struct str term)
{
    for (size_t i = 0; i < list.n; i++)
        if (str_eq(list.list[i], term))
            return true;
    return false;
}

static const char *const whole =
    "{\"title\":\"A Title &amp; more\",\"summary\":\"<p>Some<br>summary</p>\","
    "\"content\":[{\"type\":\"text/html\",\"value\":\"<b>東京</b>tower <i title='hidden'>x</i>\"},"
    "{\"type\":\"text/plain\",\"value\":\"plain <b> text\"},"
    "{\"type\":\"image/png\",\"value\":\"binary\"}],"
    "\"authors\":[{\"name\":\"Ann Äther\"},{\"email\":\"bob@example.org\"}],"
    "\"tags\":[{\"term\":\"News\",\"label\":\"All the news\"}],\"language\":\"de-CH-1996\","
    "\"links\":[{\"rel\":\"enclosure\",\"type\":\"audio/mpeg\",\"href\":\"http://x/a\"}],"
    "\"media_content\":[{\"medium\":\"video\",\"url\":\"http://x/v\"},{\"url\":\"http://x/"
    "p.JPG?x\"}]}";

static void test_terms__hold_all_that_can_be_asked(void **state UNUSED)
{
    struct str_list t = terms(whole, "http://www.example.org/a?utm_source=x&id=1#top");
    static const char *const words[] = {"a",  "title", "more", "some", "summary", "東京",
                                        "京", "tower", "x",    "b",    "plain",   "text"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!has(t, str_from(words[i])))
            fail_msg("no term %s", words[i]);
    assert_true(has(t, term_of_author(&arena, STR("ANN ÄTHER"))));
    assert_true(has(t, term_of_author(&arena, STR("bob@example.org"))));
    assert_true(has(t, term_of_author_word(&arena, STR("ather"))));
    assert_false(has(t, term_no_author));
    assert_true(has(t, term_of_category(&arena, STR("news"))));
    assert_true(has(t, term_of_category(&arena, STR("all the news"))));
    assert_true(has(t, term_of_lang(&arena, STR("DE"))));
    assert_true(has(t, term_of_lang(&arena, STR("de-ch"))));
    assert_false(has(t, term_of_lang(&arena, STR("de-c"))));
    assert_false(has(t, term_no_lang));
    for (size_t i = 0; i < ENTRY_HAS_KINDS; i++)
        assert_true(has(t, term_of_has(&arena, i)));
    assert_true(has(t, term_of_link(&arena, STR("https://example.org/a?id=1&fbclid=2"))));
    assert_false(has(t, term_of_link(&arena, STR("https://example.org/a?id=2"))));
    assert_true(has(t, term_of_title(&arena, (struct entry_text){STR("a title: more"), true})));
}

static void test_terms__hold_no_more(void **state UNUSED)
{
    static const char *const others[] = {"hidden", "br",   "amp", "binary",
                                         "ann",    "news", "東",  "audio"};
    struct str_list t = terms(whole, NULL);

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (has(t, str_from(others[i])))
            fail_msg("a term %s", others[i]);
    for (size_t i = 1; i < t.n; i++)
        assert_true(str_cmp(t.list[i - 1], t.list[i]) < 0);
    for (size_t i = 0; i < t.n; i++)
        assert_in_range(t.list[i].len, 1, TERM_MAX);
}

/* Who changes what a revision's terms are raises TERMS_CUT, and writes the new hash here. */
static void test_terms__of_a_cut_stay(void **state UNUSED)
{
    static const char *const hash_of_cut[] = {[1] = "9e673d4a7a4901a80ea3048f5656f60f"};
    struct str_list t = terms(whole, "http://www.example.org/a?utm_source=x&id=1#top");
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    unsigned char hash[16];
    char hex[33];

    for (size_t i = 0; i < t.n; i++)
        buf_printf(&all, "%.*s ", STR_ARG(t.list[i]));
    digest_content(buf_view(&all), hash);
    digest_hex(hash, sizeof hash, hex);
    assert_string_equal(hash_of_cut[TERMS_CUT], hex);
}

static void test_terms__of_entries_that_say_little(void **state UNUSED)
{
    struct str_list t = terms("{}", NULL);
    struct revision deleted = {.kind = REV_DELETED, .doc = STR("")};

    assert_int_equal(t.n, 2);
    assert_true(has(t, term_no_author) && has(t, term_no_lang));
    assert_int_equal(terms("{ not json", "").n, 2);
    assert_int_equal(terms_of_revision(&arena, &deleted).n, 0);
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

/* VIEW-06: links are compared by their canonical form, without what only tells where a reader came
 * from */
static void test_words__links_are_alike(void **state UNUSED)
{
    static const char *const same[][2] = {
        {"http://h.example/s", "HTTP://H.Example:80/s#top"},
        {"http://h.example/s", "http://h.example/s?utm_source=a&utm_Medium=b"},
        {"http://h.example/s?id=1", "http://h.example/s?fbclid=x&id=1&gclid=y"},
        {"https://h.example/a/s", "https://h.example:443/b/../a/./s "},
        {"http://h.example", "http://h.example/"},
        {"http://h.example/\xc3\xa9", "http://h.example/%C3%A9"},
        {"http://b\xc3\xbc"
         "cher.example/s",
         "http://xn--bcher-kva.example/s"},
        {"urn:x:1", "urn:x:1#a"},
    };
    static const char *const other[][2] = {
        {"http://h.example/s?id=1", "http://h.example/s?id=2"},
        {"http://h.example/s", "https://h.example/s"},
        {"http://h.example/s", "http://h.example/S"},
        {"http://h.example/s", "http://h.example:81/s"},
        {"http://h.example/s", "http://www.h.example/s"},
        {"http://h.example/s?utm=1", "http://h.example/s"},
        {"http://h.example//s", "http://h.example/s"},
    };

    for (size_t i = 0; i < ARRAY_LEN(same) + ARRAY_LEN(other); i++) {
        const char *const *pair = i < ARRAY_LEN(same) ? same[i] : other[i - ARRAY_LEN(same)];
        struct revision x = {.link = str_from(pair[0])}, y = {.link = str_from(pair[1])};
        struct like_key a, b;

        assert_true(likeness_link.key(&arena, &x, &a));
        assert_true(likeness_link.key(&arena, &y, &b));
        if (str_eq(a.text, b.text) != (i < ARRAY_LEN(same)))
            fail_msg("%s and %s: %.*s, %.*s", pair[0], pair[1], STR_ARG(a.text), STR_ARG(b.text));
        if (i < ARRAY_LEN(same))
            assert_true(str_eq(a.term, b.term));
    }
}

/* VIEW-06 */
static void test_words__titles_are_alike(void **state UNUSED)
{
    static const struct {
        const char *doc;
        bool is_like;
    } others[] = {
        {"{\"title\": \"THE  new C++ \"}", true},
        {"{\"title\": \"<b>The</b> new C++\"}", true},
        {"{\"title\": \"The new C#\"}", false},
        {"{\"title\": \"The new\"}", false},
    };
    struct revision x = {.doc = STR("{\"title\": \"The new C++\"}")}, none;
    struct like_key a, b;

    assert_true(likeness_title.key(&arena, &x, &a));
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct revision y = {.doc = str_from(others[i].doc)};

        assert_true(likeness_title.key(&arena, &y, &b));
        if (str_eq(a.text, b.text) != others[i].is_like)
            fail_msg("%s", others[i].doc);
    }
    none = (struct revision){.doc = STR("{\"title\": \"...\"}")};
    assert_false(likeness_title.key(&arena, &none, &b));
    none = (struct revision){.doc = STR("{}"), .link = STR(" #a")};
    assert_false(likeness_title.key(&arena, &none, &b));
    assert_false(likeness_link.key(&arena, &none, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words__case_and_diacritics_are_folded),
        cmocka_unit_test(test_words__common_letters_are_folded_as_all_others),
        cmocka_unit_test(test_words__marks_of_other_scripts_stay),
        cmocka_unit_test(test_words__what_is_no_letter_or_digit_divides),
        cmocka_unit_test(test_words__scripts_without_spaces_are_cut_into_characters),
        cmocka_unit_test(test_words__bytes_that_are_not_utf8_divide),
        cmocka_unit_test(test_words__a_word_is_cut_into_itself),
        cmocka_unit_test(test_words__lengths_are_bounded),
        cmocka_unit_test(test_words__values_are_compared_without_case),
        cmocka_unit_test(test_terms__hold_all_that_can_be_asked),
        cmocka_unit_test(test_terms__hold_no_more),
        cmocka_unit_test(test_terms__of_a_cut_stay),
        cmocka_unit_test(test_terms__of_entries_that_say_little),
        cmocka_unit_test(test_words__links_are_alike),
        cmocka_unit_test(test_words__titles_are_alike),
    };

    return cmocka_run_group_tests_name("words", tests, NULL, release);
}
