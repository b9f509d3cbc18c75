/* tests/unit/notifier/test_sink_xmpp.c - messages by XMPP, and what the answers to them mean. */
#include "feed/text/xmpp_settings.h"
#include "net/component.h"
#include "notifier/xmpp_message.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;
static struct buf body = BUF_INIT(SINK_BODY_MAX);
static struct revision revisions[3];
static struct item_text items[3];

static int teardown(void **state UNUSED)
{
    buf_release(&body);
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
                                  xmpp_settings_write(&arena, STR("smart?url=u&order=<\">"))};
}

static const char *made(const struct sink_push *push)
{
    struct err err = ERR_INIT;
    struct buf rest = BUF_INIT(BUF_ANY);
    struct xmpp_message m = {
        .push = push, .from = STR("feeds.test"), .to = STR("alice@b.test/my desk'"), .total = 12};

    assert_int_equal(push->n, xmpp_items_write(&rest, items, push->n, 10000));
    m.items = buf_view(&rest);
    buf_reset(&body);
    assert_int_equal(xmpp_message_write(&arena, &m, &body, &err), RC_OK);
    buf_release(&rest);
    return body.ptr;
}

static const char *id_of(const struct sink_push *push)
{
    return str_z(&arena, xmpp_message_id(&arena, push));
}

/* XMPP-12 XMPP-13 */
static void test_sink_xmpp__message(void **state UNUSED)
{
    struct sink_push push = usual();
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
        id_of(&push));
    assert_string_equal(wanted, made(&push));
}

static void test_sink_xmpp__same_id_in_each_try(void **state UNUSED)
{
    struct sink_push push = usual();
    const char *id = id_of(&push), *other;

    assert_string_equal(id, id_of(&push));
    push.generation++; /* a replay */
    other = id_of(&push);
    assert_string_not_equal(id, other);
    push.dead_id = 4;
    assert_string_not_equal(other, id_of(&push));
}

/* A subscription that was made by HTTP has no node. */
static void test_sink_xmpp__node_of_the_feed(void **state UNUSED)
{
    struct sink_push push = usual();

    push.settings = STR_NULL;
    assert_non_null(strstr(made(&push), "node=\"smart?url=http%3A%2F%2Fp.test%2F%3Fa%3Db%26c\""));
    push.settings = STR("not JSON");
    assert_non_null(strstr(made(&push), "node=\"smart?url=http"));
}

static void test_sink_xmpp__test(void **state UNUSED)
{
    struct sink_push push = usual();

    push.n = 0;
    made(&push);
    assert_non_null(strstr(body.ptr, "<body>This is a test"));
    assert_null(strstr(body.ptr, "<item "));
}

/* XMPP-18: as many items as fit, and always one; the rest of a message fits, too */
static void test_sink_xmpp__size(void **state UNUSED)
{
    size_t max = COMPONENT_STANZA_MAX - XMPP_FRAME_MAX;
    char *large = arena_alloc(&arena, max);
    struct sink_push push = usual();
    struct err err = ERR_INIT;
    struct xmpp_message m = {.push = &push, .from = STR("f"), .to = STR("t")};

    memset(large, 'x', max);
    for (int i = 0; i < 3; i++)
        items[i].xml = str_of(large, max / 3);
    assert_int_equal(2, xmpp_items_write(&body, items, 3, max));
    assert_true(body.len <= max);
    buf_reset(&body);
    items[0].xml = str_of(large, max - 100);
    assert_int_equal(1, xmpp_items_write(&body, items, 3, max));
    m.items = str_dup(&arena, buf_view(&body));
    buf_reset(&body);
    push.n = 1;
    assert_int_equal(xmpp_message_write(&arena, &m, &body, &err), RC_OK);
    assert_true(body.len <= COMPONENT_STANZA_MAX);
    m.items = str_of(arena_alloc(&arena, COMPONENT_STANZA_MAX), COMPONENT_STANZA_MAX);
    memset((char *)(uintptr_t)m.items.ptr, 'x', m.items.len);
    assert_int_equal(xmpp_message_write(&arena, &m, &body, &err), RC_LIMIT);
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
