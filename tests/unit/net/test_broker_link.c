/* tests/unit/net/test_broker_link.c - connections to brokers, as far as they need none. */
#include <sys/resource.h>

#include "net/broker_link.h"

#include "tests/unit/cmocka_all.h"

static const struct broker_link_cfg cfg = {
    .host = "h", .vhost = "/", .user = "u", .password = "p", .timeout_ms = 1000};

static void without_descriptors(void **state UNUSED) /* AMQP-04 */
{
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_null(broker_link_new(&cfg));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_descriptors)};

    return cmocka_run_group_tests_name("broker_link", tests, NULL, NULL);
}
