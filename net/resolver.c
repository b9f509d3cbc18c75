/* net/resolver.c - a channel of c-ares, an entry for each name, and queries that wait for the
 * answer of an entry. */
#include "net/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <event2/event.h>
#include <stdio.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

#define TTL_MIN_S 5
#define TTL_MAX_S 300
#define TTL_NO_NAME_S 10
#define ENTRIES_MAX 20000
#define TRY_MS 2000 /* first try; later ones wait longer */
#define TRIES 3
#define CHANNEL_MS 60000 /* an older, idle channel is replaced: resolv.conf may have changed */

TAILQ_HEAD(query_list, resolver_query);

struct resolver_query {
    TAILQ_ENTRY(resolver_query) link; /* in its entry's `waiting` */
    struct entry *entry;
    resolver_fn *fn;
    void *ctx;
};

struct entry { /* of one name */
    struct resolver *r;
    TAILQ_ENTRY(entry) ready_link;
    bool is_pending; /* c-ares is asking for it */
    bool is_ready;   /* in the resolver's `ready`: an answer came, and queries wait for it */
    int64_t expires_ms;
    struct query_list waiting;
    char *host;
    enum rc rc;
    char why[80]; /* when there is none */
    size_t n;
    union address addrs[RESOLVER_ADDRS];
};

struct watch { /* a socket of the channel */
    LIST_ENTRY(watch) link;
    struct resolver *r;
    ares_socket_t fd;
    struct event *event;
};

struct resolver {
    struct event_base *base;
    char *servers;
    ares_channel channel;
    int64_t channel_ms; /* when it was made */
    size_t n_pending;
    bool closing;
    struct map entries; /* host -> struct entry */
    TAILQ_HEAD(, entry) ready;
    struct event *deliver; /* runs callbacks from the loop, never from inside resolver_ask() */
    struct event *timer;
    LIST_HEAD(, watch) watches;
};

static void resolver_arm(struct resolver *r)
{
    struct timeval tv;

    if (ares_timeout(r->channel, NULL, &tv) != NULL)
        evtimer_add(r->timer, &tv);
    else
        evtimer_del(r->timer);
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx)
{
    struct resolver *r = ctx;

    ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    resolver_arm(r);
}

static void on_socket(evutil_socket_t fd, short what, void *ctx)
{
    struct watch *w = ctx;
    struct resolver *r = w->r; /* the watch may be gone after the call */

    ares_process_fd(r->channel, what & EV_READ ? fd : ARES_SOCKET_BAD,
                    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
    resolver_arm(r);
}

/* c-ares says which events it waits for on a socket. No events: it is about to close the socket. */
static void on_sock_state(void *ctx, ares_socket_t fd, int readable, int writable)
{
    struct resolver *r = ctx;
    struct watch *w;

    LIST_FOREACH (w, &r->watches, link)
        if (w->fd == fd)
            break;
    if (w != NULL) {
        event_free(w->event);
        w->event = NULL;
    }
    if (!readable && !writable) {
        if (w != NULL) {
            LIST_REMOVE(w, link);
            mem_free(w);
        }
        return;
    }
    if (w == NULL) {
        w = NEW(struct watch);
        w->r = r;
        w->fd = fd;
        LIST_INSERT_HEAD(&r->watches, w, link);
    }
    w->event = event_new(r->base, fd,
                         (short)(EV_PERSIST | (readable ? EV_READ : 0) | (writable ? EV_WRITE : 0)),
                         on_socket, w);
    ASSERT(w->event != NULL && event_add(w->event, NULL) == 0);
}

static void channel_open(struct resolver *r)
{
    struct ares_options options = {
        .timeout = TRY_MS,
        .tries = TRIES,
        .sock_state_cb = on_sock_state,
        .sock_state_cb_data = r,
    };
    int code = ares_init_options(&r->channel, &options,
                                 ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);

    ASSERT(code == ARES_SUCCESS); /* out of memory, or the library is not initialised */
    if (r->servers != NULL)
        ASSERT(ares_set_servers_ports_csv(r->channel, r->servers) == ARES_SUCCESS);
    r->channel_ms = clock_mono_ms();
}

static void entry_free(void *value)
{
    struct entry *e = value;

    ASSERT(TAILQ_EMPTY(&e->waiting));
    mem_free(e->host);
    mem_free(e);
}

static void entry_forget(struct resolver *r, struct entry *e)
{
    (void)map_del(&r->entries, str_from(e->host));
    entry_free(e);
}

/* Run the callbacks of waiting queries. A callback may start and cancel queries, so no pointer to
 * an entry or a query is kept while it runs. */
static void on_deliver(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx)
{
    struct resolver *r = ctx;
    struct entry *e;

    while ((e = TAILQ_FIRST(&r->ready)) != NULL) {
        struct resolver_query *q = TAILQ_FIRST(&e->waiting), copy;
        union address addrs[RESOLVER_ADDRS];
        struct err err = ERR_INIT;
        enum rc rc = e->rc;
        size_t n = e->n;

        if (q == NULL) {
            TAILQ_REMOVE(&r->ready, e, ready_link);
            e->is_ready = false;
            continue;
        }
        memcpy(addrs, e->addrs, n * sizeof addrs[0]);
        if (rc != RC_OK)
            err_set(&err, rc, "the name \"%s\" cannot be resolved: %s", e->host, e->why);
        copy = *q;
        TAILQ_REMOVE(&e->waiting, q, link);
        mem_free(q);
        copy.fn(copy.ctx, rc, addrs, n, &err);
    }
}

static void entry_ready(struct entry *e)
{
    static const struct timeval now = {0, 0};

    if (!e->is_ready) {
        e->is_ready = true;
        TAILQ_INSERT_TAIL(&e->r->ready, e, ready_link);
    }
    evtimer_add(e->r->deliver, &now);
}

/* c-ares has an answer. It may call this from inside ares_getaddrinfo(). */
static void on_addrinfo(void *ctx, int status, int timeouts UNUSED, struct ares_addrinfo *info)
{
    struct entry *e = ctx;
    struct resolver *r = e->r;
    int ttl = TTL_MAX_S;

    r->n_pending--;
    e->is_pending = false;
    e->n = 0;
    for (struct ares_addrinfo_node *node = info ? info->nodes : NULL;
         node != NULL && e->n < RESOLVER_ADDRS; node = node->ai_next) {
        union address *to = &e->addrs[e->n];

        if ((node->ai_family != AF_INET && node->ai_family != AF_INET6) ||
            (size_t)node->ai_addrlen > sizeof *to)
            continue;
        memset(to, 0, sizeof *to);
        memcpy(to, node->ai_addr, (size_t)node->ai_addrlen);
        ttl = node->ai_ttl < ttl ? node->ai_ttl : ttl;
        e->n++;
    }
    if (info != NULL)
        ares_freeaddrinfo(info);
    if (r->closing)
        return;
    e->rc = e->n > 0                                              ? RC_OK
            : status == ARES_ENOTFOUND || status == ARES_ENODATA ? RC_NOT_FOUND
                                                                 : RC_PEER;
    if (e->n > 0)
        ttl = ttl < TTL_MIN_S ? TTL_MIN_S : ttl;
    else
        ttl = e->rc == RC_NOT_FOUND ? TTL_NO_NAME_S : 0;
    if (e->n == 0)
        snprintf(e->why, sizeof e->why, "%s",
                 status == ARES_SUCCESS ? "it has no address" : ares_strerror(status));
    e->expires_ms = clock_mono_ms() + (int64_t)ttl * 1000;
    entry_ready(e);
}

struct resolver *resolver_new(struct event_base *base, const char *servers)
{
    struct resolver *r = NEW(struct resolver);

    r->base = base;
    r->servers = servers ? mem_strdup(servers) : NULL;
    TAILQ_INIT(&r->ready);
    LIST_INIT(&r->watches);
    r->timer = evtimer_new(base, on_timer, r);
    r->deliver = evtimer_new(base, on_deliver, r);
    ASSERT(r->timer != NULL && r->deliver != NULL);
    channel_open(r);
    return r;
}

void resolver_free(struct resolver **rp)
{
    struct resolver *r = *rp;

    if (r == NULL)
        return;
    r->closing = true;
    ares_destroy(r->channel);
    ASSERT(LIST_EMPTY(&r->watches) && r->n_pending == 0);
    map_release(&r->entries, entry_free);
    event_free(r->timer);
    event_free(r->deliver);
    mem_free(r->servers);
    mem_free(r);
    *rp = NULL;
}

bool resolver_numeric(struct str host, union address *out)
{
    char text[INET6_ADDRSTRLEN + 1];
    bool v6 = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';

    if (v6)
        host = str_slice(host, 1, host.len - 1);
    if (host.len == 0 || host.len >= sizeof text || str_chr(host, '\0') >= 0)
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    memset(out, 0, sizeof *out);
    if (!v6 && inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        return true;
    }
    if (v6 && inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        return true;
    }
    return false;
}

/* Free entries for which nobody waits: those that have expired, or all of them if none has. */
static void make_room(struct resolver *r)
{
    int64_t now = clock_mono_ms();

    for (int round = 0; round < 2 && map_count(&r->entries) >= ENTRIES_MAX; round++) {
        void *it = NULL, *value;
        struct str key;

        while (map_next(&r->entries, &it, &key, &value)) {
            struct entry *e = value;

            if (!e->is_pending && !e->is_ready && TAILQ_EMPTY(&e->waiting) &&
                (round > 0 || e->expires_ms <= now))
                entry_forget(r, e);
        }
    }
}

static struct entry *entry_get(struct resolver *r, struct str host)
{
    struct entry *e = map_get(&r->entries, host);

    if (e != NULL)
        return e;
    make_room(r);
    e = NEW(struct entry);
    e->r = r;
    e->host = mem_strndup(host.ptr, host.len);
    TAILQ_INIT(&e->waiting);
    (void)map_put(&r->entries, host, e);
    return e;
}

struct resolver_query *resolver_ask(struct resolver *r, struct str host, resolver_fn *fn, void *ctx)
{
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct entry *e = entry_get(r, host);
    struct resolver_query *q = NEW(struct resolver_query);
    int64_t now = clock_mono_ms();

    q->entry = e;
    q->fn = fn;
    q->ctx = ctx;
    TAILQ_INSERT_TAIL(&e->waiting, q, link);
    if (e->is_pending)
        return q;
    if (e->is_ready || now < e->expires_ms) {
        entry_ready(e);
        return q;
    }
    if (r->n_pending == 0 && now - r->channel_ms > CHANNEL_MS) {
        ares_destroy(r->channel);
        channel_open(r);
    }
    e->is_pending = true;
    r->n_pending++;
    ares_getaddrinfo(r->channel, e->host, NULL, &hints, on_addrinfo, e);
    resolver_arm(r);
    return q;
}

void resolver_cancel(struct resolver_query **qp)
{
    struct resolver_query *q = *qp;

    if (q == NULL)
        return;
    TAILQ_REMOVE(&q->entry->waiting, q, link);
    mem_free(q);
    *qp = NULL;
}
