/* bench/origin.c - the server for the rows that fetch and push: answers every request at once.
 *
 * bench_origin FILE [LOG]: listens on all loopback addresses at a free port, prints the port, and
 * answers each request with the bytes of FILE (text/xml), keeping connections open. FILE never
 * changes, so a request with an If-None-Match field gets 304. LOG gets a line for each request:
 * Unix time and path. Ends when its standard input, a pipe, ends. It is one thread on epoll that
 * looks for little more than the end of a request, so that it costs almost nothing. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"

struct peer {
    int fd;
    struct buf in;
    size_t body_left;         /* bytes of the request's body that are still to come */
    size_t out_at;            /* bytes of the answer that were sent */
    const struct buf *answer; /* that is being sent; NULL: none */
    bool is_ending;           /* the other side has closed */
    bool has_all;             /* nothing more can be read before the next event */
};

static struct buf document = BUF_INIT(BUF_ANY), unchanged = BUF_INIT(BUF_ANY);
static int poller;
static FILE *log_file; /* NULL: there is none */

static void watch(int op, int fd, uint32_t events, void *ptr)
{
    struct epoll_event e = {.events = events, .data.ptr = ptr};

    ASSERT(epoll_ctl(poller, op, fd, &e) == 0);
}

static void peer_close(struct peer *p)
{
    close(p->fd);
    buf_release(&p->in);
    mem_free(p);
}

static void note_request(const char *head)
{
    const char *path = strchr(head, ' ');
    struct timespec now;

    if (log_file == NULL || path == NULL)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(log_file, "%lld.%06ld %.*s\n", (long long)now.tv_sec, now.tv_nsec / 1000,
            (int)strcspn(path + 1, " \r"), path + 1);
}

/* Take one whole request off the input, and choose its answer. False: it is not complete yet. */
static bool take_request(struct peer *p)
{
    char *end = p->in.ptr == NULL ? NULL : memmem(p->in.ptr, p->in.len, "\r\n\r\n", 4), *field;
    size_t len;

    if (end == NULL)
        return false;
    len = (size_t)(end + 4 - p->in.ptr);
    *end = '\0';
    field = strcasestr(p->in.ptr, "\r\nContent-Length:");
    p->answer = strcasestr(p->in.ptr, "\r\nIf-None-Match:") == NULL ? &document : &unchanged;
    *end = '\r';
    if (field != NULL)
        len += strtoul(field + 17, NULL, 10);
    if (p->in.len < len) {
        p->answer = NULL;
        return false;
    }
    note_request(p->in.ptr);
    memmove(p->in.ptr, p->in.ptr + len, p->in.len - len);
    p->in.len -= len;
    return true;
}

/* Serve the connection. False: it is over. */
static bool serve(struct peer *p)
{
    static char room[256 * 1024];
    ssize_t n;

    for (;;) {
        while (p->answer != NULL) {
            n = send(p->fd, p->answer->ptr + p->out_at, p->answer->len - p->out_at, MSG_NOSIGNAL);
            if (n < 0 && errno == EAGAIN) {
                watch(EPOLL_CTL_MOD, p->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, p);
                return true;
            }
            if (n < 0)
                return false;
            p->out_at += (size_t)n;
            if (p->out_at == p->answer->len)
                p->answer = NULL;
        }
        if (take_request(p)) {
            p->out_at = 0;
            continue;
        }
        if (p->has_all)
            return true;
        n = recv(p->fd, room, sizeof room, 0);
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0)
            return false;
        /* epoll(7), "Questions and answers", 9 */
        p->has_all = (size_t)n < sizeof room && !p->is_ending;
        buf_append(&p->in, room, (size_t)n);
    }
}

static void accept_all(int listener)
{
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    int fd, on = 1;

    for (; (fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC)) >=
           0;
         len = sizeof from) {
        struct peer *p;

        if (ntohl(from.sin_addr.s_addr) >> 24 != 127) { /* it must listen on all addresses to have
                                                           the whole of 127.0.0.0/8 */
            close(fd);
            continue;
        }
        p = NEW(struct peer);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        p->fd = fd;
        p->in = (struct buf)BUF_INIT(BUF_ANY);
        watch(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, p);
    }
}

static void load_answers(const char *path)
{
    struct buf body = BUF_INIT(BUF_ANY);
    FILE *f = fopen(path, "rb");
    char room[65536];
    size_t n;

    if (f == NULL) {
        perror(path);
        exit(1);
    }
    while ((n = fread(room, 1, sizeof room, f)) > 0)
        buf_append(&body, room, n);
    fclose(f);
    buf_printf(
        &document,
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nETag: \"1\"\r\nContent-Length: %zu\r\n\r\n",
        body.len);
    buf_str(&document, buf_view(&body));
    buf_printf(&unchanged, "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n");
    buf_release(&body);
}

/* A connection to each address may stay open. */
static void open_many(void)
{
    struct rlimit files;

    ASSERT(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max;
    ASSERT(setrlimit(RLIMIT_NOFILE, &files) == 0);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    struct epoll_event events[256];
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: bench_origin FILE [LOG]\n");
        return 2;
    }
    log_file = argc == 3 ? fopen(argv[2], "w") : NULL;
    if (argc == 3 && log_file == NULL) {
        perror(argv[2]);
        return 1;
    }
    open_many();
    load_answers(argv[1]);
    ASSERT(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 4096) == 0);
    ASSERT(getsockname(listener, (struct sockaddr *)&at, &len) == 0);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    poller = epoll_create1(EPOLL_CLOEXEC);
    watch(EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
    watch(EPOLL_CTL_ADD, STDIN_FILENO, EPOLLIN, &poller);
    for (;;) {
        int n = epoll_wait(poller, events, (int)ARRAY_LEN(events), -1);

        for (int i = 0; i < n; i++) {
            struct peer *p = events[i].data.ptr;

            if (p == NULL)
                accept_all(listener);
            else if ((void *)p == (void *)&poller)
                return log_file == NULL ? 0 : fclose(log_file);
            else {
                p->is_ending = (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
                p->has_all = false;
                if (!serve(p))
                    peer_close(p);
            }
        }
    }
}
