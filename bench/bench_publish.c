/* bench/bench_publish.c - bench_publish PORT N WINDOW < BODY: a bare publisher, as a limit.
 *
 * Makes the topic exchange and the queue "bench", both durable, and empties the queue. Then it
 * publishes N persistent messages with this body and with the properties that Feedmill gives,
 * WINDOW of them in flight, and waits until the broker has confirmed all. Prints messages per
 * second. N = 0 only makes and empties. */
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"

#define BODY_MAX ((size_t)1 << 20)
#define BURST 64 /* messages that are sent before it looks for confirms */

static void stop(const char *what)
{
    fprintf(stderr, "bench_publish: %s\n", what);
    exit(1);
}

static amqp_bytes_t text(const char *s)
{
    return amqp_cstring_bytes(s);
}

static void expect(amqp_connection_state_t conn, const char *what)
{
    if (amqp_get_rpc_reply(conn).reply_type != AMQP_RESPONSE_NORMAL)
        stop(what);
}

static amqp_connection_state_t connect_to(int port)
{
    amqp_connection_state_t conn = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(conn);

    if (socket == NULL || amqp_socket_open(socket, "127.0.0.1", port) != AMQP_STATUS_OK)
        stop("there is no broker");
    if (amqp_login(conn, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "other", "other-password")
            .reply_type != AMQP_RESPONSE_NORMAL)
        stop("the login failed");
    amqp_channel_open(conn, 1);
    expect(conn, "no channel");
    return conn;
}

static void make_queue(amqp_connection_state_t conn)
{
    amqp_bytes_t name = text("bench");

    amqp_exchange_declare(conn, 1, name, text("topic"), 0, 1, 0, 0, amqp_empty_table);
    expect(conn, "no exchange");
    amqp_queue_declare(conn, 1, name, 0, 1, 0, 0, amqp_empty_table);
    expect(conn, "no queue");
    amqp_queue_bind(conn, 1, name, name, text("#"), amqp_empty_table);
    expect(conn, "no binding");
    amqp_queue_purge(conn, 1, name);
    expect(conn, "the queue cannot be emptied");
    amqp_confirm_select(conn, 1);
    expect(conn, "no confirms");
}

static void publish_one(amqp_connection_state_t conn, amqp_bytes_t body)
{
    static amqp_table_entry_t headers[4];
    amqp_basic_properties_t props = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                  AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG |
                  AMQP_BASIC_HEADERS_FLAG,
        .content_type = text("application/json"),
        .delivery_mode = 2,
        .message_id = text("36fb9c47-1cb8-47a8-8183-19a1e9d5a418:2"),
        .timestamp = 1,
        .type = text("new"),
        .headers = {4, headers}};
    static const char *const names[] = {"prev_cursor", "cursor", "feed_url"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        headers[i] =
            (amqp_table_entry_t){text(names[i]),
                                 {.kind = AMQP_FIELD_KIND_UTF8,
                                  .value.bytes = text("fm1.36fb9c47.123.1772359000000000")}};
    headers[3] =
        (amqp_table_entry_t){text("subscription"), {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 1}};
    if (amqp_basic_publish(conn, 1, text("bench"), text("feed.1.new"), 1, 0, &props, body) !=
        AMQP_STATUS_OK)
        stop("a message was not sent");
}

/* Returns the number of messages that are confirmed. Waits for one confirm if `wait`. */
static long confirmed(amqp_connection_state_t conn, long done, bool wait)
{
    struct timeval none = {0, 0};
    amqp_frame_t frame;
    int status;

    for (;;) {
        amqp_maybe_release_buffers(conn);
        status = amqp_simple_wait_frame_noblock(conn, &frame, wait ? NULL : &none);
        if (status == AMQP_STATUS_TIMEOUT)
            return done;
        if (status != AMQP_STATUS_OK)
            stop("the connection ended");
        if (frame.frame_type != AMQP_FRAME_METHOD)
            continue;
        if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
            stop("a message was not confirmed");
        /* one queue: it confirms in order */
        done = (long)((amqp_basic_ack_t *)frame.payload.method.decoded)->delivery_tag;
        wait = false;
    }
}

int main(int argc, char **argv)
{
    static char bytes[BODY_MAX];
    amqp_connection_state_t conn;
    amqp_bytes_t body = {.bytes = bytes};
    long n, window, sent = 0, done = 0;
    int64_t began;

    if (argc != 4)
        stop("usage: bench_publish PORT N WINDOW < BODY");
    conn = connect_to(atoi(argv[1]));
    n = atol(argv[2]);
    window = atol(argv[3]);
    body.len = fread(bytes, 1, sizeof bytes, stdin);
    make_queue(conn);
    began = clock_mono_ms();
    while (done < n) {
        for (int i = 0; i < BURST && sent < n && sent - done < window; i++, sent++)
            publish_one(conn, body);
        done = confirmed(conn, done, sent == n || sent - done >= window);
    }
    printf("%.0f\n", (double)n * 1000 / (double)(clock_mono_ms() - began + 1));
    amqp_destroy_connection(conn);
    return 0;
}
