/* tests/unit/api/test_hub_open.c - bounds of requests that wait for their verification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "api/hub/hub_open.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "model/hub.h"

static const struct hub_full *full;

static struct hub_place *take(struct hub_open *o, uint32_t client, const char *callback,
                              const char *topic)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(client)};

    return hub_open_take(o, (const struct sockaddr *)&in, str_from(callback), str_from(topic),
                         &full);
}

/* Take and keep under ids from `id` on, each with a topic of its own. */
static void fill(struct hub_open *o, uint32_t client, const char *callback, size_t n, int64_t id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    for (size_t i = 0; i < n; i++) {
        const char *topic = str_z(&a, str_printf(&a, "http://t/%zu", (size_t)id + i));
        struct hub_place *p = take(o, client, callback, topic);

        assert_non_null(p);
        hub_open_keep(o, &p, id + (int64_t)i);
        assert_null(p);
    }
}

static void test_hub_open__a_host_of_callbacks_has_a_bound(void **state UNUSED)
{
    struct hub_open *o = hub_open_new();
    struct hub_place *p;

    fill(o, 1, "http://cb.example:81/a", HUB_OPEN_HOST / 2, 1);
    fill(o, 2, "http://cb.example:81/b?c", HUB_OPEN_HOST / 2, 10001);
    assert_null(take(o, 3, "http://cb.example:81/", "http://t/"));
    assert_int_equal(429, full->status);
    assert_non_null(strstr(full->why, "host"));
    p = take(o, 3, "http://cb.example:82/", "http://t/");
    assert_non_null(p);
    hub_open_leave(o, &p);
    hub_open_settled(o, 10001);
    p = take(o, 3, "http://cb.example:81/", "http://t/");
    assert_non_null(p);
    hub_open_leave(o, &p);
    hub_open_free(&o);
    assert_null(o);
}

static void test_hub_open__a_client_has_a_bound(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hub_open *o = hub_open_new();
    struct hub_place *p;

    for (size_t i = 0; i < HUB_OPEN_CLIENT / 10; i++) /* each callback at a host of its own */
        fill(o, 1, str_z(&a, str_printf(&a, "http://cb%zu.example/", i)), 10, (int64_t)i * 10);
    assert_null(take(o, 1, "http://other.example/", "http://t/"));
    assert_non_null(strstr(full->why, "address"));
    p = take(o, 2, "http://other.example/", "http://t/");
    assert_non_null(p);
    hub_open_leave(o, &p);
    hub_open_free(&o);
}

static void test_hub_open__all_have_a_bound_together(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hub_open *o = hub_open_new();

    for (uint32_t i = 0; i < HUB_OPEN_MAX / 100; i++) /* of many clients, for many hosts */
        fill(o, i, str_z(&a, str_printf(&a, "http://cb%u.example/", (unsigned)i)), 100,
             (int64_t)i * 100);
    assert_null(take(o, 100000, "http://other.example/", "http://t/"));
    assert_int_equal(503, full->status);
    hub_open_settled(o, 0);
    fill(o, 100000, "http://other.example/", 1, HUB_OPEN_MAX);
    hub_open_free(&o);
}

static void test_hub_open__a_subscription_has_a_bound(void **state UNUSED)
{
    struct hub_open *o = hub_open_new();
    struct hub_place *places[HUB_OPEN_PAIR], *p;

    for (uint32_t i = 0; i < HUB_OPEN_PAIR; i++) {
        places[i] = take(o, i, "http://cb.example/", "http://t/");
        assert_non_null(places[i]);
    }
    assert_null(take(o, 100, "http://cb.example/", "http://t/"));
    assert_non_null(strstr(full->why, "topic"));
    p = take(o, 100, "http://cb.example/", "http://t/2");
    assert_non_null(p);
    hub_open_leave(o, &p);
    for (size_t i = 0; i < HUB_OPEN_PAIR; i++)
        hub_open_leave(o, &places[i]);
    fill(o, 100, "http://cb.example/", HUB_OPEN_HOST, 1); /* nothing was left behind */
    hub_open_free(&o);
}

/* Denials and renewals are the hub's own, and what was there before the start has no place. */
static void test_hub_open__settled_without_a_place(void **state UNUSED)
{
    struct hub_open *o = hub_open_new();

    fill(o, 1, "http://cb.example/", 1, 7);
    hub_open_settled(o, 6);
    hub_open_settled(o, 7);
    hub_open_settled(o, 7);
    fill(o, 1, "http://cb.example/", HUB_OPEN_HOST, 8);
    hub_open_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hub_open__a_host_of_callbacks_has_a_bound),
        cmocka_unit_test(test_hub_open__a_client_has_a_bound),
        cmocka_unit_test(test_hub_open__all_have_a_bound_together),
        cmocka_unit_test(test_hub_open__a_subscription_has_a_bound),
        cmocka_unit_test(test_hub_open__settled_without_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
