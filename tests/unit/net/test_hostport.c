/* Hosts with ports: what is one, and which of them are this machine. */
#include "tests/unit/cmocka_all.h"

#include "net/hostport.h"

static void test_hostport__reads_hosts_and_ports(void **state UNUSED)
{
    static const struct {
        const char *text, *host, *written;
        enum host_kind kind;
        int port;
    } rows[] = {
        {"a.example", "a.example", "a.example", HOST_NAME, -1},
        {"a.example:", "a.example", "a.example", HOST_NAME, -1},
        {"a.example:0", "a.example", "a.example", HOST_NAME, 0},
        {"localhost:65535", "localhost", "localhost", HOST_NAME, 65535},
        {"192.0.2.7:80", "192.0.2.7", "192.0.2.7", HOST_IPV4, 80},
        {"1.2.3", "1.2.3", "1.2.3", HOST_NAME, -1},
        {"[::1]", "::1", "[::1]", HOST_IPV6, -1},
        {"[2001:db8::7]:00080", "2001:db8::7", "[2001:db8::7]", HOST_IPV6, 80},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hostport hp;

        if (!hostport_parse(str_from(rows[i].text), &hp))
            fail_msg("%s", rows[i].text);
        assert_str(hp.host, rows[i].host);
        assert_str(hp.written, rows[i].written);
        assert_int_equal(hp.kind, rows[i].kind);
        assert_int_equal(hp.port, rows[i].port);
    }
}

static void test_hostport__refuses_all_else(void **state UNUSED)
{
    static const char *const rows[] = {
        "",       ":80", "a:80:x", "127.0.0.1:80:x", "[::1]x",      "[::1]80",   "[::1", "::1",
        "::1:80", "[]",  "[evil]", "[1.2.3.4]",      "a:65536",     "a:000080",  "a:-1", "a: 80",
        "a b",    "a/b", "u@a",    "a]:80",          "[::1]:80:80", "[::1%eth0]"};
    struct hostport hp;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (hostport_parse(str_from(rows[i]), &hp))
            fail_msg("%s", rows[i]);
    assert_false(hostport_parse(STR_NULL, &hp));
    assert_false(hostport_parse(STR("a\0b"), &hp));
}

static void test_hostport__an_address_to_listen_on_may_have_a_zone(void **state UNUSED)
{
    static const char *const wrong[] = {"[fe80::1%]:80", "[%eth0]:80", "127.0.0.1%lo",
                                        "fe80::1%lo"};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hostport hp;

    assert_true(hostport_parse_listen(STR("[fe80::1%eth0]:80"), &hp));
    assert_int_equal(hp.kind, HOST_IPV6);
    assert_str(hp.host, "fe80::1");
    assert_str(hp.zone, "eth0");
    assert_str(hp.written, "[fe80::1%eth0]");
    assert_int_equal(hp.port, 80);
    assert_str(hostport_in_url(&a, &hp), "[fe80::1%25eth0]");
    assert_true(hostport_parse_listen(STR("[::1%lo]:80"), &hp) && hostport_is_loopback(&hp));
    assert_true(hostport_parse_listen(STR("[::1]:80"), &hp) && str_is_null(hp.zone));
    assert_str(hostport_in_url(&a, &hp), "[::1]");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (hostport_parse_listen(str_from(wrong[i]), &hp) && hp.kind == HOST_IPV6)
            fail_msg("%s", wrong[i]);
}

static void test_hostport__knows_this_machine(void **state UNUSED)
{
    static const struct {
        const char *text;
        bool loopback, any;
    } rows[] = {
        {"127.0.0.1:80", true, false},      {"127.9.9.9", true, false},
        {"[::1]:80", true, false},          {"[::ffff:127.0.0.1]", true, false},
        {"localhost:1", true, false},       {"LocalHost.", true, false},
        {"a.localhost", true, false},       {"127.0.0.1.evil.example", false, false},
        {"127.evil.example", false, false}, {"notlocalhost", false, false},
        {"0.0.0.0:80", false, true},        {"[::]:80", false, true},
        {"192.0.2.1", false, false},        {"[2001:db8::1]", false, false},
    };
    struct hostport hp;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(hostport_parse(str_from(rows[i].text), &hp));
        if (hostport_is_loopback(&hp) != rows[i].loopback || hostport_is_any(&hp) != rows[i].any)
            fail_msg("%s", rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostport__reads_hosts_and_ports),
        cmocka_unit_test(test_hostport__refuses_all_else),
        cmocka_unit_test(test_hostport__an_address_to_listen_on_may_have_a_zone),
        cmocka_unit_test(test_hostport__knows_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
