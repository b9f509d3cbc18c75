/* net/http_multi.c - curl_multi_socket_action() on libevent. When curl asks for a timeout of 0, a
 * timer without delay is set, because curl must not be called from its own callback.
 *
 * curl does not watch a connection between two transfers. But most connections are used again soon,
 * so their watch stays until the socket is readable (then the peer has closed it), or is closed.
 *
 * libcurl never has to choose which idle connection it closes to make room: it would look through
 * all of them, and keep what it has for the host for ever (bundles, in 7.88), so that each call
 * would cost as much as there have been hosts. Instead a connection for which there is no room is
 * closed after its transfer, and idle ones are closed after KEPT_S. */
#include "net/http_multi.h"

#include <event2/event.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

#define KEPT_S 30L          /* a connection may be idle so long */
#define NO_LIMIT (1L << 20) /* of libcurl's own */

struct watch { /* of one socket */
    struct http_multi *m;
    struct event *event;
    curl_socket_t fd;
    short events;
    bool is_wanted; /* by curl */
};

struct http_multi {
    struct event_base *base;
    CURLM *multi;
    struct event *timer;
    http_multi_fn *done;
    void *ctx;
    size_t n_open, max_open;
    struct watch **watches; /* by the number of the socket; NULL: it has none */
    size_t cap_watches;
};

static void act(struct http_multi *m, curl_socket_t fd, int mask)
{
    int running, left;
    CURLMsg *msg;

    (void)curl_multi_socket_action(m->multi, fd, mask, &running);
    while ((msg = curl_multi_info_read(m->multi, &left)) != NULL) {
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result; /* removing the handle frees the message */

        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_multi_remove_handle(m->multi, easy);
        m->done(m->ctx, easy, code);
    }
}

static struct watch *watch_of(const struct http_multi *m, curl_socket_t fd)
{
    return fd >= 0 && (size_t)fd < m->cap_watches ? m->watches[fd] : NULL;
}

static void watch_free(struct watch *w)
{
    w->m->watches[w->fd] = NULL;
    event_free(w->event);
    mem_free(w);
}

static void on_event(evutil_socket_t fd, short what, void *ctx)
{
    struct watch *w = ctx;

    if (w->is_wanted)
        act(w->m, fd,
            (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
    else
        watch_free(w);
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx)
{
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static struct watch *watch_new(struct http_multi *m, curl_socket_t fd, short events)
{
    struct watch *w = NEW(struct watch);
    size_t had = m->cap_watches;

    m->watches = mem_grow(m->watches, &m->cap_watches, (size_t)fd + 1, sizeof *m->watches);
    for (; had < m->cap_watches; had++)
        m->watches[had] = NULL;
    *w = (struct watch){.m = m, .fd = fd, .events = events};
    w->event = event_new(m->base, fd, events, on_event, w);
    ASSERT(w->event != NULL);
    m->watches[fd] = w;
    return w;
}

static int on_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *ctx,
                     void *socket_ctx UNUSED)
{
    struct http_multi *m = ctx;
    struct watch *w = watch_of(m, fd);
    short events = (short)(EV_PERSIST | (what & CURL_POLL_IN ? EV_READ : 0) |
                           (what & CURL_POLL_OUT ? EV_WRITE : 0));

    if (what == CURL_POLL_REMOVE) {
        if (w != NULL && w->events == (EV_PERSIST | EV_READ))
            w->is_wanted = false;
        else if (w != NULL)
            watch_free(w);
        return 0;
    }
    if (w != NULL && w->events == events) {
        w->is_wanted = true;
        return 0;
    }
    if (w == NULL) {
        w = watch_new(m, fd, events);
    } else {
        event_del(w->event);
        event_assign(w->event, m->base, fd, events, on_event, w);
        w->events = events;
    }
    w->is_wanted = true;
    event_add(w->event, NULL);
    return 0;
}

/* A socket that is closed leaves the loop first, because its number may be given away at once. */
static int on_close(void *ctx, curl_socket_t fd)
{
    struct http_multi *m = ctx;
    struct watch *w = watch_of(m, fd);

    m->n_open -= m->n_open > 0;
    if (w != NULL)
        watch_free(w);
    return close(fd);
}

static int on_timeout(CURLM *multi UNUSED, long ms, void *ctx)
{
    struct http_multi *m = ctx;
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};

    if (ms < 0)
        evtimer_del(m->timer);
    else
        evtimer_add(m->timer, &tv);
    return 0;
}

struct http_multi *http_multi_new(struct event_base *base, long max_connections,
                                  http_multi_fn *done, void *ctx)
{
    struct http_multi *m = NEW(struct http_multi);

    m->base = base;
    m->max_open = (size_t)max_connections;
    m->done = done;
    m->ctx = ctx;
    m->timer = evtimer_new(base, on_timer, m);
    m->multi = curl_multi_init();
    ASSERT(m->timer != NULL && m->multi != NULL);
    curl_multi_setopt(m->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(m->multi, CURLMOPT_SOCKETDATA, m);
    curl_multi_setopt(m->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(m->multi, CURLMOPT_TIMERDATA, m);
    curl_multi_setopt(m->multi, CURLMOPT_MAXCONNECTS, NO_LIMIT);
    /* One transfer a connection, by HTTP/2, too. All hosts of one address share what libcurl knows of
     * multiplexing there (with CONNECT_TO), and it could put two requests on one connection of a host
     * that speaks HTTP/1.1. */
    curl_multi_setopt(m->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return m;
}

void http_multi_free(struct http_multi **mp)
{
    struct http_multi *m = *mp;

    if (m == NULL)
        return;
    curl_multi_cleanup(m->multi);
    for (size_t i = 0; i < m->cap_watches; i++)
        if (m->watches[i] != NULL)
            watch_free(m->watches[i]);
    mem_free(m->watches);
    event_free(m->timer);
    mem_free(m);
    *mp = NULL;
}

void http_multi_prepare(struct http_multi *m, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, m);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, KEPT_S);
}

void http_multi_opened(struct http_multi *m)
{
    m->n_open++;
}

bool http_multi_is_full(const struct http_multi *m)
{
    return m->n_open > m->max_open;
}

void http_multi_add(struct http_multi *m, CURL *easy)
{
    CURLMcode code = curl_multi_add_handle(m->multi, easy);

    ASSERT(code == CURLM_OK);
}

void http_multi_remove(struct http_multi *m, CURL *easy)
{
    curl_multi_remove_handle(m->multi, easy);
}
