/* tests/unit/notifier/test_sink_webhook.c - bodies, ids and signatures of webhooks, and what their
 * answers mean. */
#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "feed/text/hook_settings.h"
#include "feed/text/json.h"
#include "notifier/carrier_http.h"
#include "notifier/sink.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;
static struct carrier_load load;
static const struct sink_entries *const hook = &sink_webhook.entries;

static int teardown(void **state UNUSED)
{
    buf_release(&load.body);
    arena_release(&arena);
    return 0;
}

static struct revision revisions[2];
static struct feed_event moved;

/* Two entries, with one secret and one field. */
static struct sink_push usual(void)
{
    struct hook_settings hs = {.n_secrets = 0};

    hook_secret_set(&hs, STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), clock_now_s());
    assert_true(hook_field_set(&hs, STR("Authorization"), STR("Bearer x")));
    revisions[0] = (struct revision){.seq = 7,
                                     .at_us = 1700000000000000,
                                     .feed_id = 5,
                                     .kind = REV_NEW,
                                     .uid = STR("urn:\"one\""),
                                     .doc = STR("{\"id\":\"a\"}")};
    revisions[1] = (struct revision){
        .seq = 8, .at_us = 1700000001000000, .feed_id = 5, .kind = REV_DELETED, .uid = STR("two")};
    return (struct sink_push){.sub_id = 3,
                              .url = STR("http://p.test/page"),
                              .revisions = revisions,
                              .n = 2,
                              .log_id = STR("0123456789abcdef"),
                              .prev = {4, 1600000000000000},
                              .last = {8, 1700000001000000},
                              .feed_url = STR("http://p.test/feed"),
                              .title = STR("News"),
                              .settings = hook_settings_write(&arena, &hs)};
}

static struct sink_push of_event(void)
{
    struct sink_push push = usual();

    moved = (struct feed_event){.seq = 9,
                                .at_us = 1700000002000000,
                                .feed_id = 5,
                                .kind = FEED_EVENT_MOVED,
                                .detail = STR("http://new.test/")};
    push.revisions = NULL;
    push.n = 0;
    push.event = &moved;
    push.last = (struct log_mark){moved.seq, moved.at_us};
    return push;
}

static struct str made(const struct sink_push *push)
{
    buf_release(&load.body);
    load = (struct carrier_load){.body = BUF_INIT(SINK_BODY_MAX)};
    assert_int_equal(RC_OK, hook->body(&arena, push, &load.body, NULL));
    assert_int_equal(RC_OK, hook->seal(&arena, push, &load, NULL));
    return buf_view(&load.body);
}

/* The same, with what comes after the front as the shared part. */
static struct str made_in_parts(struct sink_push *push)
{
    struct str rest;

    made(push);
    rest = str_dup(&arena, buf_view(&load.body));
    buf_reset(&load.body);
    hook->front(&load.body, push);
    push->front_len = load.body.len;
    push->print = hook->print(&arena, push);
    load.shared = blob_copy(str_slice(rest, push->front_len, rest.len));
    assert_int_equal(RC_OK, hook->seal(&arena, push, &load, NULL));
    return rest;
}

static struct str field(const char *name)
{
    const struct http_load *own = load.own;

    for (size_t i = 0; i < own->n_fields; i++)
        if (str_ieqz(own->fields[i].name, name))
            return own->fields[i].value;
    return STR_NULL;
}

static struct str id_of(struct sink_push push)
{
    made(&push);
    return str_dup(&arena, field("webhook-id"));
}

/* HOOK-01, HOOK-03 */
static void test_sink_webhook__entries(void **state UNUSED)
{
    struct sink_push push = usual();

    assert_str(made(&push),
               "{\"type\":\"feed.entries\",\"timestamp\":\"2023-11-14T22:13:21.000000Z\",\"data\":{"
               "\"subscription\":3,\"prev_cursor\":\"fm1.01234567.4.1600000000000000\","
               "\"last_cursor\":\"fm1.01234567.8.1700000001000000\",\"entries\":["
               "{\"kind\":\"new\",\"cursor\":\"fm1.01234567.7.1700000000000000\","
               "\"at\":\"2023-11-14T22:13:20.000000Z\","
               "\"feed\":{\"id\":5,\"url\":\"http://p.test/feed\",\"title\":\"News\"},"
               "\"uid\":\"urn:\\\"one\\\"\",\"entry\":{\"id\":\"a\"}},"
               "{\"kind\":\"deleted\",\"cursor\":\"fm1.01234567.8.1700000001000000\","
               "\"at\":\"2023-11-14T22:13:21.000000Z\","
               "\"feed\":{\"id\":5,\"url\":\"http://p.test/feed\",\"title\":\"News\"},"
               "\"uid\":\"two\"}]}}");
    assert_str(field("content-type"), "application/json");
    assert_str(field("authorization"), "Bearer x");
    assert_str(((const struct http_load *)load.own)->method, "POST");
}

/* HOOK-04 */
static void test_sink_webhook__an_event_of_a_feed(void **state UNUSED)
{
    struct sink_push push = of_event();

    push.title = STR_NULL;
    assert_str(made(&push),
               "{\"type\":\"feed.state\",\"timestamp\":\"2023-11-14T22:13:22.000000Z\",\"data\":{"
               "\"subscription\":3,\"prev_cursor\":\"fm1.01234567.4.1600000000000000\","
               "\"last_cursor\":\"fm1.01234567.9.1700000002000000\",\"state\":\"moved\","
               "\"feed\":{\"id\":5,\"url\":\"http://p.test/feed\",\"title\":null},"
               "\"detail\":\"http://new.test/\"}}");
}

/* HOOK-04: nothing is delivered, so it is a test. */
static void test_sink_webhook__a_test(void **state UNUSED)
{
    struct sink_push push = usual();
    struct value *v;

    push.n = 0;
    push.last = push.prev;
    assert_int_equal(RC_OK, json_read(&arena, made(&push), &v, NULL));
    assert_str(value_get_text(v, STR("type")), "test");
    assert_null(value_get(value_get(v, STR("data")), STR("entries")));
}

/* What comes after the front is the same for all subscriptions. */
static void test_sink_webhook__only_the_front_names_the_subscription(void **state UNUSED)
{
    struct sink_push one = usual(), other = one;
    struct buf front = BUF_INIT(BUF_ANY);
    struct str text = str_dup(&arena, made(&one));

    hook->front(&front, &one);
    assert_true(str_starts(text, buf_view(&front)));
    text = str_slice(text, front.len, text.len);
    buf_reset(&front);
    other.sub_id = 123456;
    other.prev.seq = 1;
    hook->front(&front, &other);
    assert_true(str_starts(made(&other), buf_view(&front)));
    assert_true(str_eq(text, str_slice(buf_view(&load.body), front.len, load.body.len)));
    buf_release(&front);
}

/* HOOK-02 */
static void test_sink_webhook__the_id_tells_deliveries_apart(void **state UNUSED)
{
    struct sink_push push = usual();
    struct str id = id_of(push), ids[8];
    size_t n = 0;

    assert_true(str_eq(id, id_of(push)));
    push.settings = STR("{\"secrets\":[{\"text\":\"whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]}");
    assert_true(str_eq(id, id_of(push))); /* another secret makes no other delivery */
    push.title = STR("Other News");       /* nor does what the feed is called meanwhile */
    push.feed_url = STR("http://p.test/moved");
    assert_true(str_eq(id, id_of(push)));
    push.generation++;
    ids[n++] = id_of(push);
    push = usual();
    push.dead_id = 1;
    ids[n++] = id_of(push);
    push = usual();
    push.sub_id++;
    ids[n++] = id_of(push);
    push = usual();
    push.n = 1;
    ids[n++] = id_of(push);
    push = usual();
    push.log_id = STR("123456789abcdef0");
    ids[n++] = id_of(push);
    push = usual();
    revisions[0].doc = STR("{\"id\":\"b\"}");
    ids[n++] = id_of(push);
    for (size_t i = 0; i < n; i++) {
        assert_false(str_eq(id, ids[i]));
        for (size_t k = 0; k < i; k++)
            assert_false(str_eq(ids[k], ids[i]));
    }
}

/* HOOK-02, HOOK-05: computed here from the specification. */
static void test_sink_webhook__signatures(void **state UNUSED)
{
    static const char *const secrets[] = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                          "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
    struct sink_push push = usual();
    struct hook_settings hs = {.n_secrets = 0};
    struct str wanted = STR(""), text;

    hook_secret_set(&hs, str_from(secrets[1]), clock_now_s());
    hook_secret_set(&hs, str_from(secrets[0]), clock_now_s());
    push.settings = hook_settings_write(&arena, &hs);
    made(&push);
    text = str_printf(&arena, "%.*s.%.*s.%s", STR_ARG(field("webhook-id")),
                      STR_ARG(field("webhook-timestamp")), load.body.ptr);
    for (size_t i = 0; i < 2; i++) {
        struct str key = base64_read(&arena, str_from(secrets[i] + 6)), mac;
        unsigned char out[DIGEST_MAX_LEN];
        size_t n = digest_hmac(DIGEST_SHA256, key, text, out);

        mac = base64_write(&arena, str_of((char *)out, n));
        wanted =
            str_printf(&arena, "%.*s%sv1,%.*s", STR_ARG(wanted), i > 0 ? " " : "", STR_ARG(mac));
    }
    assert_true(str_eq(wanted, field("webhook-signature")));
}

/* HOOK-02, HOOK-05: what is shared with others is sent and signed as if it were this delivery's
 * own. */
static void test_sink_webhook__a_shared_body(void **state UNUSED)
{
    struct sink_push push = usual();
    struct str id = id_of(push), text, body = made_in_parts(&push);
    struct buf whole = BUF_INIT(BUF_ANY);
    unsigned char mac[DIGEST_MAX_LEN];
    size_t n;

    assert_true(str_eq(body, carrier_load_bytes(&load, &whole)));
    assert_true(str_eq(id, field("webhook-id")));
    text = str_printf(&arena, "%.*s.%.*s.%.*s", STR_ARG(id), STR_ARG(field("webhook-timestamp")),
                      STR_ARG(body));
    n = digest_hmac(DIGEST_SHA256, base64_read(&arena, STR("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")),
                    text, mac);
    assert_true(
        str_eq(str_concat(&arena, STR("v1,"), base64_write(&arena, str_of((const char *)mac, n))),
               field("webhook-signature")));
    buf_release(&whole);
    blob_unref(&load.shared);
}

static void test_sink_webhook__settings_that_cannot_be_read(void **state UNUSED)
{
    struct sink_push push = usual();
    struct err err = ERR_INIT;

    made(&push);
    push.settings = STR_NULL;
    assert_int_equal(RC_INPUT, hook->seal(&arena, &push, &load, &err));
    assert_true(err.text[0] != '\0');
}

static void test_sink_webhook__over_the_maximum(void **state UNUSED)
{
    struct sink_push push = usual();
    struct buf small = BUF_INIT(300);

    assert_int_equal(RC_LIMIT, hook->body(&arena, &push, &small, NULL));
    buf_release(&small);
}

static enum sink_verdict judged(enum rc rc, int status, struct str *why)
{
    struct carrier_answer answer = {.rc = rc, .status = status, .body = STR("\xff{")};

    *why = STR_NULL;
    if (rc != RC_OK)
        answer.err = "what the client said";
    return sink_webhook.judge(&arena, &answer, why);
}

/* HOOK-06, D56 */
static void test_sink_webhook__answers(void **state UNUSED)
{
    static const struct {
        int from, to;
        enum sink_verdict verdict;
    } rows[] = {
        {100, 199, SINK_FAILED},  {200, 299, SINK_DELIVERED}, {300, 399, SINK_FAILED},
        {400, 400, SINK_REFUSED}, {401, 409, SINK_FAILED},    {410, 410, SINK_GONE},
        {411, 412, SINK_FAILED},  {413, 413, SINK_REFUSED},   {414, 414, SINK_FAILED},
        {415, 415, SINK_REFUSED}, {416, 421, SINK_FAILED},    {422, 422, SINK_REFUSED},
        {423, 599, SINK_FAILED},
    };
    static const enum rc broken[] = {RC_LIMIT, RC_PEER, RC_TIMEOUT};
    struct str why;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int status = rows[i].from; status <= rows[i].to; status++) {
            assert_int_equal(rows[i].verdict, judged(RC_OK, status, &why));
            assert_int_equal(rows[i].verdict == SINK_DELIVERED, str_is_null(why));
            for (size_t k = 0; k < ARRAY_LEN(broken); k++)
                assert_int_equal(rows[i].verdict, judged(broken[k], status, &why));
        }
    assert_int_equal(SINK_FAILED, judged(RC_PEER, 0, &why));
    assert_str(why, "what the client said");
    assert_int_equal(SINK_FAILED, judged(RC_LIMIT, 500, &why));
    assert_str(why,
               "the endpoint answered with status 500, but not completely: what the client said");
    assert_int_equal(SINK_FAILED, judged(RC_DENIED, 0, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sink_webhook__entries),
        cmocka_unit_test(test_sink_webhook__an_event_of_a_feed),
        cmocka_unit_test(test_sink_webhook__a_test),
        cmocka_unit_test(test_sink_webhook__only_the_front_names_the_subscription),
        cmocka_unit_test(test_sink_webhook__the_id_tells_deliveries_apart),
        cmocka_unit_test(test_sink_webhook__signatures),
        cmocka_unit_test(test_sink_webhook__a_shared_body),
        cmocka_unit_test(test_sink_webhook__settings_that_cannot_be_read),
        cmocka_unit_test(test_sink_webhook__over_the_maximum),
        cmocka_unit_test(test_sink_webhook__answers),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, teardown);
}
