/* receiver.c - an endpoint that does as its paths say. */
#include "receiver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"

#define WAIT_MS 10000
#define RESPONSE(inside) "<?xml version=\"1.0\"?><methodResponse>" inside "</methodResponse>"

static const char taken[] = RESPONSE("<params><param><value><int>1</int></value></param></params>");
static const char fault[] = RESPONSE(
    "<fault><value><struct><member><name>faultCode</name><value><int>1</int></value></member>"
    "<member><name>faultString</name><value><string>no</string></value></member></struct></value>"
    "</fault>");

struct connection {
    struct receiver *r;
    pthread_t thread;
    int fd;
    struct connection *next;
};

struct path {
    char *name;
    size_t n, at_once;
    struct path *next;
};

struct receiver {
    int fd, port;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool released, down, closing;
    const char *hold;               /* this path waits, too; NULL: none */
    struct connection *connections; /* all there ever were */
    struct path *paths;
    struct received *log;
    size_t n, cap;
    size_t at_once, most_at_once, most_of_a_path, open, most_open;
    char url[256];
};

static struct path *path_of(struct receiver *r, const char *name)
{
    struct path *p;

    for (p = r->paths; p != NULL; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p;
    p = NEW(struct path);
    p->name = mem_strdup(name);
    p->next = r->paths;
    r->paths = p;
    return p;
}

/* Note the request, decide, wait if the path says so. */
static void decide(struct receiver *r, char *head, char *body, int *status, const char **text)
{
    char *path = mem_strndup(head + 5, strcspn(head + 5, " ")); /* behind "POST " */
    struct path *p;

    pthread_mutex_lock(&r->lock);
    p = path_of(r, path);
    p->n++;
    r->log = mem_grow(r->log, &r->cap, r->n + 1, sizeof *r->log);
    r->log[r->n++] = (struct received){path, head, body};
    if (++p->at_once > r->most_of_a_path)
        r->most_of_a_path = p->at_once;
    if (++r->at_once > r->most_at_once)
        r->most_at_once = r->at_once;
    pthread_cond_broadcast(&r->changed);
    *status = 200;
    *text = taken;
    if (strncmp(path, "/fault", 6) == 0)
        *text = fault;
    else if (strncmp(path, "/garbage", 8) == 0)
        *text = "\xff<not a response";
    else if (strncmp(path, "/moved", 6) == 0)
        *status = 302;
    else if (strncmp(path, "/auth", 5) == 0 &&
             strcasestr(head, "\r\nAuthorization: Basic dXNlcjpzZWNyZXQ=") == NULL)
        *status = 401;
    else if (strncmp(path, "/fail", 5) == 0 && p->n <= strtoul(path + 5, NULL, 10))
        *status = 500;
    else if (strncmp(path, "/down", 5) == 0 && r->down)
        *status = 500;
    if (strncmp(path, "/hold", 5) == 0 || (r->hold != NULL && strcmp(path, r->hold) == 0))
        while (!r->released && !r->closing)
            pthread_cond_wait(&r->changed, &r->lock);
    p->at_once--;
    r->at_once--;
    pthread_mutex_unlock(&r->lock);
}

/* Read one request: head without its empty line, and body. False at the end of the connection. */
static bool read_request(int fd, char **head, char **body)
{
    size_t len = 0, cap = 65536, want = 0, head_len = 0;
    char *buf = mem_zalloc(cap + 1), *end, *field;

    for (;;) {
        ssize_t n;

        if (head_len == 0 && (end = strstr(buf, "\r\n\r\n")) != NULL) {
            head_len = (size_t)(end - buf);
            *end = '\0';
            field = strcasestr(buf, "\r\nContent-Length:");
            want = head_len + 4 + (field == NULL ? 0 : strtoul(field + 17, NULL, 10));
        }
        if (head_len > 0 && len >= want)
            break;
        if (len == cap) {
            buf = mem_realloc(buf, cap * 2 + 1);
            memset(buf + cap, 0, cap + 1);
            cap *= 2;
        }
        n = read(fd, buf + len, cap - len);
        if (n <= 0) {
            mem_free(buf);
            return false;
        }
        len += (size_t)n;
    }
    *head = mem_strndup(buf, head_len);
    *body = mem_strndup(buf + head_len + 4, want - head_len - 4);
    mem_free(buf);
    return true;
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct receiver *r = c->r;
    char *head, *body, answer[1024];
    const char *text;
    int status, n;

    while (read_request(c->fd, &head, &body)) {
        decide(r, head, body, &status, &text);
        n = snprintf(answer, sizeof answer,
                     "HTTP/1.1 %d Status\r\nContent-Type: text/xml\r\nLocation: /ok\r\n"
                     "WWW-Authenticate: Basic realm=\"test\"\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     status, strlen(text), text);
        if (send(c->fd, answer, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    }
    pthread_mutex_lock(&r->lock);
    r->open--;
    pthread_mutex_unlock(&r->lock);
    shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct receiver *r = arg;
    struct connection *c;
    int fd;

    while ((fd = accept(r->fd, NULL, NULL)) >= 0) {
        c = NEW(struct connection);
        c->r = r;
        c->fd = fd;
        pthread_mutex_lock(&r->lock);
        c->next = r->connections;
        r->connections = c;
        if (++r->open > r->most_open)
            r->most_open = r->open;
        ASSERT(pthread_create(&c->thread, NULL, serve, c) == 0);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

void receiver_open(struct receiver *r)
{
    ASSERT(listen(r->fd, 4096) == 0);
    ASSERT(pthread_create(&r->thread, NULL, accept_all, r) == 0);
    r->has_thread = true;
}

struct receiver *receiver_new(bool refusing)
{
    struct receiver *r = NEW(struct receiver);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    pthread_condattr_t attr;

    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->changed, &attr);
    pthread_condattr_destroy(&attr);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(r->fd >= 0 && bind(r->fd, (struct sockaddr *)&at, sizeof at) == 0);
    ASSERT(getsockname(r->fd, (struct sockaddr *)&at, &len) == 0);
    r->port = ntohs(at.sin_port);
    if (!refusing)
        receiver_open(r);
    return r;
}

void receiver_free(struct receiver **rp)
{
    struct receiver *r = *rp;
    struct connection *c;
    struct path *p;

    *rp = NULL;
    pthread_mutex_lock(&r->lock);
    r->closing = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    shutdown(r->fd, SHUT_RDWR);
    if (r->has_thread)
        pthread_join(r->thread, NULL);
    close(r->fd);
    while ((c = r->connections) != NULL) {
        r->connections = c->next;
        shutdown(c->fd, SHUT_RDWR);
        pthread_join(c->thread, NULL);
        close(c->fd);
        mem_free(c);
    }
    while ((p = r->paths) != NULL) {
        r->paths = p->next;
        mem_free(p->name);
        mem_free(p);
    }
    for (size_t i = 0; i < r->n; i++) {
        mem_free(r->log[i].path);
        mem_free(r->log[i].head);
        mem_free(r->log[i].body);
    }
    mem_free(r->log);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    mem_free(r);
}

const char *receiver_url(struct receiver *r, const char *path)
{
    snprintf(r->url, sizeof r->url, "http://127.0.0.1:%d%s", r->port, path);
    return r->url;
}

static size_t count_locked(const struct receiver *r, const char *path)
{
    if (path == NULL)
        return r->n;
    for (const struct path *p = r->paths; p != NULL; p = p->next)
        if (strcmp(p->name, path) == 0)
            return p->n;
    return 0;
}

bool receiver_wait(struct receiver *r, const char *path, size_t n)
{
    struct timespec until = clock_mono_after_ms(WAIT_MS);
    bool came;

    pthread_mutex_lock(&r->lock);
    while (!(came = count_locked(r, path) >= n) &&
           pthread_cond_timedwait(&r->changed, &r->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&r->lock);
    return came;
}

size_t receiver_count(struct receiver *r, const char *path)
{
    size_t n;

    pthread_mutex_lock(&r->lock);
    n = count_locked(r, path);
    pthread_mutex_unlock(&r->lock);
    return n;
}

struct received receiver_get(struct receiver *r, const char *path, size_t i)
{
    struct received got = {NULL, NULL, NULL};

    pthread_mutex_lock(&r->lock);
    for (size_t k = 0; k < r->n; k++)
        if ((path == NULL || strcmp(r->log[k].path, path) == 0) && i-- == 0) {
            got = r->log[k];
            break;
        }
    pthread_mutex_unlock(&r->lock);
    ASSERT(got.path != NULL);
    return got;
}

void receiver_release(struct receiver *r)
{
    pthread_mutex_lock(&r->lock);
    r->released = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void receiver_hold(struct receiver *r, const char *path)
{
    pthread_mutex_lock(&r->lock);
    r->hold = path;
    pthread_mutex_unlock(&r->lock);
}

void receiver_down(struct receiver *r, bool down)
{
    pthread_mutex_lock(&r->lock);
    r->down = down;
    pthread_mutex_unlock(&r->lock);
}

static size_t figure(struct receiver *r, const size_t *at)
{
    size_t n;

    pthread_mutex_lock(&r->lock);
    n = *at;
    pthread_mutex_unlock(&r->lock);
    return n;
}

size_t receiver_most_at_once(struct receiver *r)
{
    return figure(r, &r->most_at_once);
}

size_t receiver_most_of_a_path(struct receiver *r)
{
    return figure(r, &r->most_of_a_path);
}

size_t receiver_most_connections(struct receiver *r)
{
    return figure(r, &r->most_open);
}
