/* tests/unit/api/test_cloud_asked.c - what a registration at our cloud asks for. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "api/hub/cloud_asked.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;
static struct str why;

static struct cloud_asked good(void)
{
    struct cloud_asked asked = {.procedure = STR_NULL,
                                .port = STR("5337"),
                                .path = STR("/notify"),
                                .protocol = STR("http-post"),
                                .domain = STR("Sink.example")};

    assert_true(cloud_asked_add(&arena, &asked, STR("http://a.example/f")));
    return asked;
}

static bool read_it(const struct cloud_asked *asked, struct hub_intent *out)
{
    struct sockaddr_in caller = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xC0000207)};

    *out = (struct hub_intent){.mode = HUB_SUBSCRIBE};
    return cloud_asked_read(&arena, asked, (const struct sockaddr *)&caller, out, &why);
}

static void is_called_at(const struct cloud_asked *asked, const char *url)
{
    struct hub_intent in;

    assert_true(read_it(asked, &in));
    if (!str_eqz(in.callback, url))
        fail_msg("%.*s", STR_ARG(in.callback));
}

/* CLOUD-01 CLOUD-02 */
static void test_cloud_asked__the_handler(void **state UNUSED)
{
    struct cloud_asked asked = good();
    struct hub_intent in;

    is_called_at(&asked, "http://sink.example:5337/notify");
    assert_true(read_it(&asked, &in) && !in.at_caller && in.protocol == CLOUD_HTTP_POST);
    asked.port = STR("443");
    is_called_at(&asked, "https://sink.example/notify");
    asked.port = STR("80");
    asked.path = STR("/?rsscloud=notify");
    is_called_at(&asked, "http://sink.example/?rsscloud=notify");
    asked.path = STR("//other.example/");
    is_called_at(&asked, "http://sink.example//other.example/");
    asked.path = STR("/a");
    asked.domain = STR("::1");
    is_called_at(&asked, "http://[::1]/a");
    asked.domain = STR(" ");
    is_called_at(&asked, "http://192.0.2.7/a");
    assert_true(read_it(&asked, &in) && in.at_caller);
}

/* CLOUD-02 */
static void test_cloud_asked__callers_by_ipv6(void **state UNUSED)
{
    struct cloud_asked asked = good();
    struct sockaddr_in6 caller = {.sin6_family = AF_INET6};
    struct hub_intent in = {.mode = HUB_SUBSCRIBE};

    asked.domain = STR_NULL;
    inet_pton(AF_INET6, "2001:db8::7", &caller.sin6_addr);
    assert_true(cloud_asked_read(&arena, &asked, (const struct sockaddr *)&caller, &in, &why));
    assert_true(str_eqz(in.callback, "http://[2001:db8::7]:5337/notify"));
    inet_pton(AF_INET6, "::ffff:192.0.2.9", &caller.sin6_addr);
    assert_true(cloud_asked_read(&arena, &asked, (const struct sockaddr *)&caller, &in, &why));
    assert_true(str_eqz(in.callback, "http://192.0.2.9:5337/notify"));
}

/* CLOUD-03 */
static void test_cloud_asked__procedures(void **state UNUSED)
{
    struct cloud_asked asked = good();
    struct hub_intent in;

    asked.protocol = STR("xml-rpc");
    assert_false(read_it(&asked, &in));
    asked.procedure = STR("river.onNews:2/x_y");
    assert_true(read_it(&asked, &in));
    assert_true(str_eqz(in.procedure, "river.onNews:2/x_y"));
    asked.procedure = STR("</methodName>");
    assert_false(read_it(&asked, &in));
    asked.procedure = str_of("a\0b", 3);
    assert_false(read_it(&asked, &in));
}

/* CLOUD-03 */
static void test_cloud_asked__no_other_host_through_path_or_domain(void **state UNUSED)
{
    static const char *const paths[] = {"x", "@x/", ":1/", "/a\nb", "/#", "/\\x", "/ ", ""};
    static const char *const domains[] = {"a/b", "a:1", "u@a", "a?", "a#", "[::1]:1", "a b", "[a"};
    struct hub_intent in;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct cloud_asked asked = good();

        asked.path = str_concat(&arena, str_from(paths[i]), STR("x"));
        if (i == ARRAY_LEN(paths) - 1)
            asked.path = STR("");
        assert_false(read_it(&asked, &in));
    }
    for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
        struct cloud_asked asked = good();

        asked.domain = str_from(domains[i]);
        assert_false(read_it(&asked, &in));
    }
}

/* CLOUD-04 */
static void test_cloud_asked__a_hundred_urls(void **state UNUSED)
{
    struct cloud_asked asked = {.n_urls = 0};

    for (int i = 0; i < 2 * CLOUD_URLS_MAX; i++)
        assert_true(
            cloud_asked_add(&arena, &asked, str_printf(&arena, "http://a/%d", i % CLOUD_URLS_MAX)));
    assert_int_equal(CLOUD_URLS_MAX, asked.n_urls);
    assert_false(cloud_asked_add(&arena, &asked, STR("http://a/more")));
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cloud_asked__the_handler),
        cmocka_unit_test(test_cloud_asked__callers_by_ipv6),
        cmocka_unit_test(test_cloud_asked__procedures),
        cmocka_unit_test(test_cloud_asked__no_other_host_through_path_or_domain),
        cmocka_unit_test(test_cloud_asked__a_hundred_urls),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
