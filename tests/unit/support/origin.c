/* tests/unit/support/origin.c - see origin.h. */
#include "tests/unit/support/origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#define WAIT_MS 60000 /* what has not come by then does not come */
#define DRIP_MS 50

struct path {
    char *name;
    struct origin_page page;
    char *text[4]; /* copies that the page points to */
    bool is_set;
    int n, open, most;
    LIST_ENTRY(path) next;
};

struct origin_talk {
    struct origin *o;
    int fd;
    bool ends;
    struct path *path; /* of the request, while it is open; or NULL */
    struct origin_request request;
    LIST_ENTRY(origin_talk) next;
};

struct seen {
    char *text, *path, *head, *body; /* text: the whole request as it came */
    size_t nth;
};

struct origin {
    int fd, port;
    origin_script_fn *script;
    void *ctx;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;   /* guards the rest */
    pthread_cond_t changed; /* a request came, a connection ended, or waiting requests may go on */
    bool released, stopping;
    char *held; /* this path waits, too; NULL: none */
    LIST_HEAD(, origin_talk) talks;
    LIST_HEAD(, path) paths;
    struct seen *log;
    size_t n, cap;
    int open, most, n_connections, most_connections, n_accepted;
};

/* ---- requests, and their answers ---- */

static struct path *path_locked(struct origin *o, const char *name)
{
    struct path *p;

    LIST_FOREACH (p, &o->paths, next)
        if (strcmp(p->name, name) == 0)
            return p;
    p = NEW(struct path);
    p->name = mem_strdup(name);
    LIST_INSERT_HEAD(&o->paths, p, next);
    return p;
}

/* Copy the page, with its strings. */
static void page_copy(struct path *p, const struct origin_page *from)
{
    const char *texts[] = {from->fields, NULL, from->etag, from->auth};
    size_t len = from->body_len;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        mem_free(p->text[i]);
        p->text[i] = texts[i] == NULL ? NULL : mem_strdup(texts[i]);
    }
    if (from->body != NULL)
        p->text[1] = mem_strndup(from->body, len == 0 ? strlen(from->body) : len);
    p->page = *from;
    p->page.fields = p->text[0];
    p->page.body = p->text[1];
    p->page.etag = p->text[2];
    p->page.auth = p->text[3];
}

static void path_free(struct path *p)
{
    for (size_t i = 0; i < ARRAY_LEN(p->text); i++)
        mem_free(p->text[i]);
    mem_free(p->name);
}

/* Count the request and keep it. If the path has a page, it is copied to *copy. */
static struct path *note(struct origin *o, struct seen *seen, struct path *copy)
{
    struct path *p;

    pthread_mutex_lock(&o->lock);
    p = path_locked(o, seen->path);
    seen->nth = (size_t)++p->n;
    p->most = ++p->open > p->most ? p->open : p->most;
    o->most = ++o->open > o->most ? o->open : o->most;
    o->log = mem_grow(o->log, &o->cap, o->n + 1, sizeof *o->log);
    o->log[o->n++] = *seen;
    copy->is_set = p->is_set;
    if (p->is_set)
        page_copy(copy, &p->page);
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    return p;
}

static void wait_released(struct origin *o, const char *path, bool waits)
{
    pthread_mutex_lock(&o->lock);
    if (waits || (o->held != NULL && strcmp(o->held, path) == 0))
        while (!o->released && !o->stopping)
            pthread_cond_wait(&o->changed, &o->lock);
    pthread_mutex_unlock(&o->lock);
}

/* The request is open no longer. Said before its answer goes out, which may bring the next one. */
static void leave(struct origin_talk *t)
{
    struct origin *o = t->o;

    if (t->path == NULL)
        return;
    pthread_mutex_lock(&o->lock);
    t->path->open--;
    o->open--;
    pthread_mutex_unlock(&o->lock);
    t->path = NULL;
}

bool origin_say(struct origin_talk *t, const void *bytes, size_t n)
{
    leave(t);
    for (size_t done = 0; done < n;) {
        ssize_t sent = send(t->fd, (const char *)bytes + done, n - done, MSG_NOSIGNAL);

        if (sent <= 0) {
            t->ends = true;
            return false;
        }
        done += (size_t)sent;
    }
    return true;
}

bool origin_sayz(struct origin_talk *t, const char *text)
{
    return origin_say(t, text, strlen(text));
}

/* Wait up to `ms` for the client to leave. Returns true when it has left. origin_free() makes every
 * client leave. */
static bool is_gone(struct origin_talk *t, int ms)
{
    struct pollfd p = {.fd = t->fd, .events = POLLIN};
    char byte;

    return poll(&p, 1, ms) > 0 && recv(t->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

void origin_wait_gone(struct origin_talk *t, const char *drip)
{
    while (!is_gone(t, DRIP_MS))
        if (drip != NULL && !origin_sayz(t, drip))
            break;
    t->ends = true;
}

void origin_close(struct origin_talk *t)
{
    t->ends = true;
}

const struct origin_request *origin_request_of(const struct origin_talk *t)
{
    return &t->request;
}

static bool has_field(const char *head, const char *name, const char *value)
{
    const char *p = strcasestr(head, name);

    if (p == NULL)
        return false;
    p += strlen(name);
    return strncmp(p, value, strlen(value)) == 0 && p[strlen(value)] == '\r';
}

/* Answer with 401 or 304 instead of the page, if its conditions say so. */
static void apply_conditions(const char *head, struct origin_page *page)
{
    if (page->auth != NULL && !has_field(head, "\r\nAuthorization: ", page->auth))
        *page = (struct origin_page){.status = 401,
                                     .fields = "WWW-Authenticate: Basic realm=\"x\"\r\n"};
    else if (page->etag != NULL && has_field(head, "\r\nIf-None-Match: ", page->etag))
        *page = (struct origin_page){.status = 304, .fields = page->fields, .etag = page->etag};
}

static void say_page(struct origin_talk *t, const struct origin_page *page)
{
    static const char blanks[4096] = {' '};
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    size_t len = page->body == NULL ? 0 : page->body_len > 0 ? page->body_len : strlen(page->body);

    buf_printf(&out, "HTTP/1.1 %d Status\r\n%s", page->status == 0 ? 200 : page->status,
               page->fields == NULL ? "" : page->fields);
    if (page->etag != NULL)
        buf_printf(&out, "ETag: %s\r\n", page->etag);
    if (page->closes)
        buf_printf(&out, "Connection: close\r\n");
    if (!page->endless && (page->status != 304 || len > 0))
        buf_printf(&out, "Content-Length: %zu\r\n", len);
    buf_printf(&out, "\r\n");
    (void)(origin_say(t, out.ptr, out.len) && origin_say(t, page->body, len));
    while (page->endless && origin_say(t, blanks, sizeof blanks))
        ;
    t->ends |= page->closes;
}

static void answer(struct origin_talk *t, struct origin_page page)
{
    wait_released(t->o, t->request.path, page.waits);
    if (page.hangs) {
        origin_wait_gone(t, NULL);
        return;
    }
    if (page.delay_ms > 0 && is_gone(t, page.delay_ms)) {
        t->ends = true;
        return;
    }
    if (page.speaks != NULL) {
        page.speaks(t);
        return;
    }
    apply_conditions(t->request.head, &page);
    say_page(t, &page);
}

/* ---- connections ---- */

/* Read one request. False: the client has left, or speaks TLS (no method begins like that). */
static bool read_request(int fd, struct seen *out)
{
    size_t len = 0, cap = 65536, want = 0, head_len = 0;
    char *text = mem_zalloc(cap + 1), *end, *field;

    while (head_len == 0 || len < want) {
        ssize_t n;

        if (len == cap) {
            text = mem_realloc(text, cap * 2 + 1);
            memset(text + cap, 0, cap + 1);
            cap *= 2;
        }
        n = read(fd, text + len, cap - len);
        if (n <= 0 || text[0] < 'A') {
            mem_free(text);
            return false;
        }
        len += (size_t)n;
        if (head_len > 0 || (end = strstr(text, "\r\n\r\n")) == NULL)
            continue;
        head_len = (size_t)(end - text) + 2;
        field = strcasestr(text, "\r\nContent-Length:");
        want = head_len + 2 + (field == NULL || field > end ? 0 : strtoul(field + 17, NULL, 10));
    }
    end = strchr(text, ' ');
    ASSERT(end != NULL); /* "GET /path HTTP/1.1" */
    *out = (struct seen){.text = text,
                         .head = mem_strndup(text, head_len),
                         .body = mem_strndup(text + head_len + 2, want - head_len - 2),
                         .path = mem_strndup(end + 1, strcspn(end + 1, " "))};
    return true;
}

static void serve(struct origin_talk *t, struct seen *seen)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct origin *o = t->o;
    struct path copy = {.name = NULL};
    struct origin_page page = {.status = 404};

    t->path = note(o, seen, &copy);

    t->request = (struct origin_request){
        .path = seen->path, .head = seen->head, .body = seen->body, .nth = seen->nth, .arena = &a};
    if (copy.is_set)
        page = copy.page;
    else if (o->script != NULL)
        o->script(o->ctx, &t->request, &page);
    answer(t, page);
    path_free(&copy);
    leave(t);
}

static void *talk_main(void *arg)
{
    struct origin_talk *t = arg;
    struct origin *o = t->o;
    struct seen seen;

    while (!t->ends && read_request(t->fd, &seen))
        serve(t, &seen);
    pthread_mutex_lock(&o->lock);
    LIST_REMOVE(t, next);
    shutdown(t->fd, SHUT_WR);
    close(t->fd);
    o->n_connections--;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    mem_free(t);
    return NULL;
}

static void *origin_main(void *arg)
{
    struct origin *o = arg;
    int fd;

    while ((fd = accept(o->fd, NULL, NULL)) >= 0) {
        struct origin_talk *t = NEW(struct origin_talk);
        pthread_t thread;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        t->o = o;
        t->fd = fd;
        pthread_mutex_lock(&o->lock);
        LIST_INSERT_HEAD(&o->talks, t, next);
        o->n_accepted++;
        if (++o->n_connections > o->most_connections)
            o->most_connections = o->n_connections;
        if (o->stopping) /* origin_free() has gone through the list already */
            shutdown(fd, SHUT_RDWR);
        pthread_mutex_unlock(&o->lock);
        ASSERT(pthread_create(&thread, NULL, talk_main, t) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

void origin_open(struct origin *o)
{
    ASSERT(listen(o->fd, 4096) == 0);
    ASSERT(pthread_create(&o->thread, NULL, origin_main, o) == 0);
    o->has_thread = true;
}

struct origin *origin_new(origin_script_fn *script, void *ctx, bool refusing)
{
    struct origin *o = NEW(struct origin);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    pthread_condattr_t attr;

    o->script = script;
    o->ctx = ctx;
    LIST_INIT(&o->talks);
    LIST_INIT(&o->paths);
    pthread_mutex_init(&o->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&o->changed, &attr);
    pthread_condattr_destroy(&attr);
    o->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(o->fd >= 0 && bind(o->fd, (struct sockaddr *)&at, sizeof at) == 0);
    ASSERT(getsockname(o->fd, (struct sockaddr *)&at, &len) == 0);
    o->port = ntohs(at.sin_port);
    if (!refusing)
        origin_open(o);
    return o;
}

/* Make all clients leave and their threads end. */
static void stop(struct origin *o)
{
    struct origin_talk *t;

    pthread_mutex_lock(&o->lock);
    o->stopping = true;
    LIST_FOREACH (t, &o->talks, next)
        shutdown(t->fd, SHUT_RDWR);
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    shutdown(o->fd, SHUT_RDWR);
    if (o->has_thread)
        pthread_join(o->thread, NULL);
    close(o->fd);
    pthread_mutex_lock(&o->lock);
    while (o->n_connections > 0)
        pthread_cond_wait(&o->changed, &o->lock);
    pthread_mutex_unlock(&o->lock);
}

void origin_free(struct origin **op)
{
    struct origin *o = *op;
    struct path *p;

    stop(o);
    while ((p = LIST_FIRST(&o->paths)) != NULL) {
        LIST_REMOVE(p, next);
        path_free(p);
        mem_free(p);
    }
    for (size_t i = 0; i < o->n; i++) {
        mem_free(o->log[i].text);
        mem_free(o->log[i].path);
        mem_free(o->log[i].head);
        mem_free(o->log[i].body);
    }
    mem_free(o->log);
    mem_free(o->held);
    pthread_mutex_destroy(&o->lock);
    pthread_cond_destroy(&o->changed);
    mem_free(o);
    *op = NULL;
}

/* ---- calls of tests ---- */

int origin_port(const struct origin *o)
{
    return o->port;
}

const char *origin_url(struct origin *o, const char *path)
{
    static char ring[8][512];
    static unsigned next;
    char *out = ring[next++ % 8];

    snprintf(out, sizeof ring[0], "http://127.0.0.1:%d%s", o->port, path);
    return out;
}

void origin_set(struct origin *o, const char *path, const struct origin_page *page)
{
    struct path *p;

    pthread_mutex_lock(&o->lock);
    p = path_locked(o, path);
    page_copy(p, page);
    p->is_set = true;
    pthread_mutex_unlock(&o->lock);
}

static int count_locked(struct origin *o, const char *path)
{
    return path == NULL ? (int)o->n : path_locked(o, path)->n;
}

int origin_count(struct origin *o, const char *path)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = count_locked(o, path);
    pthread_mutex_unlock(&o->lock);
    return n;
}

bool origin_wait(struct origin *o, const char *path, int n)
{
    struct timespec until = clock_mono_after_ms(WAIT_MS);
    bool came;

    pthread_mutex_lock(&o->lock);
    while (!(came = count_locked(o, path) >= n) &&
           pthread_cond_timedwait(&o->changed, &o->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&o->lock);
    return came;
}

/* Returns the i-th request of the path; a negative i counts from the end. It is empty when there is
 * none. */
static struct seen seen_at(struct origin *o, const char *path, int i)
{
    struct seen found = {.text = NULL};

    pthread_mutex_lock(&o->lock);
    if (i < 0)
        i += count_locked(o, path);
    for (size_t k = 0; k < o->n && i >= 0; k++)
        if ((path == NULL || strcmp(o->log[k].path, path) == 0) && i-- == 0)
            found = o->log[k];
    pthread_mutex_unlock(&o->lock);
    return found;
}

struct origin_request origin_get(struct origin *o, const char *path, int i)
{
    struct seen seen = seen_at(o, path, i);

    ASSERT(seen.text != NULL);
    return (struct origin_request){
        .path = seen.path, .head = seen.head, .body = seen.body, .nth = seen.nth};
}

const char *origin_last(struct origin *o, const char *path)
{
    struct seen seen = seen_at(o, path, -1);

    return seen.text == NULL ? "" : seen.text;
}

int origin_most(struct origin *o, const char *path)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = path == NULL ? o->most : path_locked(o, path)->most;
    pthread_mutex_unlock(&o->lock);
    return n;
}

int origin_most_of_a_path(struct origin *o)
{
    struct path *p;
    int n = 0;

    pthread_mutex_lock(&o->lock);
    LIST_FOREACH (p, &o->paths, next)
        n = p->most > n ? p->most : n;
    pthread_mutex_unlock(&o->lock);
    return n;
}

int origin_accepted(struct origin *o)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = o->n_accepted;
    pthread_mutex_unlock(&o->lock);
    return n;
}

int origin_most_connections(struct origin *o)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = o->most_connections;
    pthread_mutex_unlock(&o->lock);
    return n;
}

void origin_hold(struct origin *o, const char *path)
{
    pthread_mutex_lock(&o->lock);
    mem_free(o->held);
    o->held = mem_strdup(path);
    pthread_mutex_unlock(&o->lock);
}

void origin_release(struct origin *o)
{
    pthread_mutex_lock(&o->lock);
    o->released = true;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}
