/* tests/unit/net/origin.c - one thread accepts, one thread serves each connection.
 *
 * /ok /empty /304            what they say
 * /echo                      the request as it came
 * /to/CODE/TARGET            a redirect, with a body even for 304
 * /gzip /deflate /badgzip    "hello, hello, hello" compressed, or not
 * /bomb                      300 MiB of blanks, compressed
 * /endless /headers          a body, a header without end
 * /short /close /slow /drip  10 of 100 bytes; nothing; no answer; a byte now and then
 * /basic /digest             a challenge; 200 with the authorization as body
 * /chunked                   a chunked body
 */
#include "origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "net/url.h"

#define TEXT_MAX 65536

struct origin {
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t gone;
    bool stopping;
    int requests, open, most;
    char last[TEXT_MAX], shown[TEXT_MAX];
};

struct connection {
    struct origin *o;
    int fd;
};

static bool is_stopping(struct origin *o)
{
    bool stopping;

    pthread_mutex_lock(&o->lock);
    stopping = o->stopping;
    pthread_mutex_unlock(&o->lock);
    return stopping;
}

static bool say(int fd, const void *p, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t m = send(fd, (const char *)p + done, n - done, MSG_NOSIGNAL);

        if (m <= 0)
            return false;
        done += (size_t)m;
    }
    return true;
}

static bool say_z(int fd, const char *text)
{
    return say(fd, text, strlen(text));
}

static bool answer(int fd, const char *status, const char *fields, const void *body, size_t n)
{
    char head[4096];
    int len = snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status,
                       fields, n);

    return say(fd, head, (size_t)len) && say(fd, body, n);
}

static bool answer_z(int fd, const char *status, const char *fields, const char *body)
{
    return answer(fd, status, fields, body, strlen(body));
}

/* `text` with zlib; bits 31: gzip, 15: zlib. */
static size_t squeeze(const char *text, int bits, unsigned char *out, size_t size)
{
    z_stream z = {0};

    ASSERT(deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = out;
    z.avail_out = (unsigned)size;
    ASSERT(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static bool answer_bomb(int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
    static unsigned char blanks[1 << 20], out[1 << 16];
    z_stream z = {0};
    bool alive = say(fd, head, sizeof head - 1);

    memset(blanks, ' ', sizeof blanks);
    ASSERT(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    for (int i = 0; i < 300 && alive; i++) {
        z.next_in = blanks;
        z.avail_in = sizeof blanks;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            deflate(&z, Z_SYNC_FLUSH);
            alive = say(fd, out, sizeof out - z.avail_out);
        } while (alive && z.avail_out == 0);
    }
    deflateEnd(&z);
    return false;
}

static bool answer_endless(int fd, const char *head, const char *piece)
{
    if (!say_z(fd, head))
        return false;
    while (say_z(fd, piece))
        ;
    return false;
}

/* Wait until the client leaves or the test ends. */
static bool wait_gone(struct connection *c, const char *drip)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    char byte;

    while (!is_stopping(c->o)) {
        if (poll(&p, 1, 50) > 0 && recv(c->fd, &byte, 1, MSG_DONTWAIT) <= 0)
            return false;
        if (drip != NULL && !say_z(c->fd, drip))
            return false;
    }
    return false;
}

static bool answer_challenge(int fd, const char *request, const char *scheme, const char *challenge)
{
    const char *field = strcasestr(request, "\r\nAuthorization: "), *end;

    if (field == NULL || strncasecmp(field + 17, scheme, strlen(scheme)) != 0)
        return answer_z(fd, "401 Unauthorized", challenge, "who are you?");
    field += 17;
    end = strstr(field, "\r\n");
    return answer(fd, "200 OK", "", field, (size_t)(end - field));
}

/* Answer one request; false: close the connection. */
static bool serve(struct connection *c, const char *request, const char *path)
{
    unsigned char packed[256];
    char field[2048];
    size_t n;
    int code;

    if (strcmp(path, "/ok") == 0)
        return answer_z(c->fd, "200 OK", "Content-Type: text/plain\r\nX-Two: a\r\nx-two: b\r\n",
                        "hello");
    if (strcmp(path, "/empty") == 0)
        return answer_z(c->fd, "200 OK", "", "");
    if (strcmp(path, "/304") == 0)
        return say_z(c->fd, "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n");
    if (strncmp(path, "/echo", 5) == 0)
        return answer_z(c->fd, "200 OK", "", request);
    if (sscanf(path, "/to/%d/", &code) == 1) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct str target = url_decode(&a, str_from(strchr(path + 4, '/') + 1), false);

        snprintf(field, sizeof field, "Location: %.*s\r\n", STR_ARG(target));
        return answer_z(c->fd, (char[4]){path[4], path[5], path[6], 0}, field, "go there");
    }
    if (strcmp(path, "/gzip") == 0 || strcmp(path, "/deflate") == 0) {
        bool gzip = path[1] == 'g';

        n = squeeze("hello, hello, hello", gzip ? 31 : 15, packed, sizeof packed);
        return answer(c->fd, "200 OK",
                      gzip ? "Content-Encoding: gzip\r\n" : "Content-Encoding: deflate\r\n", packed,
                      n);
    }
    if (strcmp(path, "/badgzip") == 0)
        return answer_z(c->fd, "200 OK", "Content-Encoding: gzip\r\n", "this is no gzip at all");
    if (strcmp(path, "/bomb") == 0)
        return answer_bomb(c->fd);
    if (strcmp(path, "/endless") == 0)
        return answer_endless(c->fd, "HTTP/1.1 200 OK\r\n\r\n", "more and more of the same text, ");
    if (strcmp(path, "/headers") == 0)
        return answer_endless(c->fd, "HTTP/1.1 200 OK\r\n", "X-Field: some value of it\r\n");
    if (strcmp(path, "/folds") == 0) {
        bool ok = say_z(c->fd, "HTTP/1.1 200 OK\r\nX-Long: a\r\n");

        for (int i = 0; i < 15000 && ok; i++)
            ok = say_z(c->fd, " a\r\n");
        return ok && say_z(c->fd, "Content-Length: 0\r\n\r\n");
    }
    if (strcmp(path, "/short") == 0) {
        (void)say_z(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
        return false;
    }
    if (strcmp(path, "/slow") == 0)
        return wait_gone(c, NULL);
    if (strcmp(path, "/drip") == 0)
        return say_z(c->fd, "HTTP/1.1 200 OK\r\n\r\n") && wait_gone(c, ".");
    if (strcmp(path, "/chunked") == 0)
        return say_z(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
    if (strcmp(path, "/basic") == 0)
        return answer_challenge(c->fd, request, "Basic ",
                                "WWW-Authenticate: Basic realm=\"x\"\r\n");
    if (strcmp(path, "/digest") == 0)
        return answer_challenge(
            c->fd, request, "Digest ",
            "WWW-Authenticate: Digest realm=\"x\", nonce=\"n1\", qop=\"auth\"\r\n"
            "WWW-Authenticate: Basic realm=\"x\"\r\n");
    if (strcmp(path, "/close") == 0)
        return false;
    return answer_z(c->fd, "404 Not Found", "", "no such script");
}

/* The next request with its body; 0 when the client has gone. */
static size_t read_request(int fd, char *text)
{
    size_t n = 0, need = 0;

    while (need == 0 || n < need) {
        ssize_t m = recv(fd, text + n, TEXT_MAX - 1 - n, 0);
        char *end, *field;

        if (m <= 0 || text[0] < 'A') /* gone; no method: TLS */
            return 0;
        n += (size_t)m;
        text[n] = '\0';
        end = strstr(text, "\r\n\r\n");
        if (end == NULL || need > 0)
            continue;
        need = (size_t)(end + 4 - text);
        field = strcasestr(text, "\r\nContent-Length:");
        if (field != NULL && field < end)
            need += (size_t)atoi(field + 17);
    }
    return n;
}

static void *connection_run(void *ctx)
{
    struct connection *c = ctx;
    struct origin *o = c->o;
    char *text = mem_alloc(TEXT_MAX), *path = mem_alloc(TEXT_MAX);

    while (read_request(c->fd, text) > 0) {
        pthread_mutex_lock(&o->lock);
        o->requests++;
        strcpy(o->last, text);
        pthread_mutex_unlock(&o->lock);
        if (sscanf(text, "%*s %65535s", path) != 1 || !serve(c, text, path))
            break;
    }
    close(c->fd);
    mem_free(text);
    mem_free(path);
    mem_free(c);
    pthread_mutex_lock(&o->lock);
    o->open--;
    pthread_cond_signal(&o->gone);
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static void *origin_run(void *ctx)
{
    struct origin *o = ctx;
    int fd;

    while ((fd = accept(o->fd, NULL, NULL)) >= 0) {
        struct connection *c = NEW(struct connection);
        struct timeval tv = {5, 0};
        pthread_t thread;

        if (is_stopping(o)) {
            close(fd);
            mem_free(c);
            break;
        }
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        c->o = o;
        c->fd = fd;
        pthread_mutex_lock(&o->lock);
        o->open++;
        if (o->open > o->most)
            o->most = o->open;
        pthread_mutex_unlock(&o->lock);
        ASSERT(pthread_create(&thread, NULL, connection_run, c) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

static int bound(int type, int *port)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sin;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    ASSERT(fd >= 0 && bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0);
    ASSERT(getsockname(fd, (struct sockaddr *)&sin, &len) == 0);
    *port = ntohs(sin.sin_port);
    return fd;
}

struct origin *origin_new(void)
{
    struct origin *o = NEW(struct origin);

    o->fd = bound(SOCK_STREAM, &o->port);
    ASSERT(listen(o->fd, 1024) == 0);
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->gone, NULL);
    ASSERT(pthread_create(&o->thread, NULL, origin_run, o) == 0);
    return o;
}

void origin_free(struct origin **op)
{
    struct origin *o = *op;

    pthread_mutex_lock(&o->lock);
    o->stopping = true;
    pthread_mutex_unlock(&o->lock);
    shutdown(o->fd, SHUT_RDWR);
    pthread_join(o->thread, NULL);
    close(o->fd);
    pthread_mutex_lock(&o->lock);
    while (o->open > 0)
        pthread_cond_wait(&o->gone, &o->lock);
    pthread_mutex_unlock(&o->lock);
    mem_free(o);
    *op = NULL;
}

int origin_port(const struct origin *o)
{
    return o->port;
}

int origin_requests(struct origin *o)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = o->requests;
    pthread_mutex_unlock(&o->lock);
    return n;
}

int origin_most(struct origin *o)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = o->most;
    pthread_mutex_unlock(&o->lock);
    return n;
}

const char *origin_last(struct origin *o)
{
    pthread_mutex_lock(&o->lock);
    strcpy(o->shown, o->last);
    pthread_mutex_unlock(&o->lock);
    return o->shown;
}

/* ---- names ---- */

struct names {
    int fd, port;
    pthread_t thread;
    int questions; /* atomic */
};

static const struct {
    const char *name;
    unsigned char addrs[2][4];
} known_names[] = {
    {"a.test", {{127, 0, 0, 1}}},
    {"two.test", {{127, 0, 0, 3}, {127, 0, 0, 1}}},
    {"inside.test", {{10, 0, 0, 1}}},
    {"mixed.test", {{10, 0, 0, 1}, {127, 0, 0, 1}}},
};

/* The reply to a question of `n` bytes, written over it; RFC 1035 §4.1. */
static size_t reply(unsigned char *p, size_t n)
{
    char name[300] = "";
    size_t at = 12, end, row = 0;
    unsigned type, count = 0;

    while (at < n && p[at] != 0 && at + p[at] < n && strlen(name) + p[at] < sizeof name - 2) {
        strncat(name, (char *)p + at + 1, p[at]);
        at += 1u + p[at];
        if (p[at] != 0)
            strcat(name, ".");
    }
    type = (unsigned)p[at + 1] << 8 | p[at + 2];
    end = at + 5;
    while (row < ARRAY_LEN(known_names) && strcasecmp(known_names[row].name, name) != 0)
        row++;
    p[2] = 0x81;
    p[3] = row < ARRAY_LEN(known_names) ? 0x80 : 0x83;
    if (row < ARRAY_LEN(known_names) && type == 1)
        for (int i = 0; i < 2 && known_names[row].addrs[i][0] != 0; i++, count++) {
            static const unsigned char head[] = {0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4};

            memcpy(p + end, head, sizeof head);
            memcpy(p + end + sizeof head, known_names[row].addrs[i], 4);
            end += sizeof head + 4;
        }
    p[6] = 0;
    p[7] = (unsigned char)count;
    memset(p + 8, 0, 4);
    return strcasecmp(name, "mute.test") == 0 ? 0 : end;
}

static void *names_run(void *ctx)
{
    struct names *s = ctx;
    unsigned char packet[1024];

    for (;;) {
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        ssize_t n = recvfrom(s->fd, packet, 512, 0, (struct sockaddr *)&from, &len);
        size_t out;

        if (n < 12)
            return NULL;
        __atomic_add_fetch(&s->questions, 1, __ATOMIC_RELAXED);
        out = reply(packet, (size_t)n);
        if (out > 0)
            (void)sendto(s->fd, packet, out, 0, (struct sockaddr *)&from, len);
    }
}

struct names *names_new(void)
{
    struct names *s = NEW(struct names);

    s->fd = bound(SOCK_DGRAM, &s->port);
    ASSERT(pthread_create(&s->thread, NULL, names_run, s) == 0);
    return s;
}

void names_free(struct names **np)
{
    struct names *s = *np;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)sendto(s->fd, "", 1, 0, (struct sockaddr *)&to, sizeof to); /* too short: the end */
    pthread_join(s->thread, NULL);
    close(s->fd);
    mem_free(s);
    *np = NULL;
}

int names_port(const struct names *s)
{
    return s->port;
}

int names_questions(struct names *s)
{
    return __atomic_load_n(&s->questions, __ATOMIC_RELAXED);
}
