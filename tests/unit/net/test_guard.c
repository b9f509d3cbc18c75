/* tests/unit/net/test_guard.c - which addresses may be contacted (SCHED-18). */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "net/guard.h"
#include "tests/unit/cmocka_all.h"

union any {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union any address(const char *text)
{
    union any addr;

    memset(&addr, 0, sizeof addr);
    if (inet_pton(AF_INET, text, &addr.v4.sin_addr) == 1)
        addr.v4.sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &addr.v6.sin6_addr) == 1)
        addr.v6.sin6_family = AF_INET6;
    else
        fail_msg("%s is not an address", text);
    return addr;
}

static bool allows(const struct guard *g, const char *text)
{
    union any addr = address(text);

    return guard_allows(g, &addr.sa);
}

static struct guard *make(const struct str *cidrs, size_t n)
{
    struct err err = ERR_INIT;
    struct guard *g = NULL;

    if (guard_new(cidrs, n, &g, &err) != RC_OK)
        fail_msg("%s", err.text);
    return g;
}

static void test_guard__special_ranges_are_closed(void **state UNUSED)
{
    static const char *const closed[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "192.175.48.1",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        /* IPv6 */
        "::",
        "::1",
        "::2",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:8.8.8.8",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "100:0:0:1::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:a00:1::1",
        "2002:a9fe:a9fe::1",
        "2620:4f:8000::1",
        "3fff::1",
        "3fff:fff::1",
        "5f00::1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "4000::1",
        "1fff::1",
    };
    struct guard *g = make(NULL, 0);

    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        if (allows(g, closed[i]))
            fail_msg("%s is open", closed[i]);
    guard_free(&g);
    assert_null(g);
}

static void test_guard__public_addresses_are_open(void **state UNUSED)
{
    static const char *const open[] = {
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        /* IPv6 */
        "2000::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2001:db7::1",
        "2001:db9::1",
        "2002:808:808::1",
        "2003::1",
        "2606:4700::1111",
        "2620:4f:8001::1",
        "3ffe::1",
        "3fff:1000::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    };
    struct guard *g = make(NULL, 0);

    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (!allows(g, open[i]))
            fail_msg("%s is closed", open[i]);
    guard_free(&g);
}

static void test_guard__opened_ranges(void **state UNUSED)
{
    static const struct str cidrs[] = {
        {"127.0.0.0/8", 11},   {" ::1 ", 5},        {"10.1.2.3/32", 11},
        {"172.16.0.0/13", 13}, {"fd00:1::/33", 11},
    };
    struct guard *g = make(cidrs, sizeof cidrs / sizeof cidrs[0]);

    assert_true(allows(g, "127.0.0.1"));
    assert_true(allows(g, "127.9.9.9"));
    assert_true(allows(g, "::ffff:127.0.0.1"));
    assert_true(allows(g, "::1"));
    assert_false(allows(g, "::2"));
    assert_true(allows(g, "10.1.2.3"));
    assert_false(allows(g, "10.1.2.4"));
    assert_false(allows(g, "10.1.2.2"));
    assert_true(allows(g, "172.23.255.255"));
    assert_false(allows(g, "172.24.0.0"));
    assert_true(allows(g, "fd00:1:7fff::1"));
    assert_false(allows(g, "fd00:1:8000::1"));
    assert_true(allows(g, "8.8.8.8"));
    guard_free(&g);
}

static void test_guard__everything_of_a_family(void **state UNUSED)
{
    static const struct str v4 = {"0.0.0.0/0", 9}, v6 = {"::/0", 4},
                            mapped = {"::ffff:10.0.0.0/104", 19};
    struct guard *g = make(&v4, 1);

    assert_true(allows(g, "127.0.0.1"));
    assert_false(allows(g, "::1"));
    guard_free(&g);
    g = make(&v6, 1);
    assert_true(allows(g, "::1"));
    assert_true(allows(g, "fe80::1"));
    assert_false(allows(g, "127.0.0.1"));
    guard_free(&g);
    g = make(&mapped, 1);
    assert_true(allows(g, "10.3.4.5"));
    assert_false(allows(g, "127.0.0.1"));
    guard_free(&g);
}

static void test_guard__bits_behind_the_prefix_do_not_count(void **state UNUSED)
{
    static const struct str cidr = {"127.0.0.1/8", 11};
    struct guard *g = make(&cidr, 1);

    assert_true(allows(g, "127.200.0.1"));
    guard_free(&g);
}

static void test_guard__bad_ranges_are_named(void **state UNUSED)
{
    static const char *const bad[] = {
        "",
        "10",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "10.0.0.0/8/8",
        "::/129",
        "localhost",
        "010.0.0.1",
        "10.0.0.0/x",
        "[::1]",
        "1.2.3.4.5",
        "10.0.0.0/+8",
        "fe80::1%eth0",
        "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/64",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct str cidrs[2] = {STR("127.0.0.1"), str_from(bad[i])};
        struct err err = ERR_INIT;
        struct guard *g = NULL;

        if (guard_new(cidrs, 2, &g, &err) != RC_INPUT)
            fail_msg("%s is taken", bad[i]);
        assert_null(g);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

static void test_guard__other_families_are_closed(void **state UNUSED)
{
    static const struct str all[] = {{"0.0.0.0/0", 9}, {"::/0", 4}};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct guard *g = make(all, 2);

    assert_false(guard_allows(g, (struct sockaddr *)&un));
    assert_false(guard_is_loopback((struct sockaddr *)&un));
    guard_free(&g);
}

/* ETIQ-04 */
static void test_guard__nearness(void **state UNUSED)
{
    static const char *const near[] = {"8.8.8.8", "10.1.2.3", "127.0.0.2"};

    for (size_t i = 0; i < 3; i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};

        assert_int_equal(inet_pton(AF_INET, near[i], &v4.sin_addr), 1);
        assert_int_equal(guard_nearness((struct sockaddr *)&v4), NEAR_NOT + i);
    }
}

static void test_guard__loopback(void **state UNUSED)
{
    static const struct {
        const char *text;
        bool loopback;
    } rows[] = {
        {"127.0.0.1", true},           {"127.1.2.3", true},  {"::1", true},
        {"::ffff:127.0.0.1", true},    {"0.0.0.0", false},   {"::", false},
        {"::ffff:10.0.0.1", false},    {"128.0.0.1", false}, {"10.0.0.1", false},
        {"64:ff9b::127.0.0.1", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        union any addr = address(rows[i].text);

        if (guard_is_loopback(&addr.sa) != rows[i].loopback)
            fail_msg("%s", rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard__special_ranges_are_closed),
        cmocka_unit_test(test_guard__public_addresses_are_open),
        cmocka_unit_test(test_guard__opened_ranges),
        cmocka_unit_test(test_guard__everything_of_a_family),
        cmocka_unit_test(test_guard__bits_behind_the_prefix_do_not_count),
        cmocka_unit_test(test_guard__bad_ranges_are_named),
        cmocka_unit_test(test_guard__other_families_are_closed),
        cmocka_unit_test(test_guard__nearness),
        cmocka_unit_test(test_guard__loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
