/* tests/unit/net/test_brokers.c - deliveries to a broker that takes connections and says nothing.
 */
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/stats.h"
#include "net/brokers.h"
#include "net/http_client.h"

#include "tests/unit/cmocka_all.h"

#define CONNECT_MS 500

struct bench {
    struct loop *loop;
    struct guard *guard;
    struct brokers *brokers;
    int listener, port, n_met;
    struct told { /* of each delivery */
        struct bench *b;
        enum rc rc;
        char err[300];
        int64_t pause_ms;
        bool is_untried;
        sem_t done;
    } told[4];
    uint64_t numbers[4];
};

static void open_brokers(void *ctx)
{
    struct bench *b = ctx;
    struct brokers_cfg cfg = {.loop = b->loop, .guard = b->guard};

    b->brokers = brokers_new(&cfg);
}

static void close_brokers(void *ctx)
{
    struct bench *b = ctx;

    brokers_free(&b->brokers);
}

static int setup(void **state)
{
    static const struct str cidrs[] = {{"127.0.0.0/8", 11}};
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    struct bench *b = NEW(struct bench);

    b->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(b->listener, (struct sockaddr *)&addr, len), 0);
    assert_int_equal(listen(b->listener, 16), 0);
    assert_int_equal(getsockname(b->listener, (struct sockaddr *)&addr, &len), 0);
    b->port = ntohs(addr.sin_port);
    assert_int_equal(guard_new(cidrs, 1, &b->guard, NULL), RC_OK);
    b->loop = loop_new("test");
    for (size_t i = 0; i < ARRAY_LEN(b->told); i++) {
        b->told[i].b = b;
        sem_init(&b->told[i].done, 0, 0);
    }
    loop_call(b->loop, open_brokers, b);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    loop_call(b->loop, close_brokers, b);
    loop_stop(b->loop);
    loop_free(&b->loop);
    guard_free(&b->guard);
    close(b->listener);
    mem_free(b);
    return 0;
}

static void on_done(void *ctx, const struct broker_result *result)
{
    struct told *t = ctx;

    t->rc = result->rc;
    t->pause_ms = result->pause_ms;
    t->is_untried = result->is_untried;
    snprintf(t->err, sizeof t->err, "%s", result->err);
    sem_post(&t->done);
}

static void send_as(struct bench *b, int i, int64_t timeout_ms, int64_t connect_timeout_ms,
                    bool is_asked)
{
    struct broker_message message = {.key = STR("k"),
                                     .body = STR("{}"),
                                     .type = STR("new"),
                                     .id = STR("1"),
                                     .prev_cursor = STR("a"),
                                     .cursor = STR("b"),
                                     .feed_url = STR("http://f.example/")};
    struct broker_delivery d = {.host = STR("127.0.0.1"),
                                .port = b->port,
                                .vhost = STR("/"),
                                .user = STR("guest"),
                                .password = STR("guest"),
                                .exchange = STR("x"),
                                .messages = &message,
                                .n = 1,
                                .timeout_ms = timeout_ms,
                                .connect_timeout_ms = connect_timeout_ms,
                                .first_pause_ms = 20000,
                                .is_asked = is_asked};

    b->numbers[i] = brokers_send(b->brokers, &d, on_done, &b->told[i]);
}

static void send_one(struct bench *b, int i)
{
    send_as(b, i, 20000, CONNECT_MS, false);
}

static void send_first(void *ctx)
{
    send_one(ctx, 0);
}

static void send_and_give_up(void *ctx)
{
    struct bench *b = ctx;

    send_one(b, 1);
    send_one(b, 2);
    brokers_cancel(b->brokers, b->numbers[1]);
}

static void send_last(void *ctx)
{
    send_one(ctx, 3);
}

static void send_asked(void *ctx)
{
    send_as(ctx, 1, 20000, CONNECT_MS, true);
}

static void send_patient(void *ctx)
{
    send_as(ctx, 0, 60000, 60000, false);
}

static void send_brief(void *ctx)
{
    send_as(ctx, 1, 100, 60000, false);
}

static void wait_told(struct bench *b, int i)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    if (sem_timedwait(&b->told[i].done, &until) != 0)
        fail_msg("delivery %d is not answered within 60 s", i);
}

/* Count the connections that come within `ms`, when they have begun to speak. They stay open. */
static void meet(struct bench *b, int ms)
{
    struct pollfd p = {.fd = b->listener, .events = POLLIN};
    char first;

    while (poll(&p, 1, ms) == 1) {
        assert_int_equal(recv(accept(b->listener, NULL, NULL), &first, 1, 0), 1);
        b->n_met++;
        ms = 0;
    }
}

/* A delivery that was given up while another one waited for the broker does not say that the broker
 * can be reached: the pause goes on. */
static void a_delivery_that_was_given_up(void **state) /* AMQP-03 AMQP-04 */
{
    struct bench *b = *state;

    loop_call(b->loop, send_first, b);
    meet(b, 10000);
    assert_int_equal(b->n_met, 1);
    loop_call(b->loop, send_and_give_up, b);
    wait_told(b, 1);
    wait_told(b, 0);
    wait_told(b, 2);
    meet(b, 0);
    assert_in_range(b->n_met, 1, 2); /* 1: the machine was so slow that the pause had begun */
    assert_int_equal(b->told[0].rc, RC_PEER);
    assert_true(b->told[0].pause_ms > 10000);
    assert_int_equal(b->told[2].rc, RC_PEER);
    loop_call(b->loop, send_last, b);
    wait_told(b, 3);
    assert_int_equal(b->told[3].rc, RC_PEER);
    assert_true(b->told[3].is_untried);
    assert_true(b->told[3].pause_ms > 1000);
    b->n_met = 0;
    meet(b, 0);
    assert_int_equal(b->n_met, 0);
}

/* Who gives up is told what the delivery waited for. */
static void what_it_waited_for(void **state) /* AMQP-04 DELIV-04 */
{
    struct bench *b = *state;

    loop_call(b->loop, send_first, b);
    meet(b, 10000);
    loop_call(b->loop, send_and_give_up, b);
    wait_told(b, 1);
    if (b->told[1].rc == RC_CLOSED) /* else the pause had begun */
        assert_string_equal(b->told[1].err,
                            "the broker accepted the connection, and does not go on");
    wait_told(b, 0);
    wait_told(b, 2);
}

/* Who asks for a delivery does not wait for the end of the pause. */
static void asked_for_in_the_pause(void **state) /* AMQP-04 DELIV-06 */
{
    struct bench *b = *state;

    loop_call(b->loop, send_first, b);
    wait_told(b, 0);
    assert_false(b->told[0].is_untried);
    meet(b, 0);
    b->n_met = 0;
    loop_call(b->loop, send_asked, b);
    meet(b, 10000);
    assert_int_equal(b->n_met, 1);
    wait_told(b, 1);
    assert_int_equal(b->told[1].rc, RC_PEER);
    assert_false(b->told[1].is_untried);
}

/* We break a connection on which nothing comes. What fails by that, and what comes in the pause
 * after it, is told what the broker did not do, not that the connection broke. */
static void why_it_was_broken(void **state) /* AMQP-04 DELIV-04 */
{
    static const char why[] = "the broker accepted the connection, and does not go on";
    struct bench *b = *state;

    loop_call(b->loop, send_patient, b);
    meet(b, 10000);
    assert_int_equal(b->n_met, 1);
    loop_call(b->loop, send_brief, b);
    wait_told(b, 1);
    assert_int_equal(b->told[1].rc, RC_TIMEOUT);
    assert_string_equal(b->told[1].err, why);
    wait_told(b, 0);
    assert_int_equal(b->told[0].rc, RC_PEER);
    assert_string_equal(b->told[0].err, why);
    loop_call(b->loop, send_last, b);
    wait_told(b, 3);
    assert_true(b->told[3].is_untried);
    assert_string_equal(b->told[3].err, why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_delivery_that_was_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(asked_for_in_the_pause, setup, teardown),
        cmocka_unit_test_setup_teardown(why_it_was_broken, setup, teardown),
    };

    http_client_global_init();
    return cmocka_run_group_tests_name("brokers", tests, NULL, NULL);
}
