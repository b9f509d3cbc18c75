/* tests/unit/notifier/test_intent.c - what a subscriber is asked, and what its answer means. */
#include "base/compiler.h"
#include "notifier/intent.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;

static struct hub_intent intent(enum hub_mode mode, const char *callback)
{
    return (struct hub_intent){.mode = mode,
                               .topic = STR("http://h/feed?url=x&n=1"),
                               .callback = str_from(callback),
                               .verify_token = STR_NULL,
                               .reason = STR("it is gone"),
                               .lease_s = 3600};
}

static void assert_url(const struct hub_intent *in, const char *expected)
{
    struct buf url = BUF_INIT(BUF_ANY);

    intent_url(&url, &arena, in, STR("c0de"));
    if (!str_eqz(buf_view(&url), expected))
        fail_msg("%.*s", STR_ARG(buf_view(&url)));
    buf_release(&url);
}

/* HUB-02 */
static void test_intent__what_is_asked(void **state UNUSED)
{
    struct hub_intent in = intent(HUB_SUBSCRIBE, "http://s/cb");

    assert_url(&in, "http://s/cb?hub.mode=subscribe&hub.topic=http%3A%2F%2Fh%2Ffeed%3Furl%3Dx%26n"
                    "%3D1&hub.challenge=c0de&hub.lease_seconds=3600");
    in.mode = HUB_UNSUBSCRIBE;
    assert_url(&in, "http://s/cb?hub.mode=unsubscribe&hub.topic=http%3A%2F%2Fh%2Ffeed%3Furl%3Dx%26"
                    "n%3D1&hub.challenge=c0de");
    in.mode = HUB_DENIED;
    assert_url(&in, "http://s/cb?hub.mode=denied&hub.topic=http%3A%2F%2Fh%2Ffeed%3Furl%3Dx%26n%3D1"
                    "&hub.reason=it%20is%20gone");
}

/* HUB-03: the callback's own query is kept, also an empty one; a token of 0.3 is given back */
static void test_intent__after_the_query_of_the_callback(void **state UNUSED)
{
    struct hub_intent in = intent(HUB_UNSUBSCRIBE, "http://s/cb?id=1&x");

    in.topic = STR("http://h/");
    assert_url(&in, "http://s/cb?id=1&x&hub.mode=unsubscribe&hub.topic=http%3A%2F%2Fh%2F"
                    "&hub.challenge=c0de");
    in.callback = STR("http://s/cb?");
    in.verify_token = STR("a b");
    assert_url(&in, "http://s/cb?hub.mode=unsubscribe&hub.topic=http%3A%2F%2Fh%2F"
                    "&hub.challenge=c0de&hub.verify_token=a%20b");
}

static struct intent_verdict judged(enum rc rc, int status, const char *body)
{
    struct hub_intent in = {.protocol = HUB_WEBSUB};

    return intent_judge(&in, rc, status, str_from(body), STR("c0de"));
}

/* CLOUD-01 CLOUD-02: what a handler of rssCloud is asked, and what confirms */
static void test_intent__handlers_of_a_cloud(void **state UNUSED)
{
    struct hub_intent in = intent(HUB_SUBSCRIBE, "http://s/cb?a=1");
    struct intent_call call;

    in.protocol = CLOUD_HTTP_POST;
    call = intent_call(&arena, &in, STR("c0de"));
    assert_true(str_eqz(call.method, "GET"));
    assert_true(str_eqz(call.url, "http://s/cb?a=1&url=http%3A%2F%2Fh%2Ffeed%3Furl%3Dx%26n%3D1"
                                  "&challenge=c0de"));
    assert_true(str_is_null(call.body));
    assert_true(intent_judge(&in, RC_OK, 200, STR(" c0de\n"), STR("c0de")).confirmed);
    assert_false(intent_judge(&in, RC_OK, 200, STR("url=x&c0de"), STR("c0de")).confirmed);
    assert_false(intent_judge(&in, RC_OK, 404, STR("c0de"), STR("c0de")).confirmed);

    in.at_caller = true;
    call = intent_call(&arena, &in, STR("c0de"));
    assert_true(str_eqz(call.method, "POST"));
    assert_true(str_eqz(call.url, "http://s/cb?a=1"));
    assert_true(str_eqz(call.body, "url=http%3A%2F%2Fh%2Ffeed%3Furl%3Dx%26n%3D1"));
    assert_true(intent_judge(&in, RC_OK, 204, STR(""), STR("c0de")).confirmed);
    assert_false(intent_judge(&in, RC_OK, 302, STR(""), STR("c0de")).confirmed);
}

/* HUB-12: only the challenge confirms, by itself and with 2xx */
static void test_intent__confirmed_by_the_challenge(void **state UNUSED)
{
    assert_true(judged(RC_OK, 200, "c0de").confirmed);
    assert_true(judged(RC_OK, 299, "c0de").confirmed);
    assert_false(judged(RC_OK, 200, "").confirmed);
    assert_false(judged(RC_OK, 200, "c0de\n").confirmed);
    assert_false(judged(RC_OK, 200, "C0DE").confirmed);
    assert_false(judged(RC_OK, 302, "c0de").confirmed);
    assert_false(judged(RC_OK, 404, "c0de").confirmed);
    assert_false(judged(RC_TIMEOUT, 200, "c0de").confirmed);
    assert_false(judged(RC_OK, 200, "c0de").unreached);
}

/* Who did not answer may do so later; a refusal is final. */
static void test_intent__unreached(void **state UNUSED)
{
    assert_true(judged(RC_TIMEOUT, 0, "").unreached);
    assert_true(judged(RC_PEER, 0, "").unreached);
    assert_true(judged(RC_OK, 500, "").unreached);
    assert_true(judged(RC_OK, 503, "c0de").unreached);
    assert_false(judged(RC_OK, 404, "").unreached);
    assert_false(judged(RC_OK, 200, "no").unreached);
    assert_false(judged(RC_LIMIT, 200, "").unreached);
    assert_false(judged(RC_DENIED, 0, "").unreached);
}

static void test_intent__three_tries(void **state UNUSED)
{
    struct hub_intent in = intent(HUB_SUBSCRIBE, "http://s/cb");
    struct intent_verdict unreached = {.unreached = true}, refused = {.unreached = false};

    assert_int_equal(intent_pause_ms(&in, unreached, 1), 2000);
    assert_int_equal(intent_pause_ms(&in, unreached, 2), 8000);
    assert_int_equal(intent_pause_ms(&in, unreached, 3), -1);
    assert_int_equal(intent_pause_ms(&in, refused, 1), -1);
    in.waits = true;
    assert_int_equal(intent_pause_ms(&in, unreached, 1), -1);
}

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intent__what_is_asked),
        cmocka_unit_test(test_intent__after_the_query_of_the_callback),
        cmocka_unit_test(test_intent__handlers_of_a_cloud),
        cmocka_unit_test(test_intent__confirmed_by_the_challenge),
        cmocka_unit_test(test_intent__unreached),
        cmocka_unit_test(test_intent__three_tries),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
