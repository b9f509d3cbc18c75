/* The beginning of a text has whole words and what a reader sees as one character (VIEW-08). */
#include "../cmocka_all.h"

#include "base/compiler.h"
#include "feed/words/excerpt.h"

static struct arena arena;

static const char *cut(const char *text, size_t max)
{
    return str_z(&arena, excerpt(&arena, str_from(text), max));
}

static void test_excerpt__words_are_whole(void **state UNUSED)
{
    assert_string_equal(cut("one two three", 13), "one two three");
    assert_string_equal(cut("one two three", 12), "one two…");
    assert_string_equal(cut("one two three", 7), "one two…");
    assert_string_equal(cut("one two three", 6), "one…");
    assert_string_equal(cut("one\n\n two", 5), "one…");
    assert_string_equal(cut("one two", 2), "…");
    assert_string_equal(cut("one two", 0), "one two");
    assert_string_equal(cut("", 3), "");
}

/* Characters are counted, not bytes. */
static void test_excerpt__characters_count(void **state UNUSED)
{
    assert_string_equal(cut("äöü äöü", 7), "äöü äöü");
    assert_string_equal(cut("äöü äöü", 6), "äöü…");
    assert_string_equal(cut("😀 😀", 1), "😀…");
    assert_string_equal(cut("a\u00A0b c", 2), "…"); /* it holds both together */
    assert_string_equal(cut("a\u00A0b c", 3), "a\u00A0b…");
}

/* What is seen as one character is never divided. */
static void test_excerpt__no_character_is_divided(void **state UNUSED)
{
    assert_string_equal(cut("e\u0301e\u0301 x", 3), "…");
    assert_string_equal(cut("👨\u200D👩\u200D👧 x", 3), "…");
    assert_string_equal(cut("👨\u200D👩\u200D👧 x", 5), "👨\u200D👩\u200D👧…");
    assert_string_equal(cut("が\u3099が", 1), "…");
}

static void test_excerpt__scripts_without_spaces(void **state UNUSED)
{
    assert_string_equal(cut("東京タワーは高い", 4), "東京タワ…");
    assert_string_equal(cut("東京2024年", 4), "東京…");
    assert_string_equal(cut("กินข้าว", 5), "กินข้…");
    assert_string_equal(cut("กินข้าว", 4), "กิน…"); /* a tone mark belongs to its letter */
}

static void test_excerpt__bytes_that_are_no_text_do_no_harm(void **state UNUSED)
{
    assert_string_equal(cut("\xFF\xFE one \xC3", 3), "\xFF\xFE…");
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_excerpt__words_are_whole),
        cmocka_unit_test(test_excerpt__characters_count),
        cmocka_unit_test(test_excerpt__no_character_is_divided),
        cmocka_unit_test(test_excerpt__scripts_without_spaces),
        cmocka_unit_test(test_excerpt__bytes_that_are_no_text_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
