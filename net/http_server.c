/* net/http_server.c - listeners, deadlines, start and stop.
 *
 * All loops bind the same address with SO_REUSEPORT, and the kernel distributes the connections. A
 * loop has one timer for all its connections. Connections with the same kind of deadline are in a
 * list in order of time, so the timer needs to look only at the first of each list.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/hostport.h"
#include "net/http_server_priv.h"

#define ACCEPT_TURN 256     /* connections accepted at once, before other events are handled */
#define ACCEPT_PAUSE_MS 100 /* when no file descriptor is left */
#define STOP_GRACE_MS 200   /* for connections that have not sent anything yet */
#define LAST_SHARE 4        /* of a stop, so many'th part is for the last answers to arrive, ... */
#define LAST_MS 1000        /* ... but no more than this */
#define LISTEN_QUEUE 4096   /* the kernel may cut it (net.core.somaxconn) */

/* ---- deadlines ---- */

static void set_clock(struct server_loop *sl, int64_t at_mono_ms)
{
    int64_t wait = at_mono_ms - sl->now_mono_ms;
    struct timeval tv;

    if (wait < 0)
        wait = 0;
    tv.tv_sec = (time_t)(wait / 1000);
    tv.tv_usec = (suseconds_t)(wait % 1000) * 1000;
    sl->clock_mono_ms = at_mono_ms;
    ASSERT(evtimer_add(sl->clock, &tv) == 0);
}

void server_unlist(struct connection *c)
{
    if (c->sl->visit_next == c)
        c->sl->visit_next = TAILQ_NEXT(c, link);
    TAILQ_REMOVE(&c->sl->lists[c->deadline], c, link);
}

void server_set_deadline(struct connection *c, enum deadline_kind kind)
{
    struct server_loop *sl = c->sl;

    server_unlist(c);
    c->deadline = (unsigned char)kind;
    c->until_mono_ms = sl->now_mono_ms + sl->durations_ms[kind];
    TAILQ_INSERT_TAIL(&sl->lists[kind], c, link);
    if (kind != DEADLINE_NONE && c->until_mono_ms < sl->clock_mono_ms)
        set_clock(sl, c->until_mono_ms);
}

static void on_clock(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
    struct server_loop *sl = arg;
    int64_t next = INT64_MAX;
    struct connection *c;

    server_set_now(sl);
    sl->clock_mono_ms = INT64_MAX;
    for (int kind = DEADLINE_NONE + 1; kind < DEADLINE_KINDS_; kind++)
        while ((c = TAILQ_FIRST(&sl->lists[kind])) != NULL && c->until_mono_ms <= sl->now_mono_ms)
            connection_late(c);
    for (int kind = DEADLINE_NONE + 1; kind < DEADLINE_KINDS_; kind++) {
        c = TAILQ_FIRST(&sl->lists[kind]);
        if (c != NULL && c->until_mono_ms < next)
            next = c->until_mono_ms;
    }
    if (next != INT64_MAX)
        set_clock(sl, next);
}

/* ---- memory of answers ---- */

#define SLOW_RATE (64 * 1024) /* bytes a second; faster readers are not closed to make room */

/* Close the slowest reader of this loop. False: all are fast, or too new to judge. */
static bool close_slowest(struct server_loop *sl, const struct connection *except)
{
    struct connection *c, *slowest = NULL;
    int64_t least = SLOW_RATE;

    TAILQ_FOREACH (c, &sl->lists[DEADLINE_WRITE], link) {
        int64_t rate = c != except && c->out_counted ? connection_read_rate(c) : -1;

        if (rate >= 0 && rate < least) {
            least = rate;
            slowest = c;
        }
    }
    TAILQ_FOREACH (c, &sl->lists[DEADLINE_STREAM], link) {
        int64_t rate = stream_read_rate(c);

        if (rate >= 0 && rate < least) {
            least = rate;
            slowest = c;
        }
    }
    if (slowest == NULL)
        return false;
    stats_inc(STAT_http_slow_total);
    log_debug("http", "slow_reader", "rate=%" PRId64 " effect=closed_for_another", least);
    connection_kill(slowest);
    return true;
}

bool server_unsent_add(struct server_loop *sl, const struct connection *by, size_t len)
{
    struct http_server *s = sl->server;
    size_t all = atomic_fetch_add(&s->unsent, len) + len;

    stats_add(STAT_http_unsent_bytes, (int64_t)len);
    while (len > 0 && all > s->cfg.max_unsent && all > len) {
        if (!close_slowest(sl, by))
            return false;
        all = atomic_load(&s->unsent);
    }
    return true;
}

void server_unsent_drop(struct server_loop *sl, size_t len)
{
    atomic_fetch_sub(&sl->server->unsent, len);
    stats_add(STAT_http_unsent_bytes, -(int64_t)len);
}

/* ---- accepting ---- */

/* Tell a client that there are too many connections. Its request is not read, and the answer may
 * not reach it. */
static void turn_away(int fd)
{
    static const char body[] =
        "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\","
        "\"status\":503,\"detail\":\"too many connections; try again soon\"}\n";
    char text[512];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 503 Service Unavailable\r\n"
                     "Content-Type: " MEDIA_PROBLEM "\r\n"
                     "Content-Length: %zu\r\n"
                     "Cache-Control: no-store\r\n"
                     "Retry-After: 5\r\n"
                     "Connection: close\r\n\r\n%s",
                     sizeof body - 1, body);
    char drop[4096];

    stats_inc(STAT_http_refused_total);
    log_debug("http", "refused", "status=503 detail=\"too many connections\"");
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) > 0 && shutdown(fd, SHUT_WR) == 0)
        while (recv(fd, drop, sizeof drop, MSG_DONTWAIT) > 0)
            ; /* with unread input, close() would reset the connection */
    close(fd);
}

static void start_accepting(void *arg);

static void pause_accepting(struct server_loop *sl)
{
    event_del(sl->accept_event);
    sl->accept_pause = loop_timer_start(sl->loop, ACCEPT_PAUSE_MS, start_accepting, sl);
}

/* Accept up to `max` connections. */
static void accept_some(struct server_loop *sl, int max)
{
    struct connection *oldest;
    struct sockaddr_storage peer;
    socklen_t len;
    int fd;

    while (max-- > 0) {
        len = sizeof peer;
        fd = accept4(sl->listen_fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO || errno == EPERM)
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK) {
                log_warn("http", "accept_failed", "error=\"%s\" retry_ms=%d", strerror(errno),
                         ACCEPT_PAUSE_MS);
                oldest = TAILQ_FIRST(&sl->lists[DEADLINE_IDLE]);
                if (oldest != NULL)
                    connection_kill(oldest);
                if (!sl->stopping)
                    pause_accepting(sl);
            }
            return;
        }
        if (sl->n_connections >= sl->server->cfg.max_connections) {
            oldest = TAILQ_FIRST(&sl->lists[DEADLINE_IDLE]);
            if (oldest == NULL) {
                turn_away(fd);
                continue;
            }
            connection_kill(oldest);
        }
        connection_new(sl, fd, (struct sockaddr *)&peer, len);
    }
}

static void on_accept(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
    struct server_loop *sl = arg;

    server_set_now(sl);
    accept_some(sl, ACCEPT_TURN);
}

static void start_accepting(void *arg)
{
    struct server_loop *sl = arg;

    sl->accept_pause = NULL;
    if (sl->accept_event == NULL) {
        sl->accept_event =
            event_new(loop_base(sl->loop), sl->listen_fd, EV_READ | EV_PERSIST, on_accept, sl);
        ASSERT(sl->accept_event != NULL);
    }
    ASSERT(event_add(sl->accept_event, NULL) == 0);
}

/* ---- the address ---- */

/* The number of an interface of this machine, from its name or its number; 0: there is none. */
static uint32_t interface_number(struct str zone)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    uint32_t found = if_nametoindex(str_z(&a, zone));
    char name[IF_NAMESIZE];
    int64_t n;

    if (found == 0 && str_to_i64(zone, &n) && n > 0 && n <= UINT32_MAX &&
        if_indextoname((uint32_t)n, name) != NULL)
        found = (uint32_t)n;
    return found;
}

/* Set the interface of an address. A link-local address is valid on one link only, so it needs the
 * interface of that link (RFC 4007). */
static enum rc set_zone(struct sockaddr_in6 *at, struct str zone, struct err *err)
{
    if (!str_is_null(zone) && (at->sin6_scope_id = interface_number(zone)) == 0)
        return err_set(err, RC_INPUT, "this machine has no network interface \"%.*s\"",
                       STR_ARG(zone));
    if (IN6_IS_ADDR_LINKLOCAL(&at->sin6_addr) && at->sin6_scope_id == 0)
        return err_set(err, RC_INPUT,
                       "a link-local address needs the name of an interface, as in "
                       "[fe80::1%%eth0]:8080");
    return RC_OK;
}

/* "HOST:PORT", "[HOST]:PORT" or "[HOST%ZONE]:PORT". */
static enum rc resolve(struct str listen, struct addrinfo **out, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hostport hp;
    enum rc rc = RC_OK;
    int code;

    if (!hostport_parse_listen(listen, &hp) || hp.port < 0)
        return err_set(
            err, RC_INPUT,
            "\"%.*s\" is not an address to listen on; write HOST:PORT or [IPV6]:PORT, as "
            "in 127.0.0.1:8080 or [::1]:8080",
            STR_ARG(listen));
    code = getaddrinfo(str_z(&a, hp.host), arena_printf(&a, "%d", hp.port), &hints, out);
    if (code != 0)
        return err_set(err, RC_INPUT, "cannot listen on \"%.*s\": %s", STR_ARG(listen),
                       code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
    if (hp.kind == HOST_IPV6)
        rc = set_zone((struct sockaddr_in6 *)(void *)(*out)->ai_addr, hp.zone, err);
    if (rc == RC_OK)
        return RC_OK;
    freeaddrinfo(*out);
    return err_prefix(err, "cannot listen on \"%.*s\"", STR_ARG(listen));
}

enum rc http_server_judge(struct str listen, struct err *err)
{
    struct addrinfo *found;
    enum rc rc = resolve(listen, &found, err);

    if (rc == RC_OK)
        freeaddrinfo(found);
    return rc;
}

static int port_of(int fd)
{
    union {
        struct sockaddr sa;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
    } at = {.sa.sa_family = AF_UNSPEC};
    socklen_t len = sizeof at;

    ASSERT(getsockname(fd, &at.sa, &len) == 0);
    return ntohs(at.sa.sa_family == AF_INET6 ? at.in6.sin6_port : at.in4.sin_port);
}

/* A bound socket. `shared`: with SO_REUSEPORT. */
static enum rc bind_socket(const struct addrinfo *ai, int port, bool shared, int *out,
                           struct err *err)
{
    const int on = 1;
    union {
        struct sockaddr sa;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
        char room[128];
    } at;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    enum rc rc;

    if (fd < 0)
        return err_set(err, RC_IO, "cannot make a socket: %s", strerror(errno));
    ASSERT(ai->ai_addrlen <= sizeof at);
    memcpy(&at, ai->ai_addr, ai->ai_addrlen);
    if (at.sa.sa_family == AF_INET6)
        at.in6.sin6_port = htons((uint16_t)port);
    else
        at.in4.sin_port = htons((uint16_t)port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted sockets inherit it */
    if (shared)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, &at.sa, ai->ai_addrlen) != 0) {
        rc = err_set(err, RC_IO, "cannot bind port %d: %s", port, strerror(errno));
        close(fd);
        return rc;
    }
    *out = fd;
    return RC_OK;
}

/* Serve sockets that listen already. A loop that has none of its own shares one. */
static enum rc take_listeners(struct http_server *s, struct http_sockets *in, struct err *err)
{
    size_t n = in->n_listeners;

    in->n_listeners = 0; /* they are the loops' now */
    for (int i = 0; i < s->cfg.n_loops; i++) {
        size_t k = (size_t)i;
        int fd = k < n ? in->listeners[k] : fcntl(s->loops[k % n]->listen_fd, F_DUPFD_CLOEXEC, 0);

        s->loops[i]->listen_fd = fd;
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || evutil_make_socket_nonblocking(fd) != 0 ||
            listen(fd, LISTEN_QUEUE) != 0)
            return err_set(err, RC_IO, "the socket that was handed over cannot be used: %s",
                           strerror(errno));
    }
    s->port = port_of(s->loops[0]->listen_fd);
    return RC_OK;
}

/* Bind and listen once for each loop, all on the same port. */
static enum rc bind_all(struct http_server *s, const struct addrinfo *ai, struct err *err)
{
    int port = ntohs(ai->ai_family == AF_INET6
                         ? ((const struct sockaddr_in6 *)(const void *)ai->ai_addr)->sin6_port
                         : ((const struct sockaddr_in *)(const void *)ai->ai_addr)->sin_port);
    enum rc rc;
    int fd;

    /* With SO_REUSEPORT, a second process of the same user could share the port without an error.
     * So the port is first bound without it. */
    if (port != 0) {
        rc = bind_socket(ai, port, false, &fd, err);
        if (rc != RC_OK)
            return rc;
        close(fd);
    }
    for (int i = 0; i < s->cfg.n_loops; i++) {
        rc = bind_socket(ai, port, true, &fd, err);
        if (rc != RC_OK)
            return rc;
        s->loops[i]->listen_fd = fd;
        port = port_of(fd);
    }
    for (int i = 0; i < s->cfg.n_loops; i++)
        if (listen(s->loops[i]->listen_fd, LISTEN_QUEUE) != 0)
            return err_set(err, RC_IO, "cannot listen on port %d: %s", port, strerror(errno));
    s->port = port;
    return RC_OK;
}

/* ---- life ---- */

static void init_clock(void *arg)
{
    struct server_loop *sl = arg;

    server_set_now(sl);
    sl->clock_mono_ms = INT64_MAX;
    sl->clock = evtimer_new(loop_base(sl->loop), on_clock, sl);
    ASSERT(sl->clock != NULL);
}

static struct server_loop *server_loop_new(struct http_server *s, int index)
{
    struct server_loop *sl = NEW(struct server_loop);
    char name[24];

    snprintf(name, sizeof name, "http-%d", index);
    sl->server = s;
    digest_random(&sl->id_seed, sizeof sl->id_seed);
    sl->listen_fd = -1;
    for (int kind = 0; kind < DEADLINE_KINDS_; kind++)
        TAILQ_INIT(&sl->lists[kind]);
    LIST_INIT(&sl->orphans);
    LIST_INIT(&sl->kept);
    sl->durations_ms[DEADLINE_HEADER] = s->cfg.header_ms;
    sl->durations_ms[DEADLINE_BODY] = s->cfg.body_ms;
    sl->durations_ms[DEADLINE_IDLE] = s->cfg.idle_ms;
    sl->durations_ms[DEADLINE_WRITE] = s->cfg.write_ms;
    sl->durations_ms[DEADLINE_STREAM] = s->cfg.stall_ms / STALL_LOOKS;
    sl->durations_ms[DEADLINE_SOON] = 0;
    sl->durations_ms[DEADLINE_LINGER] = LINGER_MS;
    sl->loop = loop_new(name);
    loop_set_owner(sl->loop, sl);
    loop_call(sl->loop, init_clock, sl);
    return sl;
}

static void server_loop_free(struct server_loop *sl)
{
    loop_stop(sl->loop);
    if (sl->accept_event != NULL)
        event_free(sl->accept_event);
    event_free(sl->clock);
    request_free_all(sl);
    loop_free(&sl->loop);
    if (sl->listen_fd >= 0)
        close(sl->listen_fd);
    mem_free(sl);
}

enum rc http_server_new(const struct http_server_cfg *cfg, http_handler_fn *handler, void *ctx,
                        struct http_server **out, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct addrinfo *ai;
    struct http_server *s;
    pthread_condattr_t attr;
    char host[NI_MAXHOST], text[NI_MAXHOST + 16];
    enum rc rc = resolve(cfg->listen, &ai, err);
    int n_loops = cfg->n_loops;

    if (rc != RC_OK)
        return rc;
    ASSERT(cfg->n_loops >= 1 && cfg->max_connections >= 1);
    pthread_once(&once, http_parse_init);
    if (cfg->inherited != NULL && cfg->inherited->n_listeners > (size_t)n_loops)
        n_loops = (int)cfg->inherited->n_listeners;
    s = mem_zalloc(sizeof *s + (size_t)n_loops * sizeof s->loops[0]);
    s->cfg = *cfg;
    s->cfg.n_loops = n_loops;
    s->handler = handler;
    s->ctx = ctx;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->drained, &attr);
    pthread_condattr_destroy(&attr);
    for (int i = 0; i < n_loops; i++)
        s->loops[i] = server_loop_new(s, i);
    rc = cfg->inherited != NULL && cfg->inherited->n_listeners > 0
             ? take_listeners(s, cfg->inherited, err)
             : bind_all(s, ai, err);
    if (getnameinfo(ai->ai_addr, ai->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(host, sizeof host, "localhost");
    host[strcspn(host, "%")] = '\0'; /* the zone means nothing to clients */
    snprintf(text, sizeof text, ai->ai_family == AF_INET6 ? "[%s]:%d" : "%s:%d", host, s->port);
    s->cfg.listen = str_from(mem_strdup(text));
    freeaddrinfo(ai);
    if (rc != RC_OK) {
        err_prefix(err, "cannot serve on \"%.*s\"", STR_ARG(cfg->listen));
        http_server_free(&s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

struct adoption {
    struct server_loop *sl;
    int fd;
    bool is_old; /* it has had requests before */
};

static void adopt(void *arg)
{
    struct adoption *ad = arg;
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    struct connection *c;

    server_set_now(ad->sl);
    if (getpeername(ad->fd, (struct sockaddr *)&peer, &len) != 0 || peer.ss_family == AF_UNIX)
        len = 0;
    c = connection_new(ad->sl, ad->fd, (struct sockaddr *)&peer, len);
    if (!ad->is_old)
        return;
    c->fresh = false;
    c->is_inherited = true;
    server_set_deadline(c, DEADLINE_IDLE);
}

void http_server_adopt(struct http_server *s, int fd)
{
    struct adoption ad = {s->loops[0], fd, false};

    loop_call(ad.sl->loop, adopt, &ad);
}

/* Divide the connections of the server before this one among the loops. */
static void adopt_connections(struct http_server *s, struct http_sockets *in)
{
    while (in->n_connections > 0) {
        int fd = in->connections[--in->n_connections];
        struct adoption ad = {s->loops[in->n_connections % (size_t)s->cfg.n_loops], fd, true};

        if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && evutil_make_socket_nonblocking(fd) == 0)
            loop_call(ad.sl->loop, adopt, &ad);
        else
            close(fd);
    }
}

void http_server_start(struct http_server *s)
{
    s->started = true;
    if (s->cfg.inherited != NULL)
        adopt_connections(s, s->cfg.inherited);
    for (int i = 0; i < s->cfg.n_loops; i++)
        loop_post(s->loops[i]->loop, start_accepting, s->loops[i]);
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

void http_sockets_close(struct http_sockets *s)
{
    for (size_t i = 0; i < s->n_listeners; i++)
        close(s->listeners[i]);
    for (size_t i = 0; i < s->n_connections; i++)
        close(s->connections[i]);
    mem_free(s->listeners);
    mem_free(s->connections);
    *s = (struct http_sockets)HTTP_SOCKETS_EMPTY;
}

/* ---- stopping ---- */

void server_connection_gone(struct server_loop *sl)
{
    struct http_server *s = sl->server;

    if (!sl->stopping || sl->drained || sl->n_connections > 0)
        return;
    sl->drained = true;
    pthread_mutex_lock(&s->lock);
    s->n_drained++;
    pthread_cond_signal(&s->drained);
    pthread_mutex_unlock(&s->lock);
}

/* Run fn on every connection. fn may free any connection, or answer it, which moves it to another
 * list; a connection that was moved need not be visited. */
static void each_connection(struct server_loop *sl, void (*fn)(struct connection *c))
{
    struct connection *c;

    for (int kind = 0; kind < DEADLINE_KINDS_; kind++)
        for (c = TAILQ_FIRST(&sl->lists[kind]); c != NULL; c = sl->visit_next) {
            sl->visit_next = TAILQ_NEXT(c, link);
            fn(c);
        }
}

static void kill_quiet(struct connection *c)
{
    if (connection_is_quiet(c))
        connection_kill(c);
}

static bool is_held(const struct connection *c)
{
    return c->state == CONN_HANDLED && c->req != NULL && c->req->serial != 0;
}

/* The time is over: whoever waits for an answer gets one, and whoever has sent a part of a request
 * is told that it came too late. */
static void answer_last(struct connection *c)
{
    if (is_held(c))
        request_hurry(c->req, true);
    else if (c->state == CONN_BODY || c->state == CONN_HEADER)
        connection_late(c);
}

/* Give a socket away: a descriptor that stays open when a program is executed. */
static void give(int **list, size_t *n, int fd)
{
    int given = dup(fd);

    if (given < 0)
        return;
    *list = mem_realloc(*list, (*n + 1) * sizeof **list);
    (*list)[(*n)++] = given;
}

static void give_quiet(struct connection *c)
{
    struct http_server *s = c->sl->server;

    if (!connection_is_quiet(c))
        return;
    pthread_mutex_lock(&s->lock); /* the grace of another loop may end at the same time */
    give(&s->handed->connections, &s->handed->n_connections, c->fd);
    pthread_mutex_unlock(&s->lock);
    connection_kill(c);
}

/* Another process waits for the sockets, and its clients with it. So a client that waits for something
 * slow, such as a publisher, is told to ask again. */
static void give_or_hurry(struct connection *c)
{
    if (is_held(c))
        request_hurry(c->req, false);
    else
        give_quiet(c);
}

static void end_grace(void *arg)
{
    struct server_loop *sl = arg;

    sl->stop_grace = NULL;
    each_connection(sl, sl->server->handed != NULL ? give_or_hurry : kill_quiet);
}

static void stop_loop(void *arg)
{
    struct server_loop *sl = arg;
    struct http_sockets *to = sl->server->handed;

    server_set_now(sl);
    sl->stopping = true; /* from now on, every reply closes its connection */
    loop_timer_cancel(&sl->accept_pause);
    if (to != NULL)
        give(&to->listeners, &to->n_listeners, sl->listen_fd);
    else if (sl->server->started)
        accept_some(sl, INT32_MAX);
    if (sl->accept_event != NULL)
        event_free(sl->accept_event);
    sl->accept_event = NULL;
    close(sl->listen_fd);
    sl->listen_fd = -1;
    if (to != NULL)
        each_connection(sl, give_quiet);
    if (sl->n_connections > 0)
        sl->stop_grace = loop_timer_start(sl->loop, STOP_GRACE_MS, end_grace, sl);
    server_connection_gone(sl);
}

static void end_loop(void *arg)
{
    struct server_loop *sl = arg;

    loop_timer_cancel(&sl->stop_grace);
    each_connection(sl, answer_last);
}

static void close_loop(void *arg)
{
    struct server_loop *sl = arg;

    while (sl->n_connections > 0)
        each_connection(sl, connection_kill);
}

static void on_loops(struct http_server *s, loop_fn *fn)
{
    for (int i = 0; i < s->cfg.n_loops; i++)
        loop_call(s->loops[i]->loop, fn, s->loops[i]);
}

/* Wait until no loop has connections any more. */
static void await_drained(struct http_server *s, struct timespec until)
{
    pthread_mutex_lock(&s->lock);
    while (s->n_drained < s->cfg.n_loops)
        if (pthread_cond_timedwait(&s->drained, &s->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&s->lock);
}

/* A client that still sends would lose its answer if the connection was closed at once: unread input
 * makes the kernel reset it. So after the last answers what comes is dropped for a while, until the
 * client closes the connection (CONN_LINGER); the time is the same for all connections. */
void http_server_stop(struct http_server *s, int64_t ms)
{
    int64_t last_ms = ms / LAST_SHARE < LAST_MS ? ms / LAST_SHARE : LAST_MS;
    struct timespec last = clock_mono_after_ms(ms - last_ms), until = clock_mono_after_ms(ms);

    if (s->stopped)
        return;
    s->stopped = true;
    on_loops(s, stop_loop);
    await_drained(s, last);
    on_loops(s, end_loop);
    await_drained(s, until);
    on_loops(s, close_loop);
}

void http_server_hand_over(struct http_server *s, int64_t ms, struct http_sockets *out)
{
    s->handed = out;
    http_server_stop(s, ms);
    s->handed = NULL;
}

void http_server_free(struct http_server **sp)
{
    struct http_server *s = *sp;

    if (s == NULL)
        return;
    http_server_stop(s, 0);
    for (int i = 0; i < s->cfg.n_loops; i++)
        server_loop_free(s->loops[i]);
    mem_free((char *)s->cfg.listen.ptr);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->drained);
    mem_free(s);
    *sp = NULL;
}
