/* tests/unit/storage/test_twins.c - entries that are the same under another uid. */
#include "storage/twins.h"

#include "base/digest.h"
#include "tests/unit/cmocka_all.h"

#define FEED 7

static struct held_entry *add(struct rows *r, int64_t id, int64_t feed_id,
                              const struct entry_marks *marks)
{
    struct held_entry *e = rows_add_entry(r, feed_id, str_printf(&r->arena, "urn:%d", (int)id));

    e->row.id = id;
    e->row.has_marks = marks != NULL;
    if (marks != NULL)
        e->row.marks = *marks;
    return e;
}

static void test_twins__the_newest_that_is_certain(void **state UNUSED)
{
    const struct entry_marks one = {.link = 1, .link_weak = 1, .title = 2, .at = 3},
                             later = {.link = 1, .link_weak = 1, .title = 2, .at = 4},
                             other = {.link = 5, .link_weak = 5, .title = 6, .at = 3};
    struct rows r = {.generation = 0};
    struct twins t = TWINS_INIT;
    struct held_entry *old, *new, *unwritten;

    digest_init();
    old = add(&r, 1, FEED, &one);
    add(&r, 2, FEED, &later);
    new = add(&r, 3, FEED, &one);
    add(&r, 4, FEED, NULL);
    add(&r, 5, FEED + 1, &one);
    assert_null(twins_find(&t, &one)); /* nothing is there yet */
    twins_fill(&t, &r, FEED, &r.arena);
    assert_ptr_equal(new, twins_find(&t, &one));
    assert_null(twins_find(&t, &other));
    assert_null(twins_find(&t, &(struct entry_marks){.link = 1, .link_weak = 1}));
    twins_release(&t);
    unwritten = add(&r, 0, FEED, &one);
    twins_fill(&t, &r, FEED, &r.arena);
    assert_ptr_equal(unwritten, twins_find(&t, &one));
    assert_ptr_not_equal(old, unwritten);
    twins_release(&t);
    rows_release(&r);
}

/* All have one link: what is found is right, and the newest are found. */
static void test_twins__few_of_one_key(void **state UNUSED)
{
    struct entry_marks marks = {.link = 1, .link_weak = 1, .title = 2};
    struct rows r = {.generation = 0};
    struct twins t = TWINS_INIT;

    digest_init();
    for (int64_t id = 1; id <= 1000; id++) {
        marks.at = id;
        add(&r, id, FEED, &marks);
    }
    twins_fill(&t, &r, FEED, &r.arena);
    for (marks.at = 1; marks.at <= 1000; marks.at++) {
        struct held_entry *twin = twins_find(&t, &marks);

        assert_true(twin != NULL || marks.at <= 1000 - TWINS_OF_KEY);
        assert_true(twin == NULL || twin->row.id == marks.at);
    }
    twins_release(&t);
    rows_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twins__the_newest_that_is_certain),
        cmocka_unit_test(test_twins__few_of_one_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
