/* What every stored entry has (PUSH-03). */
#include "tests/unit/cmocka_all.h"

#include "feed/identity/complete.h"

static struct arena arena;

static struct doc_entry entry(void)
{
    return (struct doc_entry){.obj = value_dict(&arena)};
}

static void test_complete__an_empty_entry_gets_every_member(void **state UNUSED)
{
    struct doc_entry e = entry();
    struct value *parsed;

    e.obj = entry_complete(&arena, &e, STR("hash:1"), 784111777);
    assert_str(value_get_textz(e.obj, "id"), "hash:1");
    assert_str(value_get_textz(e.obj, "title"), "");
    assert_str(value_get_textz(e.obj, "link"), "");
    assert_str(value_get_textz(e.obj, "summary"), "");
    assert_str(value_get_textz(e.obj, "updated"), "1994-11-06T08:49:37Z");
    parsed = value_getz(e.obj, "updated_parsed");
    assert_int_equal(value_len(parsed), 9);
    assert_int_equal(value_at(parsed, 0)->i, 1994);
    assert_int_equal(value_at(parsed, 6)->i, 6);
}

static void test_complete__what_is_there_stays(void **state UNUSED)
{
    struct doc_entry e = entry();

    value_set_textz(&arena, e.obj, "id", STR("own"));
    value_set_textz(&arena, e.obj, "title", STR(""));
    value_set_textz(&arena, e.obj, "updated", STR("yesterday"));
    e.obj = entry_complete(&arena, &e, STR("own"), 0);
    assert_str(value_get_textz(e.obj, "id"), "own");
    assert_null(value_getz(e.obj, "source_id"));
    assert_str(value_get_textz(e.obj, "updated"), "yesterday");
    assert_null(value_getz(e.obj, "updated_parsed"));
}

static void test_complete__an_empty_id_names_nothing(void **state UNUSED)
{
    struct doc_entry e = entry();

    value_set_textz(&arena, e.obj, "id", STR(""));
    e.obj = entry_complete(&arena, &e, STR("http://h/1"), 0);
    assert_str(value_get_textz(e.obj, "id"), "http://h/1");
}

/* Whatever id its publisher sends now, receivers see the one they know. */
static void test_complete__the_id_stays(void **state UNUSED)
{
    struct doc_entry e = entry();

    value_set_textz(&arena, e.obj, "id", STR("second"));
    e.obj = entry_complete(&arena, &e, STR("first"), 0);
    assert_str(value_get_textz(e.obj, "id"), "first");
    assert_str(value_get_textz(e.obj, "source_id"), "second");
}

static void test_complete__publication_stands_for_an_update(void **state UNUSED)
{
    struct doc_entry e = entry();
    struct value *parsed = value_list(&arena);

    value_push(&arena, parsed, value_int(&arena, 2020));
    value_set_textz(&arena, e.obj, "published", STR("Mon, 01 Jun 2020 10:00:00 GMT"));
    value_setz(&arena, e.obj, "published_parsed", parsed);
    e.obj = entry_complete(&arena, &e, STR("uid"), 0);
    assert_str(value_get_textz(e.obj, "updated"), "Mon, 01 Jun 2020 10:00:00 GMT");
    assert_ptr_equal(value_getz(e.obj, "updated_parsed"), parsed);
}

static void test_complete__links_and_contents_are_used(void **state UNUSED)
{
    struct doc_entry e = entry(), f = entry();
    struct value *link = value_dict(&arena), *content = value_dict(&arena);

    value_set_textz(&arena, link, "href", STR("http://h/1"));
    value_push(&arena, value_list_at(&arena, e.obj, STR("links")), link);
    value_set_textz(&arena, content, "value", STR("<p>x</p>"));
    value_push(&arena, value_list_at(&arena, e.obj, STR("content")), content);
    e.obj = entry_complete(&arena, &e, STR("uid"), 0);
    assert_str(value_get_textz(e.obj, "link"), "http://h/1");
    assert_str(value_get_textz(e.obj, "summary"), "<p>x</p>");
    f.obj = entry_complete(&arena, &f, STR("https://h/permalink"), 0);
    assert_str(value_get_textz(f.obj, "link"), "https://h/permalink");
}

static void test_complete__a_licence_is_no_place_to_read_it(void **state UNUSED)
{
    static const char *const rels[] = {"license", "edit", "enclosure", "alternate"};
    struct doc_entry e = entry();

    for (size_t i = 0; i < 4; i++) {
        struct value *link = value_dict(&arena);

        value_set_textz(&arena, link, "rel", str_from(rels[i]));
        value_set_textz(&arena, link, "href", str_printf(&arena, "http://h/%s", rels[i]));
        value_push(&arena, value_list_at(&arena, e.obj, STR("links")), link);
    }
    e.obj = entry_complete(&arena, &e, STR("x"), 0);
    assert_str(value_get_textz(e.obj, "link"), "http://h/enclosure");
}

static void test_complete__a_guid_that_is_no_permalink_is_no_link(void **state UNUSED)
{
    struct doc_entry e = entry();

    value_setz(&arena, e.obj, "guidislink", value_bool(&arena, false));
    e.obj = entry_complete(&arena, &e, STR("https://h/only-an-id"), 0);
    assert_str(value_get_textz(e.obj, "link"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete__an_empty_entry_gets_every_member),
        cmocka_unit_test(test_complete__what_is_there_stays),
        cmocka_unit_test(test_complete__an_empty_id_names_nothing),
        cmocka_unit_test(test_complete__the_id_stays),
        cmocka_unit_test(test_complete__publication_stands_for_an_update),
        cmocka_unit_test(test_complete__links_and_contents_are_used),
        cmocka_unit_test(test_complete__a_guid_that_is_no_permalink_is_no_link),
        cmocka_unit_test(test_complete__a_licence_is_no_place_to_read_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    arena_release(&arena);
    return failed;
}
