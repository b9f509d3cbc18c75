/* tests/unit/model/test_sinks.c - the names of the ways in which news leaves. */
#include <string.h>

#include "base/compiler.h"
#include "model/sinks.h"
#include "tests/unit/cmocka_all.h"

static void test_sinks__what_a_request_may_ask_for(void **state UNUSED)
{
    assert_true(sinks_is_offered(STR("xmlrpc")));
    assert_false(sinks_is_offered(STR("websub"))); /* the hub agrees on those */
    assert_false(sinks_is_offered(STR("XMLRPC")));
    assert_false(sinks_is_offered(STR("")));
    assert_false(sinks_is_offered(STR_NULL));
}

/* D55 */
static void test_sinks__default(void **state UNUSED)
{
    assert_true(str_eqz(sinks_default(STR("http")), "xmlrpc"));
    assert_true(str_eqz(sinks_default(STR("https")), "xmlrpc"));
    assert_true(str_eqz(sinks_default(STR("xmpp")), "xmpp"));
    assert_true(str_eqz(sinks_default(STR_NULL), "xmlrpc")); /* there is no endpoint */
    assert_true(str_eqz(sinks_default(STR("amqp")), "amqp"));
    assert_true(str_eqz(sinks_default(STR("amqps")), "amqp"));
    assert_true(str_is_null(sinks_default(STR("ftp"))));
    assert_true(str_is_null(sinks_default(STR(""))));
    assert_true(str_is_null(sinks_default(STR("http https"))));
}

static void test_sinks__schemes(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    assert_true(sinks_has_scheme(STR("webhook"), STR("https")));
    assert_false(sinks_has_scheme(STR("webhook"), STR("amqp")));
    assert_true(sinks_has_scheme(STR("amqp"), STR("amqps")));
    assert_false(sinks_has_scheme(STR("webhook"), STR_NULL));
    assert_false(sinks_has_scheme(STR("nothing"), STR("http")));
    assert_string_equal("http: or https:", sinks_schemes(&a, STR("xmlrpc")));
    assert_string_equal("", sinks_schemes(&a, STR("nothing")));
    assert_non_null(strstr(sinks_by_scheme(&a), "http: or https: (xmlrpc, webhook)"));
}

static void test_sinks__batch(void **state UNUSED)
{
    assert_int_equal(1000, sinks_batch(STR("amqp")));
    assert_int_equal(0, sinks_batch(STR("webhook")));
    assert_int_equal(0, sinks_batch(STR("no such")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sinks__what_a_request_may_ask_for),
        cmocka_unit_test(test_sinks__default),
        cmocka_unit_test(test_sinks__schemes),
        cmocka_unit_test(test_sinks__batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
