/* tests/unit/net/test_broker_link.c - connections to brokers, as far as they need none. */
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/broker_link.h"

#include "tests/unit/cmocka_all.h"

static const struct broker_link_cfg cfg = {
    .host = "h", .vhost = "/", .user = "u", .password = "p", .timeout_ms = 1000};

static void without_descriptors(void **state UNUSED) /* AMQP-04 */
{
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_null(broker_link_new(&cfg));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static atomic_bool is_back, is_ended;

static void on_back(void *ctx UNUSED)
{
    atomic_store(&is_back, true);
}

static void on_ended(void *ctx UNUSED)
{
    atomic_store(&is_ended, true);
}

static void wait_for(atomic_bool *what)
{
    const struct timespec pause = {0, 1000000};
    int64_t until = clock_mono_ms() + 60000;

    while (!atomic_load(what)) {
        assert_true(clock_mono_ms() < until);
        nanosleep(&pause, NULL);
    }
}

/* AMQP-04: whatever address it was given, the one at which it has arrived is judged before a byte
 * is sent there. IPv4 in IPv6 counts as IPv4. */
static void arrives_where_it_must_not(void **state UNUSED)
{
    static const char *const hosts[] = {"127.0.0.1", "::ffff:127.0.0.1"};

    for (int i = 0; i < 4; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof at;
        int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
        struct broker_message message = {.key = STR("k"), .body = STR("{}")};
        unsigned char states[1] = {0};
        struct broker_batch batch = {.messages = &message,
                                     .n = 1,
                                     .n_open = 1,
                                     .first_failed = 1,
                                     .states = states,
                                     .exchange = STR("e")};
        struct broker_link_cfg c = cfg;
        struct broker_link *l;
        union address addr = {.sa.sa_family = AF_INET};
        char byte;

        assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(listen(listener, 4), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
        if (i % 2 == 0) {
            addr.v4 = at;
        } else {
            addr.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = at.sin_port};
            assert_int_equal(inet_pton(AF_INET6, hosts[1], &addr.v6.sin6_addr), 1);
        }
        atomic_store(&is_back, false);
        atomic_store(&is_ended, false);
        c.is_tls = i >= 2;
        c.loop = loop_new("test");
        assert_int_equal(guard_new(NULL, 0, &c.guard, NULL), RC_OK);
        c.back = on_back;
        c.ended = on_ended;
        l = broker_link_new(&c);
        assert_non_null(l);
        broker_link_aim(l, &addr, 1);
        broker_link_give(l, &batch);
        wait_for(&is_back);
        assert_true(batch.is_unconnected);
        if (strstr(batch.err, "cannot be reached") == NULL) { /* there is no IPv6 here */
            assert_non_null(strstr(batch.err, "another address"));
            fd = accept(listener, NULL, NULL);
            assert_true(recv(fd, &byte, 1, 0) <= 0);
            close(fd);
        } else {
            assert_int_equal(i % 2, 1);
        }
        broker_link_stop(l);
        wait_for(&is_ended);
        broker_link_join(l, 0);
        broker_link_free(&l);
        loop_free(&c.loop);
        guard_free(&c.guard);
        close(listener);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_descriptors),
                                       cmocka_unit_test(arrives_where_it_must_not)};

    return cmocka_run_group_tests_name("broker_link", tests, NULL, NULL);
}
