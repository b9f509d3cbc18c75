/* net/broker_link.c - see broker_link.h.
 *
 * librabbitmq waits in many of its calls. Each wait has a bound (connect, log in, questions) or is
 * ended from outside: the loop shuts the socket down, and the call fails. */
#include "net/broker_link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/broker_channels.h"

#define HEARTBEAT_S 20
#define FRAME_MAX 131072
#define LOOK_MS 1000   /* between looks at the connection, for heartbeats */
#define GOODBYE_MS 500 /* for a polite end of the connection */
#define READ_EACH 64   /* after so many messages, what has come is read */

enum doing { NOTHING, CONNECTING, LOGGING_IN, ASKING, PUBLISHING, WAITING };

struct broker_link {
    struct broker_link_cfg cfg; /* its strings are ours */
    pthread_t thread;
    int wake_fd; /* eventfd: the inbox has something, or the thread is to end */

    /* any thread */
    atomic_int doing;
    atomic_bool is_up, is_blocked;
    _Atomic int64_t mono_heard;  /* ms; when the broker was heard last */
    _Atomic(const char *) broke; /* why we broke this connection; static. NULL: we did not */

    pthread_mutex_t lock; /* guards the next four */
    struct broker_batches inbox;
    bool stopping;
    int fd; /* of the connection; -1: there is none */
    union address addrs[RESOLVER_ADDRS];
    size_t n_addrs;

    /* of the thread */
    amqp_connection_state_t conn; /* NULL: there is no connection */
    struct broker_channels channels;

    bool is_joined; /* of the loop */
};

static void say(struct broker_link *l, enum doing doing)
{
    atomic_store(&l->doing, (int)doing);
}

const char *broker_link_doing(const struct broker_link *l)
{
    if (atomic_load(&l->is_blocked))
        return "the broker takes no messages for now, because it is short of memory or disk";
    switch ((enum doing)atomic_load(&l->doing)) {
    case CONNECTING:
        return "the broker does not accept connections";
    case LOGGING_IN:
        return "the broker accepted the connection, and does not go on";
    case ASKING:
        return "the broker does not answer";
    case PUBLISHING:
        return "the broker does not read what is sent";
    case NOTHING:
    case WAITING:
        break;
    }
    return "the broker has not confirmed all messages";
}

bool broker_link_is_up(struct broker_link *l)
{
    return atomic_load(&l->is_up);
}

/* ---- batches ----------------------------------------------------------------------------------
 */

static void give_back(void *ctx, struct broker_batch *batch)
{
    struct broker_link *l = ctx;

    loop_post(l->cfg.loop, l->cfg.back, batch);
}

/* What is still open of the batch has failed. It is not ours any more when its last message is
 * settled. */
static void fail_batch(struct broker_link *l, struct broker_batch *batch, int code, const char *why)
{
    bool is_over = false;

    for (size_t i = 0; !is_over && i < batch->n; i++)
        is_over = broker_batch_settle(batch, i, false, code, why);
    if (is_over)
        give_back(l, batch);
}

static void take_inbox(struct broker_link *l, struct broker_batches *out, bool *stopping)
{
    TAILQ_INIT(out);
    pthread_mutex_lock(&l->lock);
    TAILQ_CONCAT(out, &l->inbox, next);
    *stopping = l->stopping;
    pthread_mutex_unlock(&l->lock);
}

/* ---- the connection ---------------------------------------------------------------------------
 */

static void set_fd(struct broker_link *l, int fd)
{
    pthread_mutex_lock(&l->lock);
    l->fd = fd;
    if (fd >= 0 && l->stopping) /* it is not waited for */
        shutdown(fd, SHUT_RDWR);
    pthread_mutex_unlock(&l->lock);
}

/* The connection is of no use any more: what is in flight has failed. */
static void drop(struct broker_link *l, int code, const char *why)
{
    if (l->conn == NULL)
        return;
    if (atomic_load(&l->broke) != NULL)
        why = atomic_load(&l->broke);
    atomic_store(&l->is_up, false);
    atomic_store(&l->is_blocked, false);
    set_fd(l, -1);
    amqp_destroy_connection(l->conn);
    l->conn = NULL;
    broker_channels_fail(&l->channels, code, why);
}

/* Returns a connected socket that does not block; -1: *why says why not. */
static int connect_to(struct broker_link *l, const union address *addr, int64_t mono_until,
                      char why[BROKER_WHY])
{
    socklen_t len = addr->sa.sa_family == AF_INET ? sizeof addr->v4 : sizeof addr->v6;
    int fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1, error = fd < 0 ? errno : 0;
    socklen_t error_len = sizeof error;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int64_t left;

    if (fd >= 0 && connect(fd, &addr->sa, len) != 0)
        error = errno;
    if (error == EINPROGRESS) {
        set_fd(l, fd);
        left = mono_until - clock_mono_ms();
        if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0)
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len) != 0)
            error = errno;
        set_fd(l, -1);
    }
    if (error != 0) {
        snprintf(why, BROKER_WHY, "the broker cannot be reached: %s", strerror(error));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    return fd;
}

static void open_plain(struct broker_link *l, int fd)
{
    amqp_socket_t *socket = amqp_tcp_socket_new(l->conn);

    ASSERT(socket != NULL);
    amqp_tcp_socket_set_sockfd(socket, fd);
}

static struct timeval time_left(int64_t mono_until)
{
    int64_t left = mono_until - clock_mono_ms();

    if (left < 1)
        left = 1;
    return (struct timeval){left / 1000, left % 1000 * 1000};
}

static bool open_tls(struct broker_link *l, int fd, int64_t mono_until, char why[BROKER_WHY])
{
    struct timeval tv = time_left(mono_until);
    bool ok;

    set_fd(l, fd); /* the loop can shut it down */
    ok = broker_tls_open(l->conn, l->cfg.host, fd, &tv, why);
    set_fd(l, -1);
    close(fd); /* the library has another number for it */
    return ok;
}

/* Does the guard permit the address to which the connection leads? */
static bool is_permitted(struct broker_link *l, int fd, char why[BROKER_WHY])
{
    union address peer;
    socklen_t len = sizeof peer;

    if (getpeername(fd, &peer.sa, &len) == 0 && guard_allows(l->cfg.guard, &peer.sa))
        return true;
    snprintf(why, BROKER_WHY,
             "the connection leads to another address than the one that was permitted");
    return false;
}

/* Connect, and begin TLS if it is wanted. */
static bool open_socket(struct broker_link *l, const union address *addr, int64_t mono_until,
                        char why[BROKER_WHY])
{
    int fd = connect_to(l, addr, mono_until, why);

    if (fd < 0)
        return false;
    if (!is_permitted(l, fd, why)) {
        close(fd);
        return false;
    }
    if (l->cfg.is_tls)
        return open_tls(l, fd, mono_until, why);
    open_plain(l, fd);
    return true;
}

/* The library does not tell the broker that we understand connection.blocked, and without that no
 * broker says it. */
static bool log_in(struct broker_link *l, int64_t mono_until, struct broker_fault *fault)
{
    amqp_table_entry_t can = {
        .key = amqp_cstring_bytes("connection.blocked"),
        .value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value = {.boolean = true}}};
    amqp_table_entry_t property = {
        .key = amqp_cstring_bytes("capabilities"),
        .value = {.kind = AMQP_FIELD_KIND_TABLE, .value = {.table = {1, &can}}}};
    const amqp_table_t properties = {1, &property};
    struct timeval tv = time_left(mono_until),
                   question = time_left(clock_mono_ms() + l->cfg.timeout_ms);

    say(l, LOGGING_IN);
    amqp_set_handshake_timeout(l->conn, &tv);
    amqp_set_rpc_timeout(l->conn, &question);
    return broker_rpc_ok(
        l->conn, 0,
        amqp_login_with_properties(l->conn, l->cfg.vhost, 0, FRAME_MAX, HEARTBEAT_S, &properties,
                                   AMQP_SASL_METHOD_PLAIN, l->cfg.user, l->cfg.password),
        fault);
}

static bool connect_one(struct broker_link *l, const union address *addr,
                        struct broker_fault *fault)
{
    int64_t mono_until = clock_mono_ms() + l->cfg.timeout_ms;
    bool opened;

    say(l, CONNECTING);
    *fault = (struct broker_fault){.code = 0};
    atomic_store(&l->broke, NULL);
    l->conn = amqp_new_connection();
    ASSERT(l->conn != NULL);
    opened = open_socket(l, addr, mono_until, fault->why);
    if (opened)
        set_fd(l, amqp_get_sockfd(l->conn));
    if (opened && log_in(l, mono_until, fault)) {
        atomic_store(&l->mono_heard, clock_mono_ms());
        atomic_store(&l->is_up, true);
        return true;
    }
    set_fd(l, -1);
    if (atomic_load(&l->broke) != NULL)
        snprintf(fault->why, sizeof fault->why, "%s", atomic_load(&l->broke));
    amqp_destroy_connection(l->conn);
    l->conn = NULL;
    return false;
}

/* Try the addresses. What a broker says decides: then no other one is asked. */
static bool connect_any(struct broker_link *l, struct broker_fault *fault)
{
    union address addrs[RESOLVER_ADDRS];
    bool stopping = false;
    size_t n;

    pthread_mutex_lock(&l->lock);
    n = l->n_addrs;
    memcpy(addrs, l->addrs, n * sizeof *addrs);
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < n && !stopping; i++) {
        if (connect_one(l, &addrs[i], fault))
            return true;
        if (fault->code != 0)
            return false;
        pthread_mutex_lock(&l->lock);
        stopping = l->stopping;
        pthread_mutex_unlock(&l->lock);
    }
    return false;
}

/* ---- frames -----------------------------------------------------------------------------------
 */

/* Read all frames that have come. False: there is no connection any more. */
static bool read_frames(struct broker_link *l)
{
    struct broker_fault fault = {.code = 0};
    struct timeval now = {0, 0};
    amqp_frame_t frame;
    int status = AMQP_STATUS_OK;

    while (l->conn != NULL) {
        amqp_maybe_release_buffers(l->conn);
        status = amqp_simple_wait_frame_noblock(l->conn, &frame, &now);
        if (status == AMQP_STATUS_TIMEOUT)
            return true;
        if (status != AMQP_STATUS_OK) {
            snprintf(fault.why, sizeof fault.why, "the connection to the broker broke: %s",
                     amqp_error_string2(status));
            drop(l, 0, fault.why);
            return false;
        }
        atomic_store(&l->mono_heard, clock_mono_ms());
        if (frame.channel == 0 && frame.frame_type == AMQP_FRAME_METHOD &&
            (frame.payload.method.id == AMQP_CONNECTION_BLOCKED_METHOD ||
             frame.payload.method.id == AMQP_CONNECTION_UNBLOCKED_METHOD))
            atomic_store(&l->is_blocked, frame.payload.method.id == AMQP_CONNECTION_BLOCKED_METHOD);
        else if (!broker_channels_frame(&l->channels, l->conn, &frame, &fault))
            drop(l, fault.code, fault.why);
    }
    return false;
}

/* ---- publishing -------------------------------------------------------------------------------
 */

/* Publish the batch on a connection that is there. Its messages may fail meanwhile; it is held, so
 * that it is not given back before the end. */
static void publish(struct broker_link *l, struct broker_batch *batch)
{
    struct broker_fault fault = {.code = 0};
    struct broker_channel *ch;
    size_t n = 0;

    say(l, ASKING);
    ch = broker_channels_get(&l->channels, l->conn, batch->exchange, batch->declares, &fault);
    if (ch == NULL) {
        fail_batch(l, batch, fault.code, fault.why);
        if (fault.is_fatal)
            drop(l, fault.code, fault.why);
        return;
    }
    say(l, PUBLISHING);
    batch->n_open++;
    while (n < batch->n && !broker_channel_is_closed(ch, &fault)) {
        int status = broker_channel_publish(ch, l->conn, batch, n++);

        if (status != AMQP_STATUS_OK) {
            snprintf(fault.why, sizeof fault.why, "the connection to the broker broke: %s",
                     amqp_error_string2(status));
            drop(l, 0, fault.why);
        } else if (n % READ_EACH == 0) {
            read_frames(l);
        }
    }
    broker_channel_is_closed(ch, &fault); /* the last ones may have closed it */
    for (; n < batch->n; n++)
        (void)broker_batch_settle(batch, n, false, fault.code, fault.why);
    broker_channel_let_go(ch);
    if (--batch->n_open == 0)
        give_back(l, batch);
}

/* Connect if need be, and publish. False: there is no connection, and *fault says why. */
static bool work(struct broker_link *l, struct broker_batch *batch, struct broker_fault *fault)
{
    if (atomic_load(&batch->is_given_up)) {
        batch->is_untried = true;
        fail_batch(l, batch, 0, "it was given up");
        return true;
    }
    if (l->conn == NULL && !connect_any(l, fault)) {
        batch->is_unconnected = true;
        fail_batch(l, batch, fault->code, fault->why);
        return false;
    }
    publish(l, batch);
    return true;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

static void wait_for_work(struct broker_link *l)
{
    struct pollfd p[2] = {{.fd = l->wake_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    uint64_t n;

    say(l, l->conn != NULL ? WAITING : NOTHING);
    if (l->conn != NULL)
        p[1].fd = amqp_get_sockfd(l->conn);
    if (poll(p, 2, l->conn != NULL ? LOOK_MS : -1) < 0)
        ASSERT(errno == EINTR);
    if ((p[0].revents & POLLIN) != 0 && read(l->wake_fd, &n, sizeof n) < 0)
        ASSERT(errno == EAGAIN);
}

static void say_goodbye(struct broker_link *l)
{
    struct timeval tv = {0, GOODBYE_MS * 1000};

    if (l->conn == NULL)
        return;
    amqp_set_rpc_timeout(l->conn, &tv);
    (void)amqp_connection_close(l->conn, AMQP_REPLY_SUCCESS);
    drop(l, 0, "the connection is closed");
}

static void *link_main(void *ctx)
{
    struct broker_link *l = ctx;
    struct broker_fault fault;
    struct broker_batches todo;
    struct broker_batch *batch;
    bool stopping = false, works;

    thread_set_name("broker");
    while (!stopping) {
        take_inbox(l, &todo, &stopping);
        works = !stopping;
        snprintf(fault.why, sizeof fault.why, "the connection is being closed");
        fault.code = 0;
        while ((batch = TAILQ_FIRST(&todo)) != NULL) {
            TAILQ_REMOVE(&todo, batch, next);
            if (works) {
                works = work(l, batch, &fault);
            } else { /* without a connection none of them can go */
                batch->is_unconnected = true;
                fail_batch(l, batch, fault.code, fault.why);
            }
        }
        read_frames(l);
        if (!stopping)
            wait_for_work(l);
    }
    say_goodbye(l);
    broker_channels_release(&l->channels);
    loop_post(l->cfg.loop, l->cfg.ended, l->cfg.ctx);
    return NULL;
}

static void wake(struct broker_link *l)
{
    uint64_t one = 1;

    if (write(l->wake_fd, &one, sizeof one) < 0)
        ASSERT(errno == EAGAIN);
}

/* ---- for the loop -----------------------------------------------------------------------------
 */

static void link_free(struct broker_link *l)
{
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    mem_free((char *)(uintptr_t)l->cfg.host);
    mem_free((char *)(uintptr_t)l->cfg.vhost);
    mem_free((char *)(uintptr_t)l->cfg.user);
    mem_free((char *)(uintptr_t)l->cfg.password);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

static bool start_thread(struct broker_link *l)
{
    sigset_t all, before;
    int error;

    sigfillset(&all); /* signals belong to the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&l->thread, NULL, link_main, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

struct broker_link *broker_link_new(const struct broker_link_cfg *cfg)
{
    struct broker_link *l = NEW(struct broker_link);

    l->cfg = *cfg;
    l->cfg.host = mem_strdup(cfg->host);
    l->cfg.vhost = mem_strdup(cfg->vhost);
    l->cfg.user = mem_strdup(cfg->user);
    l->cfg.password = mem_strdup(cfg->password);
    l->fd = -1;
    TAILQ_INIT(&l->inbox);
    pthread_mutex_init(&l->lock, NULL);
    broker_channels_init(&l->channels, give_back, l);
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->wake_fd >= 0 && start_thread(l))
        return l;
    link_free(l);
    return NULL;
}

void broker_link_aim(struct broker_link *l, const union address *addrs, size_t n)
{
    pthread_mutex_lock(&l->lock);
    memcpy(l->addrs, addrs, n * sizeof *addrs);
    l->n_addrs = n;
    pthread_mutex_unlock(&l->lock);
}

void broker_link_give(struct broker_link *l, struct broker_batch *batch)
{
    batch->mono_given = clock_mono_ms();
    pthread_mutex_lock(&l->lock);
    TAILQ_INSERT_TAIL(&l->inbox, batch, next);
    pthread_mutex_unlock(&l->lock);
    wake(l);
}

void broker_link_break_silent(struct broker_link *l, int64_t mono_since)
{
    pthread_mutex_lock(&l->lock);
    if (l->fd >= 0 && atomic_load(&l->mono_heard) < mono_since) {
        atomic_store(&l->broke, broker_link_doing(l));
        shutdown(l->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&l->lock);
}

void broker_link_stop(struct broker_link *l)
{
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_mutex_unlock(&l->lock);
    wake(l);
}

void broker_link_join(struct broker_link *l, int64_t ms)
{
    struct timespec until;

    if (l->is_joined)
        return;
    if (ms < 0)
        ms = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_timedjoin_np(l->thread, NULL, &until) != 0) {
        pthread_mutex_lock(&l->lock);
        if (l->fd >= 0)
            shutdown(l->fd, SHUT_RDWR);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    l->is_joined = true;
}

void broker_link_free(struct broker_link **lp)
{
    struct broker_link *l = *lp;

    *lp = NULL;
    ASSERT(l->is_joined);
    link_free(l);
}
