#include "../cmocka_all.h"

#include "api/views/selflink.h"
#include "base/compiler.h"

#define ORIGIN STR("http://b:1")

static struct arena arena;

/* ATOM-04 */
static void test_selflink__target_as_received(void **state UNUSED)
{
    static const struct {
        const char *target, *type, *link;
    } rows[] = {
        {"/feed/?url=http://h/x&type=rss", NULL, "http://b:1/feed?url=http://h/x&type=rss"},
        {"/feed?url=http://h/x", "atom", "http://b:1/feed?url=http://h/x&type=atom"},
        {"/feed", "atom", "http://b:1/feed?type=atom"},
        {"/feed?", "atom", "http://b:1/feed?type=atom"},
        {"/feed?url=a\"b<c>", NULL, "http://b:1/feed?url=a%22b%3Cc%3E"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_str(
            selflink_make(&arena, ORIGIN, str_from(rows[i].target), rows[i].type, NULL, NULL, 0),
            rows[i].link);
}

static struct str key(void *ctx UNUSED, int64_t id)
{
    return id == 17 ? STR("fm-key") : STR_NULL;
}

/* D48 */
static void test_selflink__credentials_become_access_keys(void **state UNUSED)
{
    const struct wanted_url urls[] = {{STR("http://h/x?a=1"), STR("me:pw"), STR("http://h/x?a=1")},
                                      {STR("http://h/y"), STR_NULL, STR("http://h/y")},
                                      {STR("http://h/z"), STR("me:pw"), STR("http://h/z")}};
    const int64_t ids[] = {17, 18, 0};
    struct str link =
        selflink_make(&arena, ORIGIN,
                      STR("/feeds?len=3&url=http://me:pw@h/x?a=1,http://h/y&url=http://me:pw@h/z"),
                      "rss", urls, ids, 3);

    assert_true(str_find(link, STR("pw")) < 0);
    assert_str(selflink_fill(&arena, link, key, NULL),
               "http://b:1/feeds?len=3&url=http%3A%2F%2Ffm-key%40h%2Fx%3Fa%3D1%2C"
               "http%3A%2F%2Fh%2Fy%2Chttp%3A%2F%2Fh%2Fz&type=rss");
}

static void test_selflink__set_replaces(void **state UNUSED)
{
    assert_str(selflink_set(&arena, STR("http://b/f?a=1&skip=5&b=2"), "skip", STR("10")),
               "http://b/f?a=1&b=2&skip=10");
    assert_str(selflink_set(&arena, STR("http://b/f"), "type", STR("rss")), "http://b/f?type=rss");
}

static void test_selflink__unset_removes(void **state UNUSED)
{
    assert_str(selflink_unset(&arena, STR("http://b/f?a=1&skip=5&b=2&skip=6"), "skip"),
               "http://b/f?a=1&b=2");
    assert_str(selflink_unset(&arena, STR("http://b/f?sk%69p=5"), "skip"), "http://b/f");
    assert_str(selflink_unset(&arena, STR("http://b/f"), "skip"), "http://b/f");
}

/* Feed 7 has an access key, feed 8 has none. */
static struct str key_of(void *ctx UNUSED, int64_t feed_id)
{
    return feed_id == 7 ? STR("fm-key") : STR_NULL;
}

static void test_selflink__marks_are_filled_in(void **state UNUSED)
{
    const struct wanted_url urls[] = {{STR("http://a/"), STR("me:pw"), STR("http://a/")},
                                      {STR("http://b/"), STR("me:pw"), STR("http://b/")}};
    const int64_t ids[] = {7, 8};
    struct str link =
        selflink_make(&arena, STR("http://us"), STR("/feeds?url=x&len=2"), NULL, urls, ids, 2);

    assert_true(str_find(link, STR("pw")) < 0);
    assert_str(selflink_fill(&arena, link, key_of, NULL),
               "http://us/feeds?url=http%3A%2F%2Ffm-key%40a%2F%2Chttp%3A%2F%2Fb%2F&len=2");
    assert_str(selflink_fill(&arena, STR("http://us/feed"), key_of, NULL), "http://us/feed");
}

static void test_selflink__a_target_has_no_comma(void **state UNUSED)
{
    assert_str(selflink_target(&arena, STR("http://b/f?url=x,y,")), "http://b/f?url=x%2Cy%2C");
    assert_str(selflink_target(&arena, STR("http://b/f")), "http://b/f");
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selflink__target_as_received),
        cmocka_unit_test(test_selflink__credentials_become_access_keys),
        cmocka_unit_test(test_selflink__set_replaces),
        cmocka_unit_test(test_selflink__unset_removes),
        cmocka_unit_test(test_selflink__marks_are_filled_in),
        cmocka_unit_test(test_selflink__a_target_has_no_comma),
    };

    return cmocka_run_group_tests_name("selflink", tests, NULL, release);
}
