/* tests/unit/feed/test_identity.c - feed/identity. */
#include "tests/unit/cmocka_all.h"

#include "feed/identity/identity.h"
#include "feed/text/json.h"

static struct doc_entry entry(struct arena *a, const char *json, const char *ext)
{
    struct doc_entry e = {
        .ext = str_from(ext), .published_at = TIME_UNKNOWN, .updated_at = TIME_UNKNOWN};

    assert_int_equal(json_read(a, str_from(json), &e.obj, NULL), RC_OK);
    e.id = value_get_textz(e.obj, "id");
    e.link = value_get_textz(e.obj, "link");
    e.title = value_get_textz(e.obj, "title");
    return e;
}

static bool same_essence(const char *json1, const char *ext1, const char *json2, const char *ext2)
{
    struct arena a = ARENA_INIT;
    struct doc_entry x = entry(&a, json1, ext1), y = entry(&a, json2, ext2);
    unsigned char mx[16], my[16];

    identity_essence(&x, mx);
    identity_essence(&y, my);
    arena_release(&a);
    return memcmp(mx, my, 16) == 0;
}

static void test_identity__key_order_is_no_change(void **state UNUSED)
{
    assert_true(same_essence("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}", "",
                             "{\"b\":{\"d\":3,\"c\":2},\"a\":1}", ""));
    assert_false(same_essence("{\"a\":[1,2]}", "", "{\"a\":[2,1]}", ""));
}

static void test_identity__text_is_essence(void **state UNUSED)
{
    assert_false(same_essence("{\"title\":\"a\"}", "", "{\"title\":\"b\"}", ""));
    assert_false(same_essence("{\"title\":\"1\"}", "", "{\"title\":1}", ""));
    assert_false(same_essence("{\"digg_diggcount\":\"1\"}", "", "{\"digg_diggcount\":\"2\"}", ""));
    assert_false(same_essence("{\"a\":\"bc\",\"d\":\"\"}", "", "{\"a\":\"b\",\"cd\":\"\"}", ""));
}

static void test_identity__derived_members_do_not_count(void **state UNUSED)
{
    assert_true(
        same_essence("{\"updated\":\"x\",\"updated_parsed\":[1]}", "", "{\"updated\":\"x\"}", ""));
    assert_true(same_essence("{\"title_detail\":{\"value\":\"x\",\"base\":\"http://a/\"}}", "",
                             "{\"title_detail\":{\"value\":\"x\",\"base\":\"http://b/\"}}", ""));
    assert_false(same_essence("{\"base\":\"http://a/\"}", "", "{\"base\":\"http://b/\"}", ""));
}

static void test_identity__counters_are_volatile(void **state UNUSED)
{
    assert_true(same_essence("{\"title\":\"t\",\"slash_comments\":\"1\",\"thr_total\":\"1\"}", "",
                             "{\"title\":\"t\",\"slash_comments\":\"2\"}", ""));
    assert_true(same_essence("{\"links\":[{\"href\":\"x\",\"thr:count\":\"1\"}]}", "",
                             "{\"links\":[{\"href\":\"x\",\"thr:count\":\"2\"}]}", ""));
    assert_false(
        same_essence("{\"links\":[{\"href\":\"x\"}]}", "", "{\"links\":[{\"href\":\"y\"}]}", ""));
}

static void test_identity__counters_in_foreign_elements_are_volatile(void **state UNUSED)
{
#define MEDIA(views, title)                                                                        \
    "<m:group xmlns:m=\"http://search.yahoo.com/mrss/\"><m:title>" title                           \
    "</m:title><m:community><m:statistics views=\"" views "\"/></m:community></m:group>"
    assert_true(same_essence("{}", MEDIA("1", "t"), "{}", MEDIA("2", "t")));
    assert_false(same_essence("{}", MEDIA("1", "t"), "{}", MEDIA("1", "u")));
    assert_true(same_essence("{}",
                             "<s:comments xmlns:s=\"http://purl.org/rss/1.0/modules/slash/\">1"
                             "</s:comments><x xmlns=\"u:x\"/>",
                             "{}", "<x xmlns=\"u:x\"/>"));
    assert_false(same_essence("{}", "<s:comments xmlns:s=\"u:x\">1</s:comments>", "{}",
                              "<s:comments xmlns:s=\"u:x\">2</s:comments>"));
}

static int64_t essence_time(size_t len)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf ext = BUF_INIT(BUF_ANY);
    struct doc_entry e = {.obj = value_dict(&a)};
    unsigned char hash[16];
    int64_t from;

    buf_puts(&ext, "<x xmlns=\"u:x\" y=\"");
    for (int i = 0; i < 8000; i++)
        buf_putc(&ext, 'y');
    buf_puts(&ext, "\" xmlns:z=\"u:z\">");
    while (ext.len < len)
        buf_puts(&ext, "<z:comments/>");
    buf_puts(&ext, "</x>");
    e.ext = buf_view(&ext);
    from = cpu_ns();
    identity_essence(&e, hash);
    return cpu_ns() - from;
}

/* Each element within once looked for its prefix through a long tag around them all: half a
 * microsecond a byte. */
static void test_identity__essence_takes_linear_time(void **state UNUSED)
{
    int64_t small = essence_time(512 * 1024), large = essence_time(2 * 1024 * 1024);

    assert_true(large <= 9 * small + 50000000);
    assert_true(large < INT64_C(8000000000));
}

static void expect_uids_by(enum identity_rule rule, const char *const *json, size_t n,
                           const char *const *want)
{
    struct arena a = ARENA_INIT;
    struct doc_entry entries[8];
    struct feed_doc doc = {.entries = entries, .n_entries = n};
    struct identity_entry list[8];
    struct str uids[8];
    size_t who[8];

    for (size_t i = 0; i < n; i++) {
        entries[i] = entry(&a, json[i], "");
        entries[i].updated_at = value_get_int(entries[i].obj, STR("at"), TIME_UNKNOWN);
    }
    identity_read(&a, &doc, list);
    identity_find_doubles(list, n, rule);
    for (size_t i = 0; i < n; i++)
        who[i] = IDENTITY_NEW;
    identity_names(&a, list, n, NULL, 0, who, rule, 0, uids);
    for (size_t i = 0; i < n; i++) {
        if (want[i] == NULL)
            assert_true(str_is_null(uids[i]));
        else if (want[i][strlen(want[i]) - 1] == '=') /* a derived uid: only its rule */
            assert_memory_equal(uids[i].ptr, want[i], strlen(want[i]));
        else
            assert_string_equal(uids[i].ptr, want[i]);
    }
    arena_release(&a);
}

static void expect_uids(const char *const *json, size_t n, const char *const *want)
{
    expect_uids_by(IDENTITY_GUID, json, n, want);
}

static void test_identity__id_then_link_then_title_then_content(void **state UNUSED)
{
    const char *const json[] = {"{\"id\":\"i\",\"link\":\"l\"}", "{\"link\":\"l\"}",
                                "{\"title\":\"t\",\"at\":5}", "{\"title\":\"t\"}", "{}"};
    const char *const want[] = {"i", "l", "title=", "hash=", "hash="};

    expect_uids(json, 5, want);
}

static void test_identity__equal_doubles_are_one(void **state UNUSED)
{
    const char *const json[] = {"{\"id\":\"i\",\"title\":\"a\"}", "{\"id\":\"i\",\"title\":\"a\"}"};
    const char *const want[] = {"i", NULL};

    expect_uids(json, 2, want);
}

static void test_identity__unequal_doubles_get_the_next_rule(void **state UNUSED)
{
    const char *const json[] = {"{\"id\":\"i\",\"title\":\"a\",\"link\":\"l1\"}",
                                "{\"id\":\"i\",\"title\":\"b\",\"link\":\"l2\"}",
                                "{\"id\":\"i\",\"title\":\"c\",\"link\":\"l2\"}"};
    const char *const want[] = {"i", "l2", "hash="};

    expect_uids(json, 3, want);
}

/* OBJ-02, ATOM-08: where others lack one, or share theirs, an id of its own is still its id. */
static void test_identity__own_id_is_the_name_under_any_rule(void **state UNUSED)
{
    const char *const json[] = {"{\"id\":\"abc def\",\"link\":\"l1\"}", "{\"link\":\"l2\"}",
                                "{\"id\":\"i\",\"link\":\"l3\"}", "{\"id\":\"i\",\"link\":\"l4\"}"};
    const char *const want_link[] = {"abc def", "l2", "l3", "l4"};
    const char *const want_hash[] = {"abc def", "hash=", "hash=", "hash="};

    expect_uids_by(IDENTITY_LINK, json, 4, want_link);
    expect_uids_by(IDENTITY_HASH, json, 4, want_hash);
}

/* The id of a document that is not well-formed on one day and is on the next. */
static void test_identity__ampersands_however_they_were_written(void **state UNUSED)
{
    static const char *const ids[] = {"http://e.org/v?ship=4&leg=2",
                                      "http://e.org/v?ship=4&amp;leg=2",
                                      "http://e.org/v?ship=4&leg;=2"};
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < 3; i++) {
        struct str got = identity_ref(&a, str_from(ids[i]), IDENTITY_STRONG);

        if (!str_eqz(got, "//e.org/v?ship=4&leg=2"))
            fail_msg("%s: %.*s", ids[i], STR_ARG(got));
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity__ampersands_however_they_were_written),
        cmocka_unit_test(test_identity__key_order_is_no_change),
        cmocka_unit_test(test_identity__text_is_essence),
        cmocka_unit_test(test_identity__derived_members_do_not_count),
        cmocka_unit_test(test_identity__counters_are_volatile),
        cmocka_unit_test(test_identity__counters_in_foreign_elements_are_volatile),
        cmocka_unit_test(test_identity__essence_takes_linear_time),
        cmocka_unit_test(test_identity__id_then_link_then_title_then_content),
        cmocka_unit_test(test_identity__equal_doubles_are_one),
        cmocka_unit_test(test_identity__unequal_doubles_get_the_next_rule),
        cmocka_unit_test(test_identity__own_id_is_the_name_under_any_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
