/* tests/fuzz/fuzz_http_request.c - any bytes to the HTTP server, over a socket.
 *
 * The first byte chooses where the rest is cut in two. Sent whole and in two parts it must be read
 * the same: the same requests, the same refusal at the end. Every answer must be well-formed, the
 * connection must end, and nothing may be left of it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/stats.h"
#include "net/http_server_priv.h"

#define INPUT_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct http_server *server;

static void handle(void *ctx UNUSED, struct http_request *r)
{
    struct arena *a = http_request_arena(r);
    struct str text, all = STR(""), body = http_request_body(r);

    for (size_t i = 0; i < r->n_fields; i++)
        all = str_printf(a, "%.*s%.*s=%.*s;", STR_ARG(all), STR_ARG(r->fields[i].name),
                         STR_ARG(r->fields[i].value));
    text = str_printf(a, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s", STR_ARG(http_request_method(r)),
                      STR_ARG(http_request_target(r)), STR_ARG(http_request_path(r)),
                      STR_ARG(http_request_query(r)), STR_ARG(http_request_host(r)), STR_ARG(all),
                      STR_ARG(body));
    ASSERT(http_request_path(r).len > 0 && body.len <= INPUT_MAX);
    /* nothing for HEAD, so that the answers can be told apart without knowing the questions */
    http_reply(r, 200, STR_NULL, r->is_head ? NULL : blob_copy(text));
}

static void nothing(void *ctx UNUSED)
{
}

static void close_server(void)
{
    http_server_free(&server);
}

static void open_server(void)
{
    const struct http_server_cfg cfg = {.listen = STR("127.0.0.1:0"),
                                        .n_loops = 1,
                                        .max_connections = 10,
                                        .max_header = 4 * INPUT_MAX,
                                        .max_body = 4 * INPUT_MAX,
                                        .header_ms = 60000,
                                        .body_ms = 60000,
                                        .idle_ms = 60000,
                                        .write_ms = 60000,
                                        .stall_ms = 60000,
                                        .max_unsent = 1024 * 1024};

    ASSERT(http_server_new(&cfg, handle, NULL, &server, NULL) == RC_OK);
    atexit(close_server);
}

static void send_all(int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue; /* the fuzzer's alarm */
        if (k < 0)
            return; /* it has heard enough */
        p += k;
        n -= (size_t)k;
    }
}

/* What the server answers, until it closes. */
static void talk(const uint8_t *p, size_t len, size_t cut, struct buf *answer)
{
    char room[65536];
    int fds[2], on = 1;
    ssize_t n;

    ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    ASSERT(ioctl(fds[1], FIONBIO, &on) == 0);
    http_server_adopt(server, fds[1]);
    send_all(fds[0], p, cut);
    if (cut < len)
        loop_call(server->loops[0]->loop, nothing, NULL); /* it has read the first part */
    send_all(fds[0], p + cut, len - cut);
    shutdown(fds[0], SHUT_WR);
    while ((n = recv(fds[0], room, sizeof room, 0)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            buf_append(answer, room, (size_t)n);
    close(fds[0]);
    for (int i = 0; i < 1000 && stats_get(STAT_http_connections) > 0; i++)
        loop_call(server->loops[0]->loop, nothing, NULL); /* a turn of the loop */
    ASSERT(stats_get(STAT_http_connections) == 0);
}

/* The 200s without their dates, and "refused" at the end if it is so. Interim answers depend on
 * timing; which of several faults is found first may depend on the cut. */
static void normalize(struct str answer, struct buf *out)
{
    while (answer.len > 0) {
        ssize_t end = str_find(answer, STR("\r\n\r\n")), at;
        struct str head, number;
        int64_t len;

        ASSERT(end > 0 && str_starts(answer, STR("HTTP/1.1 ")));
        head = str_slice(answer, 0, (size_t)end + 4);
        answer = str_slice(answer, (size_t)end + 4, answer.len);
        if (str_starts(head, STR("HTTP/1.1 100 ")))
            continue;
        at = str_find(head, STR("Content-Length: "));
        ASSERT(at > 0);
        number = str_slice(head, (size_t)at + 16, head.len);
        number = str_slice(number, 0, (size_t)str_chr(number, '\r'));
        ASSERT(str_to_i64(number, &len));
        if (!str_starts(head, STR("HTTP/1.1 200 "))) {
            ASSERT(str_find(head, STR("Connection: close\r\n")) > 0);
            buf_puts(out, "refused");
            return;
        }
        ASSERT(answer.len >= (size_t)len);
        buf_str(out, str_slice(head, (size_t)at, head.len));
        buf_str(out, str_slice(answer, 0, (size_t)len));
        answer = str_slice(answer, (size_t)len, answer.len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO(buf_release) struct buf whole = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf parts = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf whole_norm = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf parts_norm = BUF_INIT(BUF_ANY);
    size_t cut;

    if (len < 2 || len > INPUT_MAX)
        return 0;
    if (server == NULL)
        open_server();
    cut = (size_t)data[0] * (len - 1) / 256;
    talk(data + 1, len - 1, len - 1, &whole);
    talk(data + 1, len - 1, cut, &parts);
    normalize(buf_view(&whole), &whole_norm);
    normalize(buf_view(&parts), &parts_norm);
    ASSERT(str_eq(buf_view(&whole_norm), buf_view(&parts_norm)));
    return 0;
}
