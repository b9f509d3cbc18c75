/* tests/unit/api/test_view_book.c - the named views in memory: when they are read again, and what another
 * edition is (VIEW-15, VIEW-16). */
#include "api/views/view_book.h"
#include "tests/unit/storage/fixture.h"

struct shop {
    struct fixture *f;
    struct view_book *book;
};

static void on_commit(void *ctx, const struct commit_notice *notice)
{
    view_book_notice(ctx, notice);
}

static int setup(void **state)
{
    struct shop *s = NEW(struct shop);
    void *f;

    assert_int_equal(0, fixture_setup(&f));
    s->f = f;
    s->book = view_book_new(s->f->store);
    store_listen(s->f->store, on_commit, s->book);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct shop *s = *state;
    void *f = s->f;

    assert_int_equal(0, fixture_teardown(&f)); /* first: the storer tells the book */
    view_book_free(&s->book);
    assert_null(s->book);
    mem_free(s);
    return 0;
}

/* Make or replace a view; `uses`: the view that it names, NULL: none. */
static void put(struct shop *s, const char *name, const char *query, const char *uses)
{
    struct named_view view = {.name = str_from(name),
                              .owner = OWNER_LOCAL,
                              .role = ROLE_SUBSCRIBE,
                              .title = STR_NULL,
                              .query = str_from(query),
                              .uses = str_from(uses),
                              .created_at = 1000,
                              .changed_at = 1000};
    struct answer a;

    WRITE(a, store_view_put(s->f->store, &view, false, false, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("put: %s", a.text);
}

static void refresh(struct shop *s)
{
    struct err err = ERR_INIT;

    if (view_book_refresh(s->book, s->f->reader, &err) != RC_OK)
        fail_msg("refresh: %s", err.text);
    assert_true(view_book_is_fresh(s->book));
}

/* The edition of a view now, in a buffer that the next call takes. */
static const char *edition(struct shop *s, const char *name)
{
    static char text[VIEW_EDITION_TEXT];
    struct view_shelf *shelf;
    const struct known_view *v;

    refresh(s);
    shelf = view_book_take(s->book);
    v = view_find(shelf, str_from(name));
    assert_non_null(v);
    assert_int_equal(VIEW_EDITION_TEXT - 1, strlen(v->edition));
    memcpy(text, v->edition, VIEW_EDITION_TEXT);
    view_shelf_leave(&shelf);
    return text;
}

static void test_view_book__names(void **state UNUSED)
{
    static const char *const good[] = {"a", "A.b_-9", "...", ".a", "-"};
    static const char *const bad[] = {"", ".", "..", "a b", "a/b", "a%20", "\xC3\xA9", "a\n", "a~"};
    char longest[VIEW_NAME_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(view_is_name(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(view_is_name(str_from(bad[i])));
    memset(longest, 'x', sizeof longest);
    assert_true(view_is_name(str_of(longest, VIEW_NAME_MAX)));
    assert_false(view_is_name(str_of(longest, VIEW_NAME_MAX + 1)));
    assert_false(view_is_name(str_of("a\0b", 3)));
}

static void test_view_book__a_change_is_read_once(void **state)
{
    struct shop *s = *state;
    struct view_shelf *before, *after, *again;

    assert_false(view_book_is_filled(s->book));
    assert_false(view_book_is_fresh(s->book));
    refresh(s);
    assert_true(view_book_is_filled(s->book));
    before = view_book_take(s->book);
    put(s, "v", "url=http://a.example/", NULL);
    assert_false(view_book_is_fresh(s->book));
    assert_null(view_find(before, STR("v")));
    refresh(s);
    after = view_book_take(s->book);
    refresh(s); /* nothing is new */
    again = view_book_take(s->book);
    assert_ptr_equal(after, again);
    assert_null(view_find(before, STR("v"))); /* a shelf that was taken does not change */
    assert_non_null(view_find(after, STR("v")));
    assert_ptr_equal(view_find(after, STR("v")), view_at(after, 0));
    assert_null(view_at(after, 1));
    view_shelf_leave(&before);
    view_shelf_leave(&after);
    view_shelf_leave(&again);
}

static void test_view_book__it_is_read_again_after_a_reload_of_all(void **state)
{
    struct shop *s = *state;
    const struct commit_notice other = {.last_seq = 1}, anew = {.is_anew = true};

    refresh(s);
    view_book_notice(s->book, &other);
    assert_true(view_book_is_fresh(s->book));
    view_book_notice(s->book, &anew);
    assert_false(view_book_is_fresh(s->book));
    refresh(s);
}

static void test_view_book__what_a_view_has(void **state)
{
    struct shop *s = *state;
    struct view_shelf *shelf;
    const struct known_view *v;

    put(s, "v", "url=http://a.example/,http://b.example/&after=7d&q=red", NULL);
    put(s, "plain", "url=http://a.example/", NULL);
    refresh(s);
    shelf = view_book_take(s->book);
    v = view_find(shelf, STR("v"));
    assert_int_equal(2, v->n_urls);
    assert_true(v->has_age);
    assert_true(str_eqz(v->title, "v")); /* it has no other */
    assert_false(str_is_null(v->filter));
    v = view_find(shelf, STR("plain"));
    assert_false(v->has_age);
    assert_true(str_is_null(v->filter));
    assert_null(view_find(shelf, STR("plai")));
    view_shelf_leave(&shelf);
}

/* It is there, so that it can be replaced; but it shows nothing, instead of everything. */
static void test_view_book__what_is_not_understood_has_no_feeds(void **state)
{
    struct shop *s = *state;
    struct view_shelf *shelf;
    const struct known_view *v;

    put(s, "v", "url=http://a.example/&q=(", NULL);
    log_set_level(LOG_LEVEL_NONE); /* it warns */
    refresh(s);
    shelf = view_book_take(s->book);
    v = view_find(shelf, STR("v"));
    assert_non_null(v);
    assert_int_equal(0, v->n_urls);
    assert_true(v->refused.len > 0);
    view_shelf_leave(&shelf);
}

static void test_view_book__another_filter_is_another_edition(void **state)
{
    struct shop *s = *state;
    char first[VIEW_EDITION_TEXT];

    put(s, "v", "url=http://a.example/&q=red", NULL);
    memcpy(first, edition(s, "v"), sizeof first);
    put(s, "v", "url=http://a.example/&q=blue", NULL);
    assert_string_not_equal(first, edition(s, "v"));
    put(s, "v", "url=http://b.example/&q=red", NULL);
    assert_string_not_equal(first, edition(s, "v"));
    put(s, "v", "url=http://a.example/&q=red&folder=News", NULL);
    assert_string_not_equal(first, edition(s, "v"));
    put(s, "v", "url=http://a.example/&q=red", NULL);
    assert_string_equal(first, edition(s, "v")); /* its old cursors are good again */
}

static void test_view_book__the_look_has_no_part_in_the_edition(void **state)
{
    struct shop *s = *state;
    char first[VIEW_EDITION_TEXT];

    put(s, "v", "url=http://a.example/&q=red", NULL);
    memcpy(first, edition(s, "v"), sizeof first);
    put(s, "v", "url=http://a.example/&q=red&len=3&type=rss&content=text&order=changed", NULL);
    assert_string_equal(first, edition(s, "v"));
    put(s, "w", "url=http://a.example/&q=red", NULL);
    assert_string_equal(first, edition(s, "w")); /* nor has the name */
}

static void test_view_book__a_view_has_the_editions_of_those_below(void **state)
{
    struct shop *s = *state;
    char top[VIEW_EDITION_TEXT], middle[VIEW_EDITION_TEXT];

    put(s, "z", "url=http://a.example/&q=red", NULL); /* after the others by name, so it is read later */
    put(s, "m", "view=z", "z");
    put(s, "a", "view=m&q=one", "m");
    memcpy(top, edition(s, "a"), sizeof top);
    memcpy(middle, edition(s, "m"), sizeof middle);
    put(s, "z", "url=http://a.example/&q=red&len=9", NULL);
    assert_string_equal(top, edition(s, "a"));
    put(s, "z", "url=http://a.example/&q=blue", NULL);
    assert_string_not_equal(middle, edition(s, "m"));
    assert_string_not_equal(top, edition(s, "a"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_view_book__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(names),
        T(a_change_is_read_once),
        T(it_is_read_again_after_a_reload_of_all),
        T(what_a_view_has),
        T(what_is_not_understood_has_no_feeds),
        T(another_filter_is_another_edition),
        T(the_look_has_no_part_in_the_edition),
        T(a_view_has_the_editions_of_those_below),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
