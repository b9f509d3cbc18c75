/* net/http_multi.c - curl_multi_socket_action() on libevent. When curl asks for a timeout of 0, a
 * timer without delay is set, because curl must not be called from its own callback. */
#include "net/http_multi.h"

#include <event2/event.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/mem.h"

struct watch { /* of one socket; curl keeps the pointer to it (curl_multi_assign) */
    LIST_ENTRY(watch) link;
    struct http_multi *m;
    struct event *event;
};

struct http_multi {
    struct event_base *base;
    CURLM *multi;
    struct event *timer;
    http_multi_fn *done;
    void *ctx;
    LIST_HEAD(, watch) watches;
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

static void on_event(evutil_socket_t fd, short what, void *ctx)
{
    struct watch *w = ctx;

    act(w->m, fd,
        (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx)
{
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static void watch_free(struct watch *w)
{
    LIST_REMOVE(w, link);
    event_free(w->event);
    mem_free(w);
}

static int on_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct http_multi *m = ctx;
    struct watch *w = socket_ctx;
    short events = (short)(EV_PERSIST | (what & CURL_POLL_IN ? EV_READ : 0) |
                           (what & CURL_POLL_OUT ? EV_WRITE : 0));

    if (what == CURL_POLL_REMOVE) {
        if (w != NULL) {
            curl_multi_assign(m->multi, fd, NULL);
            watch_free(w);
        }
        return 0;
    }
    if (w == NULL) {
        w = NEW(struct watch);
        w->m = m;
        w->event = event_new(m->base, fd, events, on_event, w);
        ASSERT(w->event != NULL);
        LIST_INSERT_HEAD(&m->watches, w, link);
        curl_multi_assign(m->multi, fd, w);
    } else {
        event_del(w->event);
        event_assign(w->event, m->base, fd, events, on_event, w);
    }
    event_add(w->event, NULL);
    return 0;
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
    m->done = done;
    m->ctx = ctx;
    LIST_INIT(&m->watches);
    m->timer = evtimer_new(base, on_timer, m);
    m->multi = curl_multi_init();
    ASSERT(m->timer != NULL && m->multi != NULL);
    curl_multi_setopt(m->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(m->multi, CURLMOPT_SOCKETDATA, m);
    curl_multi_setopt(m->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(m->multi, CURLMOPT_TIMERDATA, m);
    curl_multi_setopt(m->multi, CURLMOPT_MAXCONNECTS, max_connections);
    return m;
}

void http_multi_free(struct http_multi **mp)
{
    struct http_multi *m = *mp;

    if (m == NULL)
        return;
    curl_multi_cleanup(m->multi);
    while (!LIST_EMPTY(&m->watches))
        watch_free(LIST_FIRST(&m->watches));
    event_free(m->timer);
    mem_free(m);
    *mp = NULL;
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
