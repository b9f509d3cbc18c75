/* tests/unit/fetcher/test_outage.c - own outages are told from failing publishers. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/outage.h"

/* n failures in a row at n_hosts hosts, `step_ms` apart; what the last one said. */
static bool fail_all(struct outage *o, int n, int n_hosts, int64_t step_ms)
{
    bool is_out = false;

    for (int i = 0; i < n; i++) {
        char host[32];

        snprintf(host, sizeof host, "h%d:80", i % n_hosts);
        is_out = outage_note(o, str_from(host), false, 1000 + i * step_ms);
    }
    return is_out;
}

static void test_outage__needs_many_at_several_hosts_soon(void **state UNUSED)
{
    static const struct {
        int n, n_hosts;
        int64_t step_ms;
        bool is_out;
    } rows[] = {
        {20, 5, 10, true},    {19, 5, 10, false},    {20, 4, 10, false},   {500, 1, 10, false},
        {20, 20, 3000, true}, {20, 20, 4000, false}, {1000, 20, 10, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outage o = {.n = 0};

        assert_int_equal(fail_all(&o, rows[i].n, rows[i].n_hosts, rows[i].step_ms), rows[i].is_out);
    }
}

static void test_outage__one_answer_ends_it(void **state UNUSED)
{
    struct outage o = {.n = 0};

    assert_true(fail_all(&o, 40, 10, 10));
    assert_false(outage_note(&o, STR("h1:80"), true, 2000));
    assert_false(outage_note(&o, STR("h1:80"), false, 2001));
    assert_false(fail_all(&o, 18, 10, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outage__needs_many_at_several_hosts_soon),
        cmocka_unit_test(test_outage__one_answer_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
