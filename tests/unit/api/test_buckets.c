#include "../cmocka_all.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "api/http/buckets.h"
#include "model/access.h"
#include "base/digest.h"

static bool take4(struct buckets *b, uint32_t address, int64_t ms)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

    return buckets_take(b, (struct sockaddr *)&in, 10, 20, ms);
}

static bool take6(struct buckets *b, const char *text, int64_t ms)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    assert_int_equal(1, inet_pton(AF_INET6, text, &in6.sin6_addr));
    return buckets_take(b, (struct sockaddr *)&in6, 10, 20, ms);
}

/* PING-09 */
static void test_buckets__burst_then_rate(void **state UNUSED)
{
    struct buckets *b = buckets_new(4096);
    int taken = 0;

    for (int i = 0; i < 100; i++)
        taken += take4(b, 1, 0);
    assert_int_equal(20, taken);
    for (int ms = 0; ms < 1000; ms += 5)
        taken += take4(b, 1, ms);
    assert_in_range(taken, 29, 30);
    assert_false(take4(b, 1, 1000) && take4(b, 1, 1000) && take4(b, 1, 1000));
    for (int i = 0; i < 100; i++) /* never more than the burst, however long the pause */
        taken += take4(b, 1, 10000000);
    assert_in_range(taken, 49, 51);
    buckets_free(&b);
}

static void test_buckets__sources_are_apart(void **state UNUSED)
{
    struct buckets *b = buckets_new(4096);

    while (take4(b, 1, 0))
        continue;
    assert_true(take4(b, 2, 0));
    while (take6(b, "2001:db8:0:1::1", 0))
        continue;
    assert_false(take6(b, "2001:db8:0:1:ffff::2", 0)); /* one /64, one subscriber */
    assert_true(take6(b, "2001:db8:0:2::1", 0));
    assert_false(take6(b, "::ffff:0.0.0.1", 0)); /* the same as 0.0.0.1 */
    buckets_free(&b);
}

static void test_buckets__table_is_bounded(void **state UNUSED)
{
    struct buckets *b = buckets_new(4096);
    int taken = 0;

    for (uint32_t i = 0; i < 20000; i++)
        taken += take4(b, i, 0);
    assert_in_range(taken, 4096, 4096 + 20); /* newcomers share one burst */
    for (uint32_t i = 20000; i < 40000; i++) /* those that are full again made room */
        taken += take4(b, i, 60000);
    assert_in_range(taken, 2 * 4096, 2 * (4096 + 20));
    buckets_free(&b);
}

/* ACC-04: none of ten thousand tokens shares the rate of another. */
static void test_buckets__room_for_all_tokens(void **state UNUSED)
{
    struct buckets *b = buckets_new(TOKENS_MAX);
    char name[32];

    for (int round = 0; round < 3; round++)
        for (int i = 0; i < TOKENS_MAX; i++) {
            snprintf(name, sizeof name, "token %d", i);
            assert_int_equal(round < 2, buckets_spend(b, str_from(name), 2, 2, 0, NULL));
        }
    buckets_free(&b);
}

static void test_buckets__no_rate_no_limit(void **state UNUSED)
{
    struct buckets *b = buckets_new(4096);

    for (int i = 0; i < 1000; i++)
        assert_true(buckets_take(b, NULL, 0, 0, 0));
    buckets_free(&b);
}

static int setup(void **state UNUSED)
{
    digest_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets__burst_then_rate),
        cmocka_unit_test(test_buckets__sources_are_apart),
        cmocka_unit_test(test_buckets__table_is_bounded),
        cmocka_unit_test(test_buckets__room_for_all_tokens),
        cmocka_unit_test(test_buckets__no_rate_no_limit),
    };

    return cmocka_run_group_tests_name("buckets", tests, setup, NULL);
}
