/* tests/unit/net/test_host_turns.c - who may call its host next. */
#include "base/compiler.h"
#include "net/host_turns.h"
#include "tests/unit/cmocka_all.h"

#define A STR("http://a.example/hub")
#define B STR("http://b.example:81/hub")

#define MAX 32
#define MAX_HOST 4

static struct host_turn turns[200];

static size_t wait_for(struct host_turns *t, size_t from, size_t n, struct str hub)
{
    for (size_t i = from; i < from + n; i++) {
        turns[i] = (struct host_turn){.host = NULL};
        host_turns_wait(t, &turns[i], hub);
    }
    return from + n;
}

static size_t next_all(struct host_turns *t)
{
    size_t n = 0;

    while (host_turns_next(t) != NULL)
        n++;
    return n;
}

static void test_host_turns__a_host_has_a_bound_and_others_go_on(void **state UNUSED)
{
    struct host_turns t = {.max = MAX, .max_host = MAX_HOST};

    wait_for(&t, 0, 50, A);
    assert_int_equal(MAX_HOST, next_all(&t));
    wait_for(&t, 50, 2, B);
    assert_ptr_equal(&turns[50], host_turns_next(&t));
    assert_ptr_equal(&turns[51], host_turns_next(&t));
    assert_null(host_turns_next(&t));
    host_turns_done(&t, A, true);
    assert_ptr_equal(&turns[MAX_HOST], host_turns_next(&t)); /* in the order of arrival */
    assert_null(host_turns_next(&t));
    host_turns_release(&t);
}

static void test_host_turns__a_silent_host_is_asked_one_at_a_time(void **state UNUSED)
{
    struct host_turns t = {.max = MAX, .max_host = MAX_HOST};

    wait_for(&t, 0, 50, A);
    assert_int_equal(MAX_HOST, next_all(&t));
    for (int i = 0; i < MAX_HOST; i++)
        host_turns_done(&t, A, false);
    assert_int_equal(1, next_all(&t));
    host_turns_done(&t, A, true);
    assert_int_equal(MAX_HOST, next_all(&t));
    host_turns_release(&t);
}

static void test_host_turns__all_have_a_bound_together(void **state UNUSED)
{
    static const char *const hubs[] = {
        "http://1.example/", "http://2.example/", "http://3.example/",
        "http://4.example/", "http://5.example/", "http://6.example/",
        "http://7.example/", "http://8.example/", "http://9.example/"};
    struct host_turns t = {.max = MAX, .max_host = MAX_HOST};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(hubs); i++)
        n = wait_for(&t, n, 10, str_from(hubs[i]));
    assert_int_equal(MAX, next_all(&t));
    host_turns_release(&t);
}

static void test_host_turns__who_has_left_gets_no_turn(void **state UNUSED)
{
    struct host_turns t = {.max = MAX, .max_host = MAX_HOST};

    wait_for(&t, 0, 3, A);
    host_turns_wait(&t, &turns[1], A); /* once is enough */
    host_turns_leave(&t, &turns[0]);
    host_turns_leave(&t, &turns[0]);
    assert_ptr_equal(&turns[1], host_turns_next(&t));
    assert_ptr_equal(&turns[2], host_turns_next(&t));
    assert_null(host_turns_next(&t));
    host_turns_done(&t, A, true);
    host_turns_done(&t, A, true);
    assert_int_equal(0, map_count(&t.hosts)); /* nothing is kept of who is not asked */
    host_turns_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_turns__a_host_has_a_bound_and_others_go_on),
        cmocka_unit_test(test_host_turns__a_silent_host_is_asked_one_at_a_time),
        cmocka_unit_test(test_host_turns__all_have_a_bound_together),
        cmocka_unit_test(test_host_turns__who_has_left_gets_no_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
