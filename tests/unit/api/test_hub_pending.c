/* tests/unit/api/test_hub_pending.c - bounds of requests that wait for their verification. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "api/hub/hub_pending.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "model/hub.h"
#include "tests/unit/cmocka_all.h"

static const struct hub_full *full;

static struct hub_request *take(struct hub_pending *o, uint32_t client, const char *callback,
                                const char *topic)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(client)};

    return hub_pending_add(o, (const struct sockaddr *)&in, str_from(callback), str_from(topic),
                           &full);
}

/* Take and keep under ids from `id` on, each with a topic of its own. */
static void fill(struct hub_pending *o, uint32_t client, const char *callback, size_t n, int64_t id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    for (size_t i = 0; i < n; i++) {
        const char *topic = str_z(&a, str_printf(&a, "http://t/%zu", (size_t)id + i));
        struct hub_request *p = take(o, client, callback, topic);

        assert_non_null(p);
        hub_pending_keep(o, &p, id + (int64_t)i);
        assert_null(p);
    }
}

static void test_hub_pending__a_host_of_callbacks_has_a_bound(void **state UNUSED)
{
    struct hub_pending *o = hub_pending_new();
    struct hub_request *p;

    fill(o, 1, "http://cb.example:81/a", HUB_PENDING_HOST / 2, 1);
    fill(o, 2, "http://cb.example:81/b?c", HUB_PENDING_HOST / 2, 10001);
    assert_null(take(o, 3, "http://cb.example:81/", "http://t/"));
    assert_int_equal(429, full->status);
    assert_non_null(strstr(full->why, "host"));
    p = take(o, 3, "http://cb.example:82/", "http://t/");
    assert_non_null(p);
    hub_pending_drop(o, &p);
    hub_pending_settled(o, 10001);
    p = take(o, 3, "http://cb.example:81/", "http://t/");
    assert_non_null(p);
    hub_pending_drop(o, &p);
    hub_pending_free(&o);
    assert_null(o);
}

static void test_hub_pending__a_client_has_a_bound(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hub_pending *o = hub_pending_new();
    struct hub_request *p;

    for (size_t i = 0; i < HUB_PENDING_CLIENT / 10; i++) /* each callback at a host of its own */
        fill(o, 1, str_z(&a, str_printf(&a, "http://cb%zu.example/", i)), 10, (int64_t)i * 10);
    assert_null(take(o, 1, "http://other.example/", "http://t/"));
    assert_non_null(strstr(full->why, "address"));
    p = take(o, 2, "http://other.example/", "http://t/");
    assert_non_null(p);
    hub_pending_drop(o, &p);
    hub_pending_free(&o);
}

static void test_hub_pending__all_have_a_bound_together(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hub_pending *o = hub_pending_new();

    for (uint32_t i = 0; i < HUB_PENDING_MAX / 100; i++) /* of many clients, for many hosts */
        fill(o, i, str_z(&a, str_printf(&a, "http://cb%u.example/", (unsigned)i)), 100,
             (int64_t)i * 100);
    assert_null(take(o, 100000, "http://other.example/", "http://t/"));
    assert_int_equal(503, full->status);
    hub_pending_settled(o, 0);
    fill(o, 100000, "http://other.example/", 1, HUB_PENDING_MAX);
    hub_pending_free(&o);
}

static void test_hub_pending__a_subscription_has_a_bound(void **state UNUSED)
{
    struct hub_pending *o = hub_pending_new();
    struct hub_request *requests[HUB_PENDING_PAIR], *p;

    for (uint32_t i = 0; i < HUB_PENDING_PAIR; i++) {
        requests[i] = take(o, i, "http://cb.example/", "http://t/");
        assert_non_null(requests[i]);
    }
    assert_null(take(o, 100, "http://cb.example/", "http://t/"));
    assert_non_null(strstr(full->why, "topic"));
    p = take(o, 100, "http://cb.example/", "http://t/2");
    assert_non_null(p);
    hub_pending_drop(o, &p);
    for (size_t i = 0; i < HUB_PENDING_PAIR; i++)
        hub_pending_drop(o, &requests[i]);
    fill(o, 100, "http://cb.example/", HUB_PENDING_HOST, 1); /* nothing was left behind */
    hub_pending_free(&o);
}

/* Denials and renewals are the hub's own, and what was there before the start is not counted. */
static void test_hub_pending__settled_without_a_request(void **state UNUSED)
{
    struct hub_pending *o = hub_pending_new();

    fill(o, 1, "http://cb.example/", 1, 7);
    hub_pending_settled(o, 6);
    hub_pending_settled(o, 7);
    hub_pending_settled(o, 7);
    fill(o, 1, "http://cb.example/", HUB_PENDING_HOST, 8);
    hub_pending_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hub_pending__a_host_of_callbacks_has_a_bound),
        cmocka_unit_test(test_hub_pending__a_client_has_a_bound),
        cmocka_unit_test(test_hub_pending__all_have_a_bound_together),
        cmocka_unit_test(test_hub_pending__a_subscription_has_a_bound),
        cmocka_unit_test(test_hub_pending__settled_without_a_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
