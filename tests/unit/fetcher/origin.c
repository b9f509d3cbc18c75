/* origin.c - see origin.h. */
#include "origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

#define MAX_PATHS 256
#define HEAD_MAX 8192

struct path {
    char *name;
    struct origin_page page;
    char *text[4]; /* copies that the page points to */
    bool is_set;
    int count, open, most;
    char last[HEAD_MAX];
};

struct origin {
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t ended; /* a connection thread ended */
    struct path paths[MAX_PATHS];
    int n_paths, n_threads, open, most;
    bool stopping;
    char last[HEAD_MAX];
};

struct connection {
    struct origin *o;
    int fd;
};

static struct path *path_locked(struct origin *o, const char *name)
{
    for (int i = 0; i < o->n_paths; i++)
        if (strcmp(o->paths[i].name, name) == 0)
            return &o->paths[i];
    ASSERT(o->n_paths < MAX_PATHS);
    o->paths[o->n_paths].name = mem_strdup(name);
    return &o->paths[o->n_paths++];
}

/* Everything up to the empty line; false when the client left before. */
static bool read_head(int fd, char *head)
{
    size_t len = 0;

    head[0] = '\0';
    while (strstr(head, "\r\n\r\n") == NULL) {
        ssize_t n = recv(fd, head + len, HEAD_MAX - 1 - len, 0);

        if (n <= 0)
            return false;
        len += (size_t)n;
        head[len] = '\0';
    }
    return true;
}

/* Wait, but not longer than the client does or the origin lives. */
static void wait_ms(struct origin *o, int fd, int64_t ms)
{
    for (int64_t waited = 0; waited < ms; waited += 10) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        bool stopping;

        if (poll(&p, 1, 10) > 0)
            return;
        pthread_mutex_lock(&o->lock);
        stopping = o->stopping;
        pthread_mutex_unlock(&o->lock);
        if (stopping)
            return;
    }
}

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool has_line(const char *head, const char *name, const char *value)
{
    const char *p = strcasestr(head, name);

    if (p == NULL)
        return false;
    p += strlen(name);
    return strncmp(p, value, strlen(value)) == 0 && p[strlen(value)] == '\r';
}

static void answer(struct origin *o, int fd, const char *head, const struct origin_page *page)
{
    static const char blanks[4096] = {' '};
    char out[HEAD_MAX];
    const char *body = page->body == NULL ? "" : page->body;
    int status = page->status == 0 ? 200 : page->status;

    if (page->hangs) {
        wait_ms(o, fd, 3600 * 1000);
        return;
    }
    wait_ms(o, fd, page->delay_ms);
    if (page->auth != NULL && !has_line(head, "\r\nAuthorization: ", page->auth)) {
        const char *text = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\n"
                           "Content-Length: 0\r\nConnection: close\r\n\r\n";

        send_all(fd, text, strlen(text));
        return;
    }
    if (page->etag != NULL && has_line(head, "\r\nIf-None-Match: ", page->etag)) {
        status = 304;
        body = "";
    }
    snprintf(out, sizeof out, "HTTP/1.1 %d X\r\n%s%s%s%sConnection: close\r\n", status,
             page->fields == NULL ? "" : page->fields,
             page->etag == NULL ? "" : "ETag: ", page->etag == NULL ? "" : page->etag,
             page->etag == NULL ? "" : "\r\n");
    if (page->endless) {
        send_all(fd, out, strlen(out));
        send_all(fd, "\r\n", 2);
        while (send_all(fd, blanks, sizeof blanks))
            ;
        return;
    }
    if (status != 304)
        snprintf(out + strlen(out), sizeof out - strlen(out), "Content-Length: %zu\r\n",
                 strlen(body));
    send_all(fd, out, strlen(out));
    send_all(fd, "\r\n", 2);
    send_all(fd, body, strlen(body));
}

static void set_page(struct path *p, const struct origin_page *page)
{
    const char *texts[] = {page->fields, page->body, page->etag, page->auth};

    for (size_t i = 0; i < 4; i++) {
        mem_free(p->text[i]);
        p->text[i] = texts[i] == NULL ? NULL : mem_strdup(texts[i]);
    }
    p->page = *page;
    p->page.fields = p->text[0];
    p->page.body = p->text[1];
    p->page.etag = p->text[2];
    p->page.auth = p->text[3];
    p->is_set = true;
}

static void free_path(struct path *p)
{
    for (size_t i = 0; i < 4; i++)
        mem_free(p->text[i]);
    mem_free(p->name);
}

static void *connection_main(void *arg)
{
    struct connection *c = arg;
    struct origin *o = c->o;
    char *head = mem_alloc(HEAD_MAX), name[512] = "";
    struct path copy = {.name = NULL}, *p;

    if (read_head(c->fd, head) && sscanf(head, "%*s %511s", name) == 1) {
        pthread_mutex_lock(&o->lock);
        p = path_locked(o, name);
        p->count++;
        p->most = ++p->open > p->most ? p->open : p->most;
        o->most = ++o->open > o->most ? o->open : o->most;
        snprintf(p->last, sizeof p->last, "%s", head);
        set_page(&copy, &p->page);
        if (!p->is_set)
            copy.page.status = 404;
        pthread_mutex_unlock(&o->lock);
        answer(o, c->fd, head, &copy.page);
        free_path(&copy);
        pthread_mutex_lock(&o->lock);
        path_locked(o, name)->open--;
        o->open--;
        pthread_mutex_unlock(&o->lock);
    }
    shutdown(c->fd, SHUT_WR);
    close(c->fd);
    mem_free(c);
    mem_free(head);
    pthread_mutex_lock(&o->lock);
    o->n_threads--;
    pthread_cond_signal(&o->ended);
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static void *origin_main(void *arg)
{
    struct origin *o = arg;
    int fd;

    while ((fd = accept(o->fd, NULL, NULL)) >= 0) {
        struct connection *c = NEW(struct connection);
        pthread_t thread;

        c->o = o;
        c->fd = fd;
        pthread_mutex_lock(&o->lock);
        o->n_threads++;
        pthread_mutex_unlock(&o->lock);
        ASSERT(pthread_create(&thread, NULL, connection_main, c) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

struct origin *origin_new(void)
{
    struct origin *o = NEW(struct origin);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;

    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->ended, NULL);
    o->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(o->fd >= 0 && bind(o->fd, (struct sockaddr *)&addr, len) == 0);
    ASSERT(listen(o->fd, 512) == 0);
    ASSERT(getsockname(o->fd, (struct sockaddr *)&addr, &len) == 0);
    o->port = ntohs(addr.sin_port);
    ASSERT(pthread_create(&o->thread, NULL, origin_main, o) == 0);
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
    while (o->n_threads > 0)
        pthread_cond_wait(&o->ended, &o->lock);
    pthread_mutex_unlock(&o->lock);
    for (int i = 0; i < o->n_paths; i++)
        free_path(&o->paths[i]);
    mem_free(o);
    *op = NULL;
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
    pthread_mutex_lock(&o->lock);
    set_page(path_locked(o, path), page);
    pthread_mutex_unlock(&o->lock);
}

int origin_count(struct origin *o, const char *path)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = path_locked(o, path)->count;
    pthread_mutex_unlock(&o->lock);
    return n;
}

int origin_most(struct origin *o, const char *path)
{
    int n;

    pthread_mutex_lock(&o->lock);
    n = path == NULL ? o->most : path_locked(o, path)->most;
    pthread_mutex_unlock(&o->lock);
    return n;
}

const char *origin_last(struct origin *o, const char *path)
{
    pthread_mutex_lock(&o->lock);
    snprintf(o->last, sizeof o->last, "%s", path_locked(o, path)->last);
    pthread_mutex_unlock(&o->lock);
    return o->last;
}
