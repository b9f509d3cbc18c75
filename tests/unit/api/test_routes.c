/* tests/unit/api/test_routes.c - api/routes.def and api/http/parameters.def fit together. */
#include "../cmocka_all.h"

#include "api/http/routes.h"

/* OPS-01: callers can tell the parameters of a route from each other. */
static void test_routes__names_are_different(void **state UNUSED)
{
    const struct route *r;

    for (size_t i = 0; (r = route_at(i)) != NULL; i++)
        for (const enum param_id *one = r->params; *one != PARAM_NONE; one++)
            for (const enum param_id *other = r->params; other != one; other++)
                if (strcmp(param_name(*one), param_name(*other)) == 0)
                    fail_msg("%s %s lists %s twice", r->method, r->path, param_name(*one));
}

/* OPS-01: a row of parameters.def that no route reads is dead. */
static void test_routes__each_parameter_is_read(void **state UNUSED)
{
    for (int id = PARAM_NONE + 1; id < PARAM_COUNT_; id++) {
        const struct route *r;
        bool found = false;

        for (size_t i = 0; (r = route_at(i)) != NULL; i++)
            found = found || param_is_in(r->params, (enum param_id)id);
        if (!found)
            fail_msg("no route lists %s (row %d)", param_name((enum param_id)id), id);
    }
}

/* A choice has values; a value that a missing one counts as is among them; a sentence says what it
 * is. */
static void test_routes__rows_are_whole(void **state UNUSED)
{
    for (int id = PARAM_NONE + 1; id < PARAM_COUNT_; id++) {
        const struct parameter *row = param_row((enum param_id)id);
        bool found = row->otherwise == NULL;

        assert_int_equal(row->kind == PARAM_KIND_CHOICE, row->values != NULL);
        assert_true(str_ends(str_from(row->text), STR(".")));
        for (struct str rest = str_from(row->values); !str_is_null(rest);)
            found = str_eqz(str_split(&rest, '|'), row->otherwise) || found;
        assert_true(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes__names_are_different),
        cmocka_unit_test(test_routes__each_parameter_is_read),
        cmocka_unit_test(test_routes__rows_are_whole),
    };

    return cmocka_run_group_tests_name("routes", tests, NULL, NULL);
}
