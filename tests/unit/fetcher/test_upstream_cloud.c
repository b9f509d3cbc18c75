/* tests/unit/fetcher/test_upstream_cloud.c - what is said to and by the cloud of a publisher. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/upstream_cloud.h"
#include "net/xmlrpc.h"

static struct arena arena = ARENA_INIT;

static struct value *element(const char *domain, const char *port, const char *path,
                             const char *procedure, const char *protocol)
{
    struct value *v = value_dict(&arena);
    const char *texts[][2] = {{"domain", domain},
                              {"port", port},
                              {"path", path},
                              {"registerprocedure", procedure},
                              {"protocol", protocol}};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i][1] != NULL)
            value_set_text(&arena, v, str_from(texts[i][0]), str_from(texts[i][1]));
    return v;
}

/* CLOUD-07 */
static void test_cloud__elements(void **state UNUSED)
{
    static const struct {
        const char *domain, *port, *path, *procedure, *protocol;
        const char *url; /* NULL: not used */
        enum hub_protocol as;
        const char *calls;
    } rows[] = {
        {"rpc.example", "5337", "/pleaseNotify", "", "http-post",
         "http://rpc.example:5337/pleaseNotify", CLOUD_HTTP_POST, NULL},
        {"Rpc.Example", "80", "/?rsscloud=notify", NULL, " HTTP-POST ",
         "http://rpc.example/?rsscloud=notify", CLOUD_HTTP_POST, NULL},
        {"rpc.example", "443", "RPC2", "a.b", "xml-rpc", "https://rpc.example/RPC2", CLOUD_XML_RPC,
         "a.b"},
        {"[::1]", NULL, NULL, "", "xml-rpc", "http://[::1]/", CLOUD_XML_RPC,
         "rssCloud.pleaseNotify"},
        {"rpc.example", "80", "@other.example/", "", "http-post",
         "http://rpc.example/@other.example/", CLOUD_HTTP_POST, NULL},
        {"rpc.example", "80", "/RPC2", "a", "soap", NULL, HUB_WEBSUB, NULL},
        {"rpc.example", "80", "/RPC2", "a b", "xml-rpc", NULL, HUB_WEBSUB, NULL},
        {"rpc.example", "80", "/", "", NULL, NULL, HUB_WEBSUB, NULL},
        {"rpc.example", "0", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
        {"rpc.example", "65536", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
        {"rpc.example", "x", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
        {"rpc.example:81", "80", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
        {"user@rpc.example", "80", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
        {"http://rpc.example/", "80", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
        {NULL, "80", "/", "", "http-post", NULL, HUB_WEBSUB, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct upstream_hub hub;
        struct str why = STR_NULL;
        bool used = upstream_cloud_read(&arena,
                                        element(rows[i].domain, rows[i].port, rows[i].path,
                                                rows[i].procedure, rows[i].protocol),
                                        &hub, &why);

        if (used != (rows[i].url != NULL) || used == (why.len > 0))
            fail_msg("row %zu: %.*s", i, STR_ARG(why));
        if (!used)
            continue;
        if (!str_eqz(hub.url, rows[i].url))
            fail_msg("row %zu: %.*s", i, STR_ARG(hub.url));
        assert_int_equal(rows[i].as, hub.protocol);
        assert_true(rows[i].calls == NULL ? str_is_null(hub.procedure)
                                          : str_eqz(hub.procedure, rows[i].calls));
    }
}

/* CLOUD-07: by convention https means port 443, and the other way round. */
static void test_cloud__what_it_can_call(void **state UNUSED)
{
    assert_true(upstream_cloud_can_call(STR("http://a.example")));
    assert_true(upstream_cloud_can_call(STR("http://a.example:8080/mill")));
    assert_true(upstream_cloud_can_call(STR("https://a.example/mill")));
    assert_false(upstream_cloud_can_call(STR("https://a.example:8443")));
    assert_false(upstream_cloud_can_call(STR("http://a.example:443")));
    assert_false(upstream_cloud_can_call(STR("nonsense")));
}

/* CLOUD-07 */
static void test_cloud__registration(void **state UNUSED)
{
    AUTO(buf_release) struct buf body = BUF_INIT(BUF_ANY);
    struct upstream_hub cloud = {STR("http://rpc.example/"), CLOUD_HTTP_POST, STR_NULL};
    struct str callback = STR("https://me.example/mill/notify/t0k"), topic = STR("http://a/?b&c");

    assert_str(upstream_cloud_write(&body, &cloud, callback, topic),
               "application/x-www-form-urlencoded");
    assert_str(buf_view(&body),
               "notifyProcedure=&port=443&path=%2Fmill%2Fnotify%2Ft0k&protocol=http-post"
               "&url1=http%3A%2F%2Fa%2F%3Fb%26c&domain=me.example");
    buf_reset(&body);
    cloud.protocol = CLOUD_XML_RPC;
    cloud.procedure = STR("a.b");
    assert_str(upstream_cloud_write(&body, &cloud, callback, topic), "text/xml");
    assert_true(str_find(buf_view(&body), STR("<methodName>a.b</methodName>")) > 0);
    assert_true(str_find(buf_view(&body), STR("rssCloud.notify")) > 0);
    assert_true(str_find(buf_view(&body), STR("<array>")) > 0);
}

/* CLOUD-07 */
static void test_cloud__answers(void **state UNUSED)
{
#define RPC(value) "<?xml version=\"1.0\"?><methodResponse>" value "</methodResponse>"
#define PARAM(value) RPC("<params><param><value>" value "</value></param></params>")
    static const struct {
        enum hub_protocol protocol;
        const char *body, *why; /* `why` NULL: accepted */
    } rows[] = {
        {CLOUD_HTTP_POST, "<?xml version=\"1.0\"?><notifyResult success=\"true\" msg=\"ok\"/>",
         NULL},
        {CLOUD_HTTP_POST, "<notifyResult success='True' />", NULL},
        {CLOUD_HTTP_POST, "<notifyResult success=\"false\" msg=\" it&apos;s off &amp; on\"/>",
         "it's off & on"},
        {CLOUD_HTTP_POST, "<notifyResult success=\"false\"/>", ""},
        {CLOUD_HTTP_POST, "<notifyResult/>", ""},
        {CLOUD_HTTP_POST, "<!-- <notifyResult success='true'/> -->", ""},
        {CLOUD_HTTP_POST, "success=\"true\"", ""},
        {CLOUD_HTTP_POST, "", ""},
        {CLOUD_XML_RPC, PARAM("<boolean>1</boolean>"), NULL},
        {CLOUD_XML_RPC, PARAM("<boolean>0</boolean>"), "it did not return the boolean true"},
        {CLOUD_XML_RPC, PARAM("true"), "it did not return the boolean true"},
        {CLOUD_XML_RPC,
         RPC("<fault><value><struct><member><name>faultCode</name><value><int>4</int></value>"
             "</member><member><name>faultString</name><value>no such feed</value></member>"
             "</struct></value></fault>"),
         "no such feed"},
        {CLOUD_XML_RPC, "<notifyResult success=\"true\"/>", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str why = STR_NULL;
        bool accepted =
            upstream_cloud_accepted(&arena, rows[i].protocol, str_from(rows[i].body), &why);

        if (accepted != (rows[i].why == NULL) || (!accepted && !str_eqz(why, rows[i].why)))
            fail_msg("row %zu: %d %.*s", i, accepted, STR_ARG(why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cloud__elements),
        cmocka_unit_test(test_cloud__what_it_can_call),
        cmocka_unit_test(test_cloud__registration),
        cmocka_unit_test(test_cloud__answers),
    };
    int n_failed;

    rpc_init();
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return n_failed;
}
