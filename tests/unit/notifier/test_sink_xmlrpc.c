/* tests/unit/notifier/test_sink_xmlrpc.c - feedReceived() calls and what their answers mean. */
#include <string.h>

#include "base/digest.h"
#include "net/xmlrpc.h"
#include "notifier/carrier_http.h"
#include "notifier/sink.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;
static struct buf body = BUF_INIT(SINK_BODY_MAX);

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    buf_release(&body);
    return 0;
}

static struct revision revision(const char *doc)
{
    return (struct revision){.seq = 7,
                             .at_us = 1700000000 * (int64_t)1000000,
                             .kind = REV_NEW,
                             .uid = STR("urn:one"),
                             .published_at = TIME_UNKNOWN,
                             .updated_at = TIME_UNKNOWN,
                             .doc = str_from(doc)};
}

/* The call as text. */
static const char *rendered(int64_t sub_id, const char *url, const struct revision *revs, size_t n)
{
    struct sink_push push = {.sub_id = sub_id, .url = str_from(url), .revisions = revs, .n = n};

    buf_reset(&body);
    assert_int_equal(sink_xmlrpc.entries.body(&arena, &push, &body, NULL), RC_OK);
    return body.ptr;
}

static const char *of_one(struct revision rev)
{
    return rendered(1, "http://example.org/feed", &rev, 1);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* Is there a member of this name whose value is this text? */
static bool has_member(const char *text, const char *name, const char *value)
{
    char *part = arena_printf(&arena, "<member><name>%s</name>", name);
    const char *at = strstr(text, part), *end;

    if (at == NULL || (end = strstr(at, "</member>")) == NULL)
        return false;
    part = arena_copy(&arena, at, (size_t)(end - at));
    return has(part, arena_printf(&arena, "<string>%s</string>", value));
}

static enum sink_verdict judged(enum rc rc, int status, const char *text, struct str *why)
{
    struct carrier_answer answer = {.rc = rc, .status = status, .body = str_from(text)};

    *why = STR_NULL;
    if (rc != RC_OK)
        answer.err = "what the client said";
    return sink_xmlrpc.judge(&arena, &answer, why);
}

/* PUSH-01, PUSH-06, PUSH-07, PUSH-15 */
static void test_sink_xmlrpc__three_parameters(void **state UNUSED)
{
    struct revision rev = revision("{\"id\":\"a\"}");
    const char *text = rendered(42, "http://example.org/?a=1&b=2", &rev, 1);
    const char *first = strstr(text, "<param>"), *second, *third;

    assert_true(has(text, "<methodName>feedReceived</methodName>"));
    second = strstr(first + 1, "<param>");
    third = strstr(second + 1, "<param>");
    assert_null(strstr(third + 1, "<param>"));
    assert_true(has(first, "<int>42</int>"));
    assert_true(has(second, "<string>http://example.org/?a=1&amp;b=2</string>"));
    assert_true(has(third, "<array>"));
    assert_true(has(third, "<struct>"));
    assert_false(has(text, "nil") || has(text, "<i8>") || has(text, "<ex:"));
}

/* PUSH-02 */
static void test_sink_xmlrpc__method_and_content_type(void **state UNUSED)
{
    struct sink_push push = {.sub_id = 1, .url = STR("http://example.org/")};
    struct carrier_load load = {.own = NULL};
    const struct http_load *call;

    assert_int_equal(RC_OK, sink_xmlrpc.entries.seal(&arena, &push, &load, NULL));
    call = load.own;
    assert_true(str_eqz(call->method, "POST"));
    assert_int_equal(call->n_fields, 1);
    assert_true(str_ieqz(call->fields[0].name, "Content-Type"));
    assert_true(str_starts(call->fields[0].value, STR("text/xml")));
}

/* What a body has behind its front is the same for all subscriptions. */
static void test_sink_xmlrpc__only_the_front_names_the_subscription(void **state UNUSED)
{
    static const int64_t ids[] = {1, 42, 2147483647, 2147483648, 1234567890123};
    struct revision rev = revision("{\"title\":\"</param>\"}");
    struct str rest = STR_NULL;

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct buf front = BUF_INIT(BUF_ANY);
        struct str all = str_from(rendered(ids[i], "http://example.org/", &rev, 1));

        sink_xmlrpc.entries.front(&front, &(struct sink_push){.sub_id = ids[i]});
        assert_true(front.len > 0);
        assert_true(str_starts(all, buf_view(&front)));
        all = str_slice(all, front.len, all.len);
        assert_true(i == 0 || str_eq(rest, all));
        rest = str_dup(&arena, all);
        buf_release(&front);
    }
}

/* PUSH-03: every member of the stored object, extensions too. */
static void test_sink_xmlrpc__all_members_of_the_object(void **state UNUSED)
{
    const char *text =
        of_one(revision("{\"id\":\"i\",\"title\":\"T\",\"link\":\"http://l/\",\"summary\":\"S\","
                        "\"updated\":\"U\",\"digg_diggcount\":\"42\","
                        "\"product_content_\":{\"price\":\"$2,021.99\"},"
                        "\"updated_parsed\":[2003,6,3,9,39,21,1,154,0],\"none\":null}"));

    assert_true(has_member(text, "id", "i"));
    assert_true(has_member(text, "title", "T"));
    assert_true(has_member(text, "link", "http://l/"));
    assert_true(has_member(text, "summary", "S"));
    assert_true(has_member(text, "updated", "U"));
    assert_true(has_member(text, "digg_diggcount", "42"));
    assert_true(has_member(text, "price", "$2,021.99"));
    assert_true(has(text, "<name>updated_parsed</name>"));
    assert_true(has(text, "154"));
    assert_false(has(text, "none"));
}

/* A stored document that cannot be read must not hold up the subscription. */
static void test_sink_xmlrpc__broken_document_is_pushed_by_its_columns(void **state UNUSED)
{
    static const char *const broken[] = {"{\"id\":", "[1]", "", "\xff", "{\"id\":}"};

    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct revision rev = revision(broken[i]);

        rev.title = STR("the title");
        assert_true(has_member(of_one(rev), "title", "the title"));
    }
}

/* PUSH-14 */
static void test_sink_xmlrpc__unicode_survives(void **state UNUSED)
{
    const char *text =
        of_one(revision("{\"title\":\"\xe2\x98\x83 & <b> ]]> \xf0\x9f\x98\x80\\u0001!\"}"));
    struct str all = str_from(text);

    assert_true(has(text, "\xe2\x98\x83 &amp; &lt;b&gt; ]]&gt; "));
    assert_true(has(text, "\xf0\x9f\x98\x80") || has(text, "&#x1F600;") || has(text, "&#128512;"));
    assert_int_equal(str_chr(all, '\x01'), -1);
    assert_int_equal(str_utf8_valid(all), all.len);
}

/* PUSH-04: in the order given; PUSH-17: a deletion is not an entry. */
static void test_sink_xmlrpc__order_kept_deletions_left_out(void **state UNUSED)
{
    struct revision revs[] = {revision("{\"title\":\"one\"}"), revision("{\"title\":\"gone\"}"),
                              revision("{\"title\":\"two\"}")};
    const char *text;

    revs[1].kind = REV_DELETED;
    text = rendered(1, "http://example.org/", revs, 3);
    assert_true(strstr(text, ">one<") < strstr(text, ">two<"));
    assert_false(has(text, "gone"));
}

static void test_sink_xmlrpc__over_the_maximum(void **state UNUSED)
{
    struct revision rev = revision("{\"title\":\"a title that does not fit\"}");
    struct sink_push push = {
        .sub_id = 1, .url = STR("http://example.org/"), .revisions = &rev, .n = 1};
    struct buf small = BUF_INIT(300);

    assert_int_equal(sink_xmlrpc.entries.body(&arena, &push, &small, NULL), RC_LIMIT);
    buf_release(&small);
}

#define ANSWER(inside) "<?xml version=\"1.0\"?><methodResponse>" inside "</methodResponse>"

/* PUSH-11, D6 */
static void test_sink_xmlrpc__any_200_is_delivered(void **state UNUSED)
{
    static const char *const bodies[] = {
        ANSWER("<params><param><value><i4>1</i4></value></param></params>"),
        ANSWER("<params><param><value><nil/></value></param></params>"),
        ANSWER("<params><param><value><struct></struct></value></param></params>"),
        ANSWER("<params/>"),
        "",
        "garbage",
        "<html><body>ok",
        "\xff\xfe",
    };
    struct str why;

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        assert_int_equal(judged(RC_OK, 200, bodies[i], &why), SINK_DELIVERED);
    assert_int_equal(judged(RC_OK, 204, "", &why), SINK_DELIVERED);
    assert_int_equal(judged(RC_LIMIT, 200, "", &why), SINK_DELIVERED);
}

/* PUSH-10, D6 */
static void test_sink_xmlrpc__fault_is_delivered_and_told(void **state UNUSED)
{
    const char *fault = ANSWER(
        "<fault><value><struct><member><name>faultCode</name><value><int>1</int></value></member>"
        "<member><name>faultString</name><value><string>cannot marshal None</string></value>"
        "</member></struct></value></fault>");
    struct str why;

    assert_int_equal(judged(RC_OK, 200, fault, &why), SINK_FAULT);
    assert_true(str_find(why, STR("cannot marshal None")) >= 0);
    assert_int_equal(judged(RC_OK, 500, fault, &why), SINK_FAILED);
}

/* PUSH-09 */
static void test_sink_xmlrpc__anything_else_failed(void **state UNUSED)
{
    static const int statuses[] = {100, 199, 300, 301, 302, 304, 400, 404, 410, 429, 500, 503};
    struct str why;

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        assert_int_equal(judged(RC_OK, statuses[i], "", &why), SINK_FAILED);
        assert_true(str_find(why, str_printf(&arena, "%d", statuses[i])) >= 0);
    }
    assert_int_equal(judged(RC_PEER, 0, "", &why), SINK_FAILED);
    assert_true(str_eqz(why, "what the client said"));
    assert_int_equal(judged(RC_TIMEOUT, 200, "", &why), SINK_FAILED);
    assert_int_equal(judged(RC_DENIED, 0, "", &why), SINK_FAILED);
    assert_int_equal(judged(RC_LIMIT, 500, "", &why), SINK_FAILED);
}

static void test_sink_xmlrpc__found_by_name(void **state UNUSED)
{
    assert_ptr_equal(sink_find(STR("xmlrpc")), &sink_xmlrpc);
    assert_ptr_equal(sink_find(STR("websub")), &sink_websub);
    assert_null(sink_find(STR("XMLRPC")));
    assert_null(sink_find(STR_NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sink_xmlrpc__three_parameters),
        cmocka_unit_test(test_sink_xmlrpc__method_and_content_type),
        cmocka_unit_test(test_sink_xmlrpc__only_the_front_names_the_subscription),
        cmocka_unit_test(test_sink_xmlrpc__all_members_of_the_object),
        cmocka_unit_test(test_sink_xmlrpc__broken_document_is_pushed_by_its_columns),
        cmocka_unit_test(test_sink_xmlrpc__unicode_survives),
        cmocka_unit_test(test_sink_xmlrpc__order_kept_deletions_left_out),
        cmocka_unit_test(test_sink_xmlrpc__over_the_maximum),
        cmocka_unit_test(test_sink_xmlrpc__any_200_is_delivered),
        cmocka_unit_test(test_sink_xmlrpc__fault_is_delivered_and_told),
        cmocka_unit_test(test_sink_xmlrpc__anything_else_failed),
        cmocka_unit_test(test_sink_xmlrpc__found_by_name),
    };

    digest_init();
    rpc_init();
    return cmocka_run_group_tests(tests, NULL, teardown);
}
