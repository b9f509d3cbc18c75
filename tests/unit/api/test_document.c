/* The name of a document holds each of its fields, and a copy stands alone. */
#include "../cmocka_all.h"

#include "api/views/document.h"
#include "base/compiler.h"
#include "feed/filter/filter.h"
#include "feed/words/likeness.h"

static struct arena arena;
static const int64_t other_ids[] = {1, 2};

static struct document_spec spec(void)
{
    static const int64_t ids[] = {1, 3};
    struct document_spec s = {.view = {.feed_ids = ids, .n_feeds = 2}};

    return s;
}

static struct str key(const struct document_spec *s)
{
    return document_key(&arena, STR("log"), s, 7);
}

/* Does another value of this field give another name? `change` is a statement. */
#define DIFFERS(change, name)                                                                      \
    do {                                                                                           \
        struct document_spec s_ = spec();                                                          \
        struct str before_ = key(&s_);                                                             \
        change;                                                                                    \
        if (str_eq(before_, key(&s_)))                                                             \
            fail_msg("the name does not hold %s", name);                                           \
    } while (0)

static void test_document__the_name_holds_each_field(void **state UNUSED)
{
#define NUMBER(type, name) DIFFERS(s_.name = (type)(s_.name + 1), #name);
#define TEXT(name)                                                                                 \
    DIFFERS(s_.name = STR("x"), #name);                                                            \
    DIFFERS(s_.name = STR(""), #name);
#define VIEW(name)
#define CURSOR(name)
#include "api/views/document_fields.def"
#undef NUMBER
#undef TEXT
#undef VIEW
#undef CURSOR
}

static void test_document__the_name_holds_each_field_of_the_view(void **state UNUSED)
{
#define IDS(ids, n)                                                                                \
    DIFFERS(s_.view.ids = other_ids, #ids);                                                        \
    DIFFERS(s_.view.n = 1, #n);
#define NUMBER(type, name) DIFFERS(s_.view.name = (type)(s_.view.name + 1), "view." #name);
#define FILTER(name) DIFFERS(s_.view.name = filter_read(&arena, STR("q x")), "view." #name);
#define LIKENESS(name) DIFFERS(s_.view.name = &likeness_title, "view." #name);
#define TEXT(name) DIFFERS(s_.view.name = STR("x"), "view." #name);
#include "model/view_fields.def"
#undef IDS
#undef NUMBER
#undef FILTER
#undef LIKENESS
#undef TEXT
}

static void test_document__the_name_holds_each_field_of_the_cursors(void **state UNUSED)
{
#define NUMBER(type, name)                                                                         \
    DIFFERS(s_.since.name = (type)(s_.since.name + 1), "since." #name);                            \
    DIFFERS(s_.until.name = (type)(s_.until.name + 1), "until." #name);
#define TEXT(name)                                                                                 \
    DIFFERS(s_.since.name = STR("x"), "since." #name);                                             \
    DIFFERS(s_.until.name = STR("x"), "until." #name);
#include "api/views/cursor_fields.def"
#undef NUMBER
#undef TEXT
}

/* texts that meet cannot be divided in another way */
static void test_document__two_texts_are_not_one(void **state UNUSED)
{
    struct document_spec x = spec(), y = spec();

    x.id = STR("ab");
    x.title = STR("c");
    y.id = STR("a");
    y.title = STR("bc");
    assert_false(str_eq(key(&x), key(&y)));
}

static void test_document__the_name_holds_log_and_version(void **state UNUSED)
{
    struct document_spec s = spec();

    assert_false(str_eq(key(&s), document_key(&arena, STR("other"), &s, 7)));
    assert_false(str_eq(key(&s), document_key(&arena, STR("log"), &s, 8)));
    assert_true(str_eq(key(&s), document_key(&arena, STR("log"), &s, 7)));
}

static void test_document__a_copy_stands_alone(void **state UNUSED)
{
    char text[] = "text", filter_text[] = "q x";
    struct filter filter = {.text = str_from(filter_text)};
    int64_t ids[] = {5, 6};
    struct document_spec s = {.view = {.feed_ids = ids, .n_feeds = 2}}, copy;
    struct str before;

#define NUMBER(type, name)
#define TEXT(name) s.name = str_of(text, 4);
#define VIEW(name)
#define CURSOR(name) s.name.id = s.name.token = s.name.given = str_of(text, 4);
#include "api/views/document_fields.def"
#undef TEXT
#undef VIEW
#undef CURSOR
#define IDS(ids, n)
#define FILTER(name) s.view.name = &filter;
#define LIKENESS(name) s.view.name = &likeness_title;
#define TEXT(name) s.view.name = str_of(text, 4);
#include "model/view_fields.def"
#undef TEXT
#undef IDS
#undef NUMBER
#undef FILTER
#undef LIKENESS
    before = key(&s);
    document_copy(&arena, &s, &copy);
    assert_true(str_eq(before, key(&copy)));
    memset(text, 'x', 4);
    filter_text[2] = 'y';
    ids[0] = 4;
    assert_true(str_eq(before, key(&copy)));
    assert_false(str_eq(before, key(&s)));
    assert_true(str_is_null(copy.key));
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document__the_name_holds_each_field),
        cmocka_unit_test(test_document__the_name_holds_each_field_of_the_view),
        cmocka_unit_test(test_document__the_name_holds_each_field_of_the_cursors),
        cmocka_unit_test(test_document__two_texts_are_not_one),
        cmocka_unit_test(test_document__the_name_holds_log_and_version),
        cmocka_unit_test(test_document__a_copy_stands_alone),
    };

    return cmocka_run_group_tests_name("document", tests, NULL, release);
}
