/* net/component_link.c - see component_link.h.
 *
 * select(), which libstrophe waits with, cannot have descriptors from FD_SETSIZE on, which a daemon
 * with many clients reaches; see reserve_low(). libstrophe would resolve names itself, and wait for
 * it, so it gets an address. */
#include "net/component_link.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"

#define LOOK_MS 5      /* between looks for the end of the stream */
#define GOODBYE_MS 500 /* for the server to end its own */

/* ---- descriptors ------------------------------------------------------------------------------
 */

/* select() takes descriptors below FD_SETSIZE only. So some low ones are kept from the start, when
 * few files are open. One is given back right before libstrophe makes its socket, which then gets
 * the lowest number that is free. */
static void reserve_low(struct component_link *l)
{
    for (size_t i = 0; i < COMPONENT_LINK_LOW; i++) {
        if (l->low[i] >= 0)
            continue;
        l->low[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (l->low[i] < FD_SETSIZE)
            continue;
        close(l->low[i]);
        l->low[i] = -1;
    }
}

static void give_low(struct component_link *l)
{
    for (size_t i = 0; i < COMPONENT_LINK_LOW; i++) {
        if (l->low[i] < 0)
            continue;
        close(l->low[i]);
        l->low[i] = -1;
        return;
    }
}

/* libstrophe has made its socket. Another result than 0 ends the attempt. */
static int on_socket(xmpp_conn_t *conn UNUSED, void *sock)
{
    int fd = *(int *)sock, one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* a message, and then its ping */
    return fd < 0 || fd >= FD_SETSIZE || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

void component_link_lose(struct component_link *l, const char *why)
{
    if (l->is_lost)
        return;
    l->is_lost = true;
    l->lost_why = mem_strdup(why);
}

static void on_connection(xmpp_conn_t *conn, xmpp_conn_event_t event, int error,
                          xmpp_stream_error_t *stream_error, void *ctx)
{
    struct component_link *l = ctx;

    if (event == XMPP_CONN_CONNECT) {
        l->is_open = true;
        l->pause_ms = l->cfg->first_pause_ms;
        l->heard_ms = clock_mono_ms();
        l->opened(l->ctx, conn);
        stats_set(STAT_xmpp_connected, 1);
        log_info("xmpp", "connected", "component=%s server=%s:%d", log_quote(l->cfg->name),
                 l->cfg->host.ptr, l->cfg->port);
        return;
    }
    if (event == XMPP_CONN_RAW_CONNECT)
        return;
    if (stream_error != NULL)
        component_link_lose(l, stream_error->text != NULL ? stream_error->text
                                                          : "the server ended the stream");
    else
        component_link_lose(l, error != 0 ? strerror(error) : "the connection ended");
}

static int on_no_socket(xmpp_conn_t *conn UNUSED, void *sock UNUSED)
{
    return 1;
}

static void on_nothing(xmpp_conn_t *conn UNUSED, xmpp_conn_event_t event UNUSED, int error UNUSED,
                       xmpp_stream_error_t *stream_error UNUSED, void *ctx UNUSED)
{
}

/* libstrophe 0.12.2 looks at the state of XEP-0198 for each stanza, but gives one to connections of
 * clients only; a component's first stanza would end the process. So a state is taken from the
 * connection of a client that never gets as far as a socket. */
static void give_state(struct component_link *l)
{
    xmpp_conn_t *client = xmpp_conn_new(l->strophe);
    xmpp_sm_state_t *state;

    xmpp_conn_set_jid(client, "nobody@localhost");
    xmpp_conn_set_pass(client, "");
    xmpp_conn_set_sockopt_callback(client, on_no_socket);
    ASSERT(xmpp_connect_client(client, "127.0.0.1", 1, on_nothing, NULL) != XMPP_EOK);
    state = xmpp_conn_get_sm_state(client);
    if (state != NULL && xmpp_conn_set_sm_state(l->conn, state) != XMPP_EOK)
        xmpp_free_sm_state(state);
    xmpp_conn_release(client);
}

/* libstrophe reads numbers without a look-up. */
static void write_address(const union address *addr, char text[INET6_ADDRSTRLEN])
{
    if (addr->sa.sa_family == AF_INET)
        inet_ntop(AF_INET, &addr->v4.sin_addr, text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, &addr->v6.sin6_addr, text, INET6_ADDRSTRLEN);
}

static void connect_to(struct component_link *l, const union address *addr)
{
    char host[INET6_ADDRSTRLEN];

    write_address(addr, host);
    l->is_open = l->is_lost = false;
    l->heard_ms = clock_mono_ms();
    l->conn = xmpp_conn_new(l->strophe);
    xmpp_conn_set_jid(l->conn, l->cfg->name.ptr);
    xmpp_conn_set_pass(l->conn, l->cfg->secret.ptr);
    xmpp_conn_set_sockopt_callback(l->conn, on_socket);
    give_state(l);
    give_low(l);
    if (xmpp_connect_component(l->conn, host, (unsigned short)l->cfg->port, on_connection, l) !=
        XMPP_EOK)
        component_link_lose(l, "the server cannot be reached");
    reserve_low(l);
}

/* Returns the pause before the next try, with up to a tenth more. */
static int64_t next_pause(struct component_link *l)
{
    int64_t ms = l->pause_ms;
    uint32_t random;

    l->pause_ms = 2 * ms < l->cfg->max_pause_ms ? 2 * ms : l->cfg->max_pause_ms;
    digest_random(&random, sizeof random);
    return ms + (int64_t)(random % 1000) * ms / 10000;
}

/* Nobody is there: plan the next try. */
static void plan(struct component_link *l, const char *why)
{
    int64_t pause_ms = next_pause(l);

    log_warn("xmpp", l->is_open ? "disconnected" : "unconnected",
             "component=%s server=%s:%d error=%s again_in_ms=%" PRId64, log_quote(l->cfg->name),
             l->cfg->host.ptr, l->cfg->port, log_quote(str_from(why)), pause_ms);
    l->try_at_ms = clock_mono_ms() + pause_ms;
    l->n_addrs = l->next_addr = 0;
}

static void release_connection(struct component_link *l)
{
    xmpp_conn_release(l->conn);
    l->conn = NULL;
    mem_free(l->lost_why);
    l->lost_why = NULL;
    stats_set(STAT_xmpp_connected, 0);
}

void component_link_drop_lost(struct component_link *l)
{
    if (l->conn == NULL || !l->is_lost)
        return;
    if (l->is_open || l->next_addr == l->n_addrs)
        plan(l, l->lost_why);
    release_connection(l);
    l->is_open = l->is_lost = false;
    l->lost(l->ctx);
    reserve_low(l);
}

static void on_resolved(void *ctx, enum rc rc, const union address *addrs, size_t n,
                        const struct err *err)
{
    struct component_link *l = ctx;

    l->query = NULL;
    if (rc != RC_OK) {
        plan(l, err->text);
        return;
    }
    memcpy(l->addrs, addrs, n * sizeof *addrs);
    l->n_addrs = n;
    l->next_addr = 0;
}

/* Look the name up, unless it is an address. */
static void resolve(struct component_link *l)
{
    struct str host = l->cfg->host;
    char *text = host.len > 0 && host.ptr[0] == '[' ? NULL : mem_zalloc(host.len + 3);
    union address addr;
    bool is_v6 = false;

    if (text != NULL) { /* IPv6 without its brackets */
        snprintf(text, host.len + 3, "[%s]", host.ptr);
        is_v6 = resolver_numeric(str_from(text), &addr);
        mem_free(text);
    }
    if (is_v6 || resolver_numeric(host, &addr)) {
        on_resolved(l, RC_OK, &addr, 1, NULL);
        return;
    }
    if (l->base == NULL) {
        l->base = event_base_new();
        ASSERT(l->base != NULL);
        l->resolver = resolver_new(l->base, l->cfg->dns);
    }
    l->query = resolver_ask(l->resolver, host, on_resolved, l);
}

void component_link_try(struct component_link *l)
{
    if (l->conn != NULL)
        return;
    if (l->query != NULL)
        event_base_loop(l->base, EVLOOP_NONBLOCK);
    else if (l->next_addr == l->n_addrs && clock_mono_ms() >= l->try_at_ms)
        resolve(l);
    if (l->next_addr < l->n_addrs)
        connect_to(l, &l->addrs[l->next_addr++]);
}

void component_link_run(struct component_link *l, unsigned long ms)
{
    if (l->conn != NULL && !l->is_lost)
        xmpp_run_once(l->strophe, ms);
}

void component_link_send(struct component_link *l, const char *xml, size_t len)
{
    xmpp_send_raw(l->conn, xml, len);
}

void component_link_end(struct component_link *l)
{
    int64_t until = clock_mono_ms() + GOODBYE_MS;

    if (l->conn != NULL && l->is_open)
        xmpp_disconnect(l->conn);
    while (l->is_open && !l->is_lost && clock_mono_ms() < until)
        xmpp_run_once(l->strophe, LOOK_MS);
    if (l->conn != NULL)
        release_connection(l);
    if (l->query != NULL)
        resolver_cancel(&l->query);
    if (l->base != NULL) {
        resolver_free(&l->resolver);
        event_base_free(l->base);
        l->base = NULL;
    }
}

void component_link_rest(struct component_link *l)
{
    if (l->conn == NULL && l->base == NULL && l->query == NULL)
        return;
    component_link_end(l);
    l->is_open = l->is_lost = false;
    l->n_addrs = l->next_addr = 0;
    l->try_at_ms = 0;
    l->pause_ms = l->cfg->first_pause_ms;
    l->lost(l->ctx);
    reserve_low(l);
    log_info("xmpp", "resting", "component=%s", log_quote(l->cfg->name));
}

/* ---- life cycle ------------------------------------------------------------------------------ */

void component_link_init(struct component_link *l)
{
    l->pause_ms = l->cfg->first_pause_ms;
    for (size_t i = 0; i < COMPONENT_LINK_LOW; i++)
        l->low[i] = -1;
    reserve_low(l);
    xmpp_initialize();
    l->strophe = xmpp_ctx_new(NULL, NULL);
}

void component_link_release(struct component_link *l)
{
    xmpp_ctx_free(l->strophe);
    xmpp_shutdown();
    for (size_t i = 0; i < COMPONENT_LINK_LOW; i++)
        if (l->low[i] >= 0)
            close(l->low[i]);
}
