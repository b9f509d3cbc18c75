/* tests/unit/api/test_feedset.c - the word for a set of feeds in a path. */
#include "tests/unit/cmocka_all.h"

#include "api/views/feedset.h"
#include "base/digest.h"

#define SECRET STR("0123456789abcdef")

static void test_feedset__round_trip(void **state UNUSED)
{
    static int64_t ids[][3] = {
        {1, 2, 3}, {5, 500, 50000}, {INT64_C(1) << 40, INT64_MAX - 9, INT64_MAX}};
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 6; k++) {
            size_t n = 1 + k % 3;
            struct feedset set = {.ids = ids[i], .n = n, .page_size = 50 * n * n}, got;
            struct str word;

            set.filter = k < 3 ? STR_NULL : STR("q caf\xc3\xa9\nlang de");
            word = feedset_write(&a, &set, SECRET);
            assert_true(feedset_read(&a, word, SECRET, &got));
            assert_int_equal(set.page_size, got.page_size);
            assert_int_equal(n, got.n);
            assert_memory_equal(ids[i], got.ids, n * sizeof(int64_t));
            assert_int_equal(str_is_null(set.filter), str_is_null(got.filter));
            assert_true(str_eq(set.filter, got.filter));
        }
    }
    arena_release(&a);
}

/* D54: words without a filter stay what they were, and the largest word can be read. */
static void test_feedset__words_last(void **state UNUSED)
{
    int64_t ids[FEEDSET_MAX];
    struct feedset set = {.ids = ids, .n = 2, .page_size = 50, .filter = STR_NULL}, got;
    char text[FEEDSET_FILTER_MAX];
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < FEEDSET_MAX; i++)
        ids[i] = (int64_t)(i + 7);
    assert_true(str_eqz(str_slice(feedset_write(&a, &set, SECRET), 16, 22), "320701"));
    memset(text, 'x', sizeof text);
    set.n = FEEDSET_MAX;
    set.filter = str_of(text, sizeof text);
    assert_true(feedset_read(&a, feedset_write(&a, &set, SECRET), SECRET, &got));
    assert_int_equal(FEEDSET_MAX, got.n);
    assert_int_equal(ids[FEEDSET_MAX - 1], got.ids[FEEDSET_MAX - 1]);
    assert_true(str_eq(set.filter, got.filter));
    arena_release(&a);
}

/* No other set by guessing, and nothing from text that is not such a word. */
static void test_feedset__only_our_words(void **state UNUSED)
{
    int64_t id = 7;
    struct feedset set = {.ids = &id, .n = 1, .page_size = 50}, got;
    struct arena a = ARENA_INIT;
    struct str word;

    word = feedset_write(&a, &set, SECRET);
    assert_false(feedset_read(&a, word, STR("another secret"), &got));
    for (size_t i = 0; i < word.len; i++) {
        char *other = str_z(&a, word);

        assert_false(feedset_read(&a, str_slice(word, 0, i), SECRET, &got));
        other[i] = other[i] == '7' ? '8' : '7';
        assert_false(feedset_read(&a, str_from(other), SECRET, &got));
        other[i] = '\xff';
        assert_false(feedset_read(&a, str_from(other), SECRET, &got));
    }
    assert_false(feedset_read(&a, str_concat(&a, word, STR("0")), SECRET, &got));
    assert_false(feedset_read(&a, str_concat(&a, word, STR("01")), SECRET, &got));
    assert_false(feedset_read(&a, STR(""), SECRET, &got));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feedset__round_trip),
        cmocka_unit_test(test_feedset__words_last),
        cmocka_unit_test(test_feedset__only_our_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
