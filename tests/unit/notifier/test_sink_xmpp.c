/* tests/unit/notifier/test_sink_xmpp.c - messages by XMPP, and what the answers to them mean. */
#include "feed/text/xmpp_settings.h"
#include "net/component.h"
#include "notifier/carrier_xmpp.h"
#include "notifier/sink.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;
static struct carrier_load load;
static struct revision revisions[3];
static struct item_text items[3];
static const struct sink_entries *const xmpp = &sink_xmpp.entries;

static int teardown(void **state UNUSED)
{
    buf_release(&load.body);
    arena_release(&arena);
    return 0;
}

static struct sink_push usual(void)
{
    for (int i = 0; i < 3; i++) {
        revisions[i] = (struct revision){.seq = 7 + i, .at_us = 1700000000000000, .feed_id = 5};
        items[i] = (struct item_text){STR("urn:a\"&b"), STR("<entry/>")};
    }
    return (struct sink_push){.sub_id = 3,
                              .url = STR("http://p.test/?a=b&c"),
                              .revisions = revisions,
                              .n = 2,
                              .log_id = STR("0123456789abcdef"),
                              .prev = {4, 1600000000000000},
                              .last = {8, 1700000000000000},
                              .settings =
                                  xmpp_settings_write(&arena, STR("smart?url=u&order=<\">")),
                              .endpoint = STR("xmpp:alice@b.test/my%20desk%27"),
                              .sender = STR("feeds.test"),
                              .drawn = {.items = items, .total = 12}};
}

static const char *made(const struct sink_push *push)
{
    struct err err = ERR_INIT;

    load.body = (struct buf)BUF_INIT(SINK_BODY_MAX);
    assert_int_equal(xmpp->body(&arena, push, &load.body, &err), RC_OK);
    assert_int_equal(xmpp->seal(&arena, push, &load, &err), RC_OK);
    return load.body.ptr;
}

static const char *id_of_load(void)
{
    return str_z(&arena, ((const struct xmpp_load *)load.own)->id);
}

/* XMPP-12 XMPP-13 */
static void test_sink_xmpp__message(void **state UNUSED)
{
    struct sink_push push = usual();
    const char *body = made(&push);
    char wanted[2000];

    snprintf(
        wanted, sizeof wanted,
        "<message type=\"headline\" id=\"%s\" from=\"feeds.test\" to=\"alice@b.test/my desk'\">"
        "<event xmlns=\"http://jabber.org/protocol/pubsub#event\">"
        "<items node=\"smart?url=u&amp;order=&lt;&quot;&gt;\">"
        "<item id=\"urn:a&quot;&amp;b\"><entry/></item>"
        "<item id=\"urn:a&quot;&amp;b\"><entry/></item></items></event>"
        "<headers xmlns=\"http://jabber.org/protocol/shim\">"
        "<header name=\"TotalItems\">12</header>"
        "<header name=\"PreviousCursor\">fm1.01234567.4.1600000000000000</header>"
        "<header name=\"LastCursor\">fm1.01234567.8.1700000000000000</header></headers>"
        "</message>",
        id_of_load());
    assert_string_equal(wanted, body);
    assert_string_equal("b.test", str_z(&arena, ((const struct xmpp_load *)load.own)->host));
}

static void test_sink_xmpp__same_id_in_each_try(void **state UNUSED)
{
    struct sink_push push = usual();
    const char *id, *other;

    made(&push);
    id = id_of_load();
    buf_release(&load.body);
    push.drawn.total = 13; /* it may change between two tries */
    made(&push);
    assert_string_equal(id, id_of_load());
    buf_release(&load.body);
    push.generation++; /* a replay */
    made(&push);
    other = id_of_load();
    assert_string_not_equal(id, other);
    buf_release(&load.body);
    push.dead_id = 4;
    made(&push);
    assert_string_not_equal(other, id_of_load());
}

/* A subscription that was made by HTTP has no node. */
static void test_sink_xmpp__node_of_the_feed(void **state UNUSED)
{
    struct sink_push push = usual();

    push.settings = STR_NULL;
    assert_non_null(strstr(made(&push), "node=\"smart?url=http%3A%2F%2Fp.test%2F%3Fa%3Db%26c\""));
    buf_release(&load.body);
    push.settings = STR("not JSON");
    assert_non_null(strstr(made(&push), "node=\"smart?url=http"));
}

static void test_sink_xmpp__test(void **state UNUSED)
{
    struct sink_push push = usual();
    const char *body;

    push.n = 0;
    body = made(&push);
    assert_non_null(strstr(body, "<body>This is a test"));
    assert_null(strstr(body, "<item "));
}

/* XMPP-18 */
static void test_sink_xmpp__size(void **state UNUSED)
{
    struct sink_push push = usual();
    char *large = arena_alloc(&arena, xmpp->item_max);
    struct err err = ERR_INIT;

    memset(large, 'x', xmpp->item_max);
    items[0].xml = str_of(large, xmpp->item_max);
    items[1].xml = str_of(large, xmpp->item_max / 2);
    load.body = (struct buf)BUF_INIT(SINK_BODY_MAX);
    assert_int_equal(xmpp->body(&arena, &push, &load.body, &err), RC_LIMIT);
    buf_reset(&load.body);
    push.n = 1;
    assert_int_equal(xmpp->body(&arena, &push, &load.body, &err), RC_OK);
    assert_true(load.body.len <= COMPONENT_STANZA_MAX);
}

static void test_sink_xmpp__what_answers_mean(void **state UNUSED)
{
    static const struct {
        const char *answer;
        enum sink_verdict verdict;
    } rows[] = {
        {"", SINK_DELIVERED},
        {"gone", SINK_GONE},
        {"gone: moved away", SINK_GONE},
        {"item-not-found", SINK_GONE},
        {"jid-malformed", SINK_GONE},
        {"not-acceptable: too large", SINK_REFUSED},
        {"bad-request", SINK_REFUSED},
        {"policy-violation", SINK_REFUSED},
        {"recipient-unavailable", SINK_FAILED},
        {"service-unavailable", SINK_FAILED},
        {"remote-server-not-found: gone", SINK_FAILED},
        {"undefined-condition", SINK_FAILED},
        {"gone-away", SINK_FAILED},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct carrier_answer answer = {.rc = RC_OK, .body = str_from(rows[i].answer)};
        struct str why = STR_NULL;

        assert_int_equal(sink_xmpp.judge(&arena, &answer, &why), rows[i].verdict);
        assert_true(str_is_null(why) == (rows[i].verdict == SINK_DELIVERED));
    }
}

static void test_sink_xmpp__no_answer(void **state UNUSED)
{
    struct carrier_answer answer = {.rc = RC_TIMEOUT, .err = "no sign of life"};
    struct str why = STR_NULL;

    assert_int_equal(sink_xmpp.judge(&arena, &answer, &why), SINK_FAILED);
    assert_string_equal("no sign of life", str_z(&arena, why));
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(test_sink_xmpp__##name, teardown)
    const struct CMUnitTest tests[] = {
        T(message), T(same_id_in_each_try), T(node_of_the_feed), T(test),
        T(size),    T(what_answers_mean),   T(no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
