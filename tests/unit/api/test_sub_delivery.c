/* The parameters events and batch; title and folder. */
#include "../cmocka_all.h"

#include "api/lists/sub_delivery.h"
#include "api/lists/sub_names.h"

static struct arena arena;

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

static struct params params_of(const char *query)
{
    static const enum param_id listed[] = {PARAM_events, PARAM_batch, PARAM_title, PARAM_folder,
                                           PARAM_NONE};
    struct params ps = {.listed = listed};
    struct problem p;

    assert_true(params_add(&ps, &arena, str_from(query), &p));
    return ps;
}

/* DELIV-02 */
static void test_events(void **state UNUSED)
{
    static const struct {
        const char *query;
        unsigned events;
    } rows[] = {{"batch=1", 0},
                {"events=", 0},
                {"events=new", SUB_NEW},
                {"events=new,%20changed,", SUB_NEW | SUB_CHANGED},
                {"events=changed&events=new", SUB_NEW | SUB_CHANGED}};
    unsigned events;
    struct problem p;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = params_of(rows[i].query);

        assert_true(sub_events_read(&ps, &arena, STR("xmlrpc"), &events, &p));
        assert_int_equal(rows[i].events, events);
    }
}

/* DELIV-02: the problem says what would be right */
static void test_events__wrong(void **state UNUSED)
{
    struct params ps = params_of("events=new,deleted"), unknown = params_of("events=News");
    unsigned events;
    struct problem p;

    assert_false(sub_events_read(&ps, &arena, STR("xmlrpc"), &events, &p));
    assert_string_equal("new|changed", p.allowed);
    assert_true(str_eqz(p.value, "deleted"));
    assert_false(sub_events_read(&unknown, &arena, STR("xmlrpc"), &events, &p));
    assert_true(str_eqz(p.parameter, "events"));
}

/* DELIV-02: a change to no events at all is refused, and says what would be right */
static void test_events__change(void **state UNUSED)
{
    static const char *const empty[] = {"events=", "events=%20,", "events=&events="};
    struct params none = params_of("batch=1"), some = params_of("events=&events=new");
    unsigned events;
    struct problem p;

    assert_true(sub_events_change(&none, &arena, STR("webhook"), &events, &p));
    assert_int_equal(0, events);
    assert_true(sub_events_change(&some, &arena, STR("webhook"), &events, &p));
    assert_int_equal(SUB_NEW, events);
    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        struct params ps = params_of(empty[i]);

        assert_false(sub_events_change(&ps, &arena, STR("webhook"), &events, &p));
        assert_true(str_eqz(p.parameter, "events"));
        assert_string_equal("new|changed|deleted|left|feed", p.allowed);
    }
}

/* DELIV-11 */
static void test_batch(void **state UNUSED)
{
    static const struct {
        const char *query;
        int batch; /* < 0: a problem */
    } rows[] = {{"", 0},
                {"batch=", 0},
                {"batch=1", 1},
                {"batch=1000", 1000},
                {"batch=1001", -1},
                {"batch=0", -1},
                {"batch=-1", -1},
                {"batch=x", -1},
                {"batch=99999999999999999999", -1}};
    struct problem p;
    int batch;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = params_of(rows[i].query);

        assert_int_equal(rows[i].batch >= 0, sub_batch_read(&ps, &arena, &batch, &p));
        if (rows[i].batch >= 0)
            assert_int_equal(rows[i].batch, batch);
    }
}

/* VIEW-18: an empty name is told from a missing one */
static void test_names(void **state UNUSED)
{
    struct params ps = params_of("title=+T+&folder=/News//World/"), none = params_of("a=b");
    struct params empty = params_of("title=&folder=");
    struct str title, folder;
    struct problem p;

    assert_true(sub_title_read(&ps, &arena, 1, &title, &p));
    assert_true(sub_folder_read(&ps, &arena, &folder, &p));
    assert_true(str_eqz(title, "T"));
    assert_true(str_eqz(folder, "[\"News\",\"World\"]"));
    assert_false(sub_title_read(&ps, &arena, 2, &title, &p));
    assert_true(sub_title_read(&none, &arena, 2, &title, &p));
    assert_true(sub_folder_read(&none, &arena, &folder, &p));
    assert_true(str_is_null(title) && str_is_null(folder));
    assert_true(sub_title_read(&empty, &arena, 2, &title, &p));
    assert_true(sub_folder_read(&empty, &arena, &folder, &p));
    assert_true(!str_is_null(title) && title.len == 0 && !str_is_null(folder) && folder.len == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),         cmocka_unit_test(test_events__wrong),
        cmocka_unit_test(test_events__change), cmocka_unit_test(test_batch),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
