/* tests/unit/net/test_broker_flights.c - which messages a broker has confirmed, refused, returned.
 */
#include "net/broker_flights.h"

#include "tests/unit/cmocka_all.h"

#define N 4

static struct broker_message messages[N];
static unsigned char states[N];
static struct broker_batch batch;
static struct broker_flights flights;
static struct broker_batch *came_back;

static void back(void *ctx UNUSED, struct broker_batch *b)
{
    came_back = b;
}

static int setup(void **state UNUSED)
{
    static const char *const ids[N] = {"l:1", "l:2", "l:3", "l:4"};

    memset(states, 0, sizeof states);
    for (size_t i = 0; i < N; i++)
        messages[i] =
            (struct broker_message){.id = str_from(ids[i]), .key = STR("k"), .subscription = 5};
    memset(&batch, 0, sizeof batch);
    batch.messages = messages;
    batch.states = states;
    batch.n = batch.n_open = batch.first_failed = N;
    came_back = NULL;
    broker_flights_init(&flights, back, NULL);
    for (size_t i = 0; i < N; i++)
        broker_flights_add(&flights, &batch, i);
    return 0;
}

static int teardown(void **state UNUSED)
{
    broker_flights_release(&flights);
    return 0;
}

static size_t taken(void)
{
    return atomic_load(&batch.n_taken);
}

/* AMQP-03 */
static void test_broker_flights__confirmed_out_of_order(void **state UNUSED)
{
    broker_flights_settle(&flights, 2, false, true);
    assert_int_equal(0, taken());
    broker_flights_settle(&flights, 1, false, true);
    assert_int_equal(2, taken());
    broker_flights_settle(&flights, 2, false, false); /* it is settled already */
    assert_null(came_back);
    broker_flights_settle(&flights, 4, true, true);
    assert_int_equal(4, taken());
    assert_ptr_equal(&batch, came_back);
    assert_int_equal(N, batch.first_failed);
    assert_int_equal(0, flights.n);
}

/* AMQP-03 */
static void test_broker_flights__refused(void **state UNUSED)
{
    broker_flights_settle(&flights, 3, false, false);
    broker_flights_settle(&flights, 0, true, true);
    assert_ptr_equal(&batch, came_back);
    assert_int_equal(2, taken());
    assert_int_equal(2, batch.first_failed);
    assert_non_null(strstr(batch.err, "nack"));
}

/* AMQP-03: the broker confirms what it has returned */
static void test_broker_flights__returned(void **state UNUSED)
{
    broker_flights_return(&flights, STR("l:2"), 4); /* of another subscription */
    broker_flights_return(&flights, STR("l:2"), 5);
    broker_flights_return(&flights, STR("l:9"), 5);
    broker_flights_settle(&flights, 4, true, true);
    assert_int_equal(1, taken());
    assert_int_equal(1, batch.first_failed);
    assert_int_equal(312, batch.code);
    assert_non_null(strstr(batch.err, "\"k\""));
}

/* the first one that failed says why */
static void test_broker_flights__channel_closed(void **state UNUSED)
{
    broker_flights_settle(&flights, 1, false, true);
    broker_flights_fail(&flights, 404, "no exchange");
    assert_ptr_equal(&batch, came_back);
    assert_int_equal(1, taken());
    assert_int_equal(404, batch.code);
    assert_string_equal("no exchange", batch.err);
    assert_int_equal(0, flights.n);
}

/* AMQP-03: the largest message was too large; what else was on the channel has only failed */
static void test_broker_flights__too_large(void **state UNUSED)
{
    struct broker_message large[2] = {{.id = STR("l:8"), .key = STR("k"), .body = STR("largest")},
                                      {.id = STR("l:9"), .key = STR("k"), .body = STR("large")}};
    unsigned char open[2] = {0};
    struct broker_batch taken_one = {.messages = large, .states = open, .n = 1, .n_open = 1};
    struct broker_batch other = {.messages = large + 1, .states = open + 1, .n = 1, .n_open = 1};

    messages[2].body = STR("big");
    broker_flights_add(&flights, &taken_one, 0);
    broker_flights_add(&flights, &other, 0);
    broker_flights_settle(&flights, N + 1, false, true);
    broker_flights_fail(&flights, 406, "PRECONDITION_FAILED");
    assert_true(other.is_too_large);
    assert_false(taken_one.is_too_large);
    assert_false(batch.is_too_large);
    assert_int_equal(0, batch.n_open);
}

static void test_broker_flights__tags_that_are_not_open(void **state UNUSED)
{
    static const uint64_t tags[] = {0, 5, 1000, UINT64_MAX};

    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        broker_flights_settle(&flights, tags[i], i > 0 && i % 2 == 0, true);
    assert_int_equal(0, taken());
    broker_flights_settle(&flights, 0, true, true);
    assert_int_equal(4, taken());
    broker_flights_settle(&flights, 0, true, true);
    broker_flights_settle(&flights, 1, true, true);
    assert_int_equal(0, flights.n);
}

/* tags go on, and the array is used again */
static void test_broker_flights__many(void **state UNUSED)
{
    broker_flights_settle(&flights, 0, true, true);
    for (uint64_t tag = N + 1; tag < 10000; tag++) {
        memset(states, 0, sizeof states);
        batch.n_open = 2;
        broker_flights_add(&flights, &batch, 0);
        broker_flights_settle(&flights, tag, false, true);
        assert_int_equal(1, batch.n_open);
    }
    assert_true(flights.cap < 100);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_broker_flights__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(confirmed_out_of_order), T(refused), T(returned), T(channel_closed), T(too_large),
        T(tags_that_are_not_open), T(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
