/* tests/unit/model/test_sinks.c - the names of the ways in which news leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "model/sinks.h"

static void test_sinks__what_a_request_may_ask_for(void **state UNUSED)
{
    assert_true(sinks_is_offered(STR("xmlrpc")));
    assert_false(sinks_is_offered(STR("websub"))); /* the hub agrees on those */
    assert_false(sinks_is_offered(STR("XMLRPC")));
    assert_false(sinks_is_offered(STR("")));
    assert_false(sinks_is_offered(STR_NULL));
}

static void test_sinks__default(void **state UNUSED)
{
    assert_true(str_eqz(sinks_default(), "xmlrpc"));
    assert_true(sinks_is_offered(sinks_default()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sinks__what_a_request_may_ask_for),
        cmocka_unit_test(test_sinks__default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
