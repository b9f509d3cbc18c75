/* net/component.c - see component.h. libstrophe speaks the protocol, on a thread of its own.
 *
 * libstrophe waits with select(), and no other thread can wake it. So the thread looks for what is
 * queued every few milliseconds while an answer is owed or a message is on its way, and a few times
 * a second otherwise. select() cannot have descriptors from FD_SETSIZE on, which a daemon with many
 * clients reaches; see reserve_low(). */
#include "net/component.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <strophe.h>
#include <sys/queue.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/stanza_read.h"

#define QUEUE_MAX 32768                    /* stanzas that wait */
#define QUEUE_BYTES_MAX ((size_t)64 << 20) /* their bytes */
#define WINDOW ((size_t)1 << 20)           /* bytes that the server has not confirmed */
#define BUSY_MS 5                          /* between looks while something is under way */
#define IDLE_MS 40                         /* otherwise */
#define UNCONNECTED_MS 3000                /* so long a message waits for a connection */
#define N_LOW 8                            /* descriptors kept for select() */
#define PING_PREFIX "fmping-"
#define ACK_PREFIX "fmack-"
#define ID_MAX 1024 /* bytes of a request's id, which its answer repeats */

/* Something to send. An answer has no `done`. */
struct outgoing {
    TAILQ_ENTRY(outgoing) link;
    char *xml;
    size_t len;
    bool is_message;
    uint64_t number;
    char *id;
    char *host;          /* of the receiver */
    bool is_taken;       /* our server has it; that of the receiver has not answered yet */
    int64_t queued_ms;   /* of a message; monotonic */
    int64_t deadline_ms; /* the same */
    uint64_t ping;       /* once sent: the ping that confirms it */
    component_done_fn *done;
    void *ctx;
};
TAILQ_HEAD(outgoing_list, outgoing);

struct component {
    struct component_cfg cfg; /* strings in `arena` */
    struct arena arena;
    pthread_t thread;
    bool is_running; /* the thread was started and not yet joined; the caller's */
    component_request_fn *on_request;
    void *ctx;

    pthread_mutex_t lock; /* guards up to the next comment */
    pthread_cond_t news;  /* CLOCK_MONOTONIC */
    struct outgoing_list queued;
    size_t n_queued, queued_bytes;
    uint64_t last_number;
    uint64_t *cancelled; /* numbers */
    size_t n_cancelled, cap_cancelled;
    bool is_stopping, is_stopped;
    int64_t stop_at_ms;
    long n_owed; /* requests that were handed up and not answered */

    /* of the thread: */
    xmpp_ctx_t *strophe;
    xmpp_conn_t *conn; /* NULL: not connected, and not trying to */
    bool is_open;      /* the server has accepted us */
    bool is_lost;      /* `conn` has ended and must be released */
    char *lost_why;
    struct outgoing_list sent; /* not confirmed */
    size_t sent_bytes;
    uint64_t last_ping, pong; /* the last that was sent, the last that came back */
    bool needs_ping;          /* something was sent after the last ping */
    int64_t pinged_ms, heard_ms;
    int64_t try_at_ms, pause_ms;
    int low[N_LOW]; /* -1: none */
};

/* ---- what is on its way ---------------------------------------------------------------------- */

static void outgoing_free(struct outgoing *o)
{
    mem_free(o->xml);
    mem_free(o->id);
    mem_free(o->host);
    mem_free(o);
}

/* Something became of it. */
static void finish(struct outgoing *o, const struct component_result *res)
{
    if (o->done != NULL)
        o->done(o->ctx, res);
    outgoing_free(o);
}

static void finish_all(struct outgoing_list *list, enum rc rc, const char *why)
{
    struct component_result res = {.rc = rc, .err = why, .condition = STR_NULL, .text = STR_NULL};
    struct outgoing *o;

    while ((o = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, o, link);
        finish(o, &res);
    }
}

static void unsend(struct component *c, struct outgoing *o)
{
    TAILQ_REMOVE(&c->sent, o, link);
    if (!o->is_taken)
        c->sent_bytes -= o->len;
}

/* Take a queued stanza out. The lock is held. */
static void unqueue_locked(struct component *c, struct outgoing *o)
{
    TAILQ_REMOVE(&c->queued, o, link);
    c->n_queued--;
    c->queued_bytes -= o->len;
}

/* The ping came back: our server has all that was sent before it. Answers are done with that. */
static void confirm(struct component *c, uint64_t ping)
{
    const struct component_result taken = {
        .rc = RC_OK, .err = NULL, .condition = STR_NULL, .text = STR_NULL};
    struct outgoing *o, *next;

    if (ping > c->last_ping || ping <= c->pong)
        return;
    c->pong = ping;
    for (o = TAILQ_FIRST(&c->sent); o != NULL && o->ping <= ping; o = next) {
        next = TAILQ_NEXT(o, link);
        if (!o->is_message) {
            unsend(c, o);
            finish(o, &taken);
        } else if (!o->is_taken) {
            o->is_taken = true;
            c->sent_bytes -= o->len;
        }
    }
}

/* ---- what comes in --------------------------------------------------------------------------- */

static struct str attribute_of(struct arena *a, xmpp_stanza_t *s, const char *name)
{
    const char *value = xmpp_stanza_get_attribute(s, name);

    return value == NULL ? STR_NULL : str_dup(a, str_from(value));
}

void component_request_free(struct component_request *req)
{
    struct arena *arena = req->arena;

    arena_free(&arena);
}

static void hand_up(struct component *c, xmpp_stanza_t *iq, bool is_set)
{
    struct arena *a = arena_new();
    struct component_request *req = ARENA_NEW(a, struct component_request);

    *req = (struct component_request){.arena = a,
                                      .from = attribute_of(a, iq, "from"),
                                      .to = attribute_of(a, iq, "to"),
                                      .id = attribute_of(a, iq, "id"),
                                      .is_set = is_set,
                                      .payload = stanza_read(a, iq)->children};
    pthread_mutex_lock(&c->lock);
    /* without these it cannot be answered; RFC 6120 demands them, and servers add `from` */
    if (str_is_null(req->from) || str_is_null(req->id) || req->id.len > ID_MAX || c->is_stopping) {
        pthread_mutex_unlock(&c->lock);
        component_request_free(req);
        return;
    }
    c->n_owed++;
    pthread_mutex_unlock(&c->lock);
    stats_inc(STAT_xmpp_requests_total);
    stats_add(STAT_work_pending, 1);
    c->on_request(c->ctx, req);
}

/* Returns the number in the id of a request of ours with this prefix; 0: it is none. */
static uint64_t number_of(xmpp_stanza_t *iq, const char *prefix)
{
    const char *id = xmpp_stanza_get_id(iq);
    int64_t n;

    if (id == NULL || strncmp(id, prefix, strlen(prefix)) != 0 ||
        !str_to_i64(str_from(id + strlen(prefix)), &n) || n <= 0)
        return 0;
    return (uint64_t)n;
}

/* Returns the number of our ping, if this is what became of it; otherwise 0. Nobody else can write
 * in our name. */
static uint64_t ping_of(const struct component *c, xmpp_stanza_t *iq)
{
    const char *from = xmpp_stanza_get_from(iq);

    return from == NULL || str_eqz(c->cfg.name, from) ? number_of(iq, PING_PREFIX) : 0;
}

/* Returns the message whose receiver's server gives its sign of life with this; NULL: none. */
static struct outgoing *acked_by(struct component *c, xmpp_stanza_t *iq)
{
    uint64_t number = number_of(iq, ACK_PREFIX);
    struct str from = str_from(xmpp_stanza_get_from(iq));
    struct outgoing *o;

    TAILQ_FOREACH (o, &c->sent, link)
        if (number != 0 && o->number == number && str_ieqz(from, o->host))
            return o;
    return NULL;
}

/* Get the condition of an error, and what it says. In the arena. */
static void read_error(struct arena *a, xmpp_stanza_t *stanza, struct component_result *res)
{
    const struct stanza *error = stanza_child(stanza_read(a, stanza), "error", NULL);

    *res = (struct component_result){.rc = RC_PEER,
                                     .err = "it was answered by an error",
                                     .condition = STR("undefined-condition"),
                                     .text = STR_NULL};
    for (const struct stanza *s = error == NULL ? NULL : error->children; s != NULL; s = s->next) {
        if (!str_eqz(s->ns, "urn:ietf:params:xml:ns:xmpp-stanzas"))
            continue;
        if (str_eqz(s->name, "text"))
            res->text = s->text;
        else
            res->condition = s->name;
    }
}

/* The server of the receiver has answered, so it has the message; whatever it answers. Unless
 * another server answers for it, because it cannot be reached. */
static void on_ack(struct component *c, struct outgoing *o, xmpp_stanza_t *iq)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *type = xmpp_stanza_get_type(iq);
    struct component_result res = {.rc = RC_OK, .condition = STR_NULL, .text = STR_NULL};

    if (type != NULL && strcmp(type, "error") == 0)
        read_error(&a, iq, &res);
    if (!str_eqz(res.condition, "remote-server-not-found") &&
        !str_eqz(res.condition, "remote-server-timeout"))
        res.rc = RC_OK;
    unsend(c, o);
    finish(o, &res);
}

static int on_iq(xmpp_conn_t *conn UNUSED, xmpp_stanza_t *iq, void *ctx)
{
    struct component *c = ctx;
    const char *type = xmpp_stanza_get_type(iq);
    uint64_t ping = ping_of(c, iq);
    struct outgoing *o = acked_by(c, iq);

    c->heard_ms = clock_mono_ms();
    if (ping != 0)
        confirm(c, ping); /* our own request came back to us, or the server answered it */
    else if (type != NULL && strcmp(type, "get") == 0)
        hand_up(c, iq, false);
    else if (type != NULL && strcmp(type, "set") == 0)
        hand_up(c, iq, true);
    else if (o != NULL)
        on_ack(c, o, iq);
    return 1;
}

/* A message was answered by an error. */
static void on_refusal(struct component *c, struct outgoing *o, xmpp_stanza_t *message)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct component_result res;

    read_error(&a, message, &res);
    unsend(c, o);
    finish(o, &res);
}

static int on_message(xmpp_conn_t *conn UNUSED, xmpp_stanza_t *message, void *ctx)
{
    struct component *c = ctx;
    const char *type = xmpp_stanza_get_type(message), *id = xmpp_stanza_get_id(message);
    struct outgoing *o;

    c->heard_ms = clock_mono_ms();
    if (type == NULL || id == NULL || strcmp(type, "error") != 0)
        return 1;
    TAILQ_FOREACH (o, &c->sent, link)
        if (o->is_message && strcmp(o->id, id) == 0) {
            on_refusal(c, o, message);
            return 1;
        }
    stats_inc(STAT_xmpp_late_total);
    return 1;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* select() takes descriptors below FD_SETSIZE only. So some low ones are kept from the start, when
 * few files are open. One is given back right before libstrophe makes its socket, which then gets
 * the lowest number that is free. */
static void reserve_low(struct component *c)
{
    for (size_t i = 0; i < N_LOW; i++) {
        if (c->low[i] >= 0)
            continue;
        c->low[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (c->low[i] < FD_SETSIZE)
            continue;
        close(c->low[i]);
        c->low[i] = -1;
    }
}

static void give_low(struct component *c)
{
    for (size_t i = 0; i < N_LOW; i++) {
        if (c->low[i] < 0)
            continue;
        close(c->low[i]);
        c->low[i] = -1;
        return;
    }
}

/* libstrophe has made its socket. Another result than 0 ends the attempt. */
static int on_socket(xmpp_conn_t *conn UNUSED, void *sock)
{
    int fd = *(int *)sock;

    return fd < 0 || fd >= FD_SETSIZE || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0;
}

static void lose(struct component *c, const char *why)
{
    if (c->is_lost)
        return;
    c->is_lost = true;
    c->lost_why = mem_strdup(why);
}

static void on_connection(xmpp_conn_t *conn, xmpp_conn_event_t event, int error,
                          xmpp_stream_error_t *stream_error, void *ctx)
{
    struct component *c = ctx;

    if (event == XMPP_CONN_CONNECT) {
        c->is_open = true;
        c->pause_ms = c->cfg.first_pause_ms;
        c->heard_ms = c->pinged_ms = clock_mono_ms();
        xmpp_handler_add(conn, on_iq, NULL, "iq", NULL, c);
        xmpp_handler_add(conn, on_message, NULL, "message", NULL, c);
        stats_set(STAT_xmpp_connected, 1);
        log_info("xmpp", "connected", "component=%s server=%s:%d", log_quote(c->cfg.name),
                 c->cfg.host.ptr, c->cfg.port);
        return;
    }
    if (event == XMPP_CONN_RAW_CONNECT)
        return;
    if (stream_error != NULL)
        lose(c, stream_error->text != NULL ? stream_error->text : "the server ended the stream");
    else
        lose(c, error != 0 ? strerror(error) : "the connection ended");
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
static void give_state(struct component *c)
{
    xmpp_conn_t *client = xmpp_conn_new(c->strophe);
    xmpp_sm_state_t *state;

    xmpp_conn_set_jid(client, "nobody@localhost");
    xmpp_conn_set_pass(client, "");
    xmpp_conn_set_sockopt_callback(client, on_no_socket);
    ASSERT(xmpp_connect_client(client, "127.0.0.1", 1, on_nothing, NULL) != XMPP_EOK);
    state = xmpp_conn_get_sm_state(client);
    if (state != NULL && xmpp_conn_set_sm_state(c->conn, state) != XMPP_EOK)
        xmpp_free_sm_state(state);
    xmpp_conn_release(client);
}

static void connect_now(struct component *c)
{
    c->is_open = c->is_lost = c->needs_ping = false;
    c->pong = c->last_ping; /* those of the last connection do not come back */
    c->heard_ms = clock_mono_ms();
    c->conn = xmpp_conn_new(c->strophe);
    xmpp_conn_set_jid(c->conn, c->cfg.name.ptr);
    xmpp_conn_set_pass(c->conn, c->cfg.secret.ptr);
    xmpp_conn_set_sockopt_callback(c->conn, on_socket);
    give_state(c);
    give_low(c);
    if (xmpp_connect_component(c->conn, c->cfg.host.ptr, (unsigned short)c->cfg.port, on_connection,
                               c) != XMPP_EOK)
        lose(c, "the server cannot be reached");
    reserve_low(c);
}

/* Returns the pause before the next try, with up to a tenth more. */
static int64_t next_pause(struct component *c)
{
    int64_t ms = c->pause_ms;
    uint32_t random;

    c->pause_ms = 2 * ms < c->cfg.max_pause_ms ? 2 * ms : c->cfg.max_pause_ms;
    digest_random(&random, sizeof random);
    return ms + (int64_t)(random % 1000) * ms / 10000;
}

/* The connection has ended: release it, and plan the next one. */
static void drop_connection(struct component *c)
{
    int64_t pause_ms = next_pause(c);

    xmpp_conn_release(c->conn);
    c->conn = NULL;
    stats_set(STAT_xmpp_connected, 0);
    log_warn("xmpp", c->is_open ? "disconnected" : "unconnected",
             "component=%s server=%s:%d error=%s again_in_ms=%" PRId64, log_quote(c->cfg.name),
             c->cfg.host.ptr, c->cfg.port, log_quote(str_from(c->lost_why)), pause_ms);
    c->is_open = c->is_lost = false;
    c->try_at_ms = clock_mono_ms() + pause_ms;
    mem_free(c->lost_why);
    c->lost_why = NULL;
    c->sent_bytes = 0;
    finish_all(&c->sent, RC_IO, "the connection to the XMPP server was lost");
    reserve_low(c);
}

/* ---- what goes out --------------------------------------------------------------------------- */

static void send_ping(struct component *c)
{
    AUTO(buf_release) struct buf ping = BUF_INIT(BUF_ANY);

    c->needs_ping = false;
    c->pinged_ms = clock_mono_ms();
    buf_printf(&ping,
               "<iq type=\"get\" id=\"" PING_PREFIX "%" PRIu64 "\" from=\"%s\" to=\"%s\">"
               "<ping xmlns=\"urn:xmpp:ping\"/></iq>",
               ++c->last_ping, c->cfg.name.ptr, c->cfg.name.ptr);
    xmpp_send_raw(c->conn, ping.ptr, ping.len);
}

/* Ask the receiver's server for a sign of life. What it gets from us it handles in order. */
static void ask_for_ack(struct component *c, const struct outgoing *o)
{
    AUTO(buf_release) struct buf ping = BUF_INIT(BUF_ANY);

    buf_printf(&ping,
               "<iq type=\"get\" id=\"" ACK_PREFIX "%" PRIu64 "\" from=\"%s\" to=\"%s\">"
               "<ping xmlns=\"urn:xmpp:ping\"/></iq>",
               o->number, c->cfg.name.ptr, o->host);
    xmpp_send_raw(c->conn, ping.ptr, ping.len);
    stats_inc(STAT_xmpp_messages_total);
}

/* Give libstrophe what is queued, as far as the window allows. */
static void send_queued(struct component *c)
{
    struct outgoing *o;

    pthread_mutex_lock(&c->lock);
    while ((o = TAILQ_FIRST(&c->queued)) != NULL &&
           (c->sent_bytes == 0 || c->sent_bytes + o->len <= WINDOW)) {
        unqueue_locked(c, o);
        o->ping = c->last_ping + 1;
        TAILQ_INSERT_TAIL(&c->sent, o, link);
        c->sent_bytes += o->len;
        c->needs_ping = true;
        xmpp_send_raw(c->conn, o->xml, o->len);
        if (o->is_message)
            ask_for_ack(c, o);
    }
    pthread_mutex_unlock(&c->lock);
    /* one ping at a time: the next one is for all that was sent while it was on its way */
    if (c->needs_ping && c->pong == c->last_ping)
        send_ping(c);
}

/* Ping a silent server; end a connection whose server does not answer, or does not accept us in
 * time: libstrophe waits for ever for the server to begin its stream. */
static void watch(struct component *c)
{
    int64_t now = clock_mono_ms();

    if (!c->is_open) {
        if (now - c->heard_ms > c->cfg.silence_ms)
            lose(c, "the server does not answer");
    } else if (c->pong < c->last_ping && now - c->pinged_ms > c->cfg.silence_ms) {
        xmpp_disconnect(c->conn);
        lose(c, "the server does not answer");
    } else if (c->pong == c->last_ping && now - c->heard_ms > c->cfg.silence_ms &&
               now - c->pinged_ms > c->cfg.silence_ms) {
        send_ping(c);
    }
}

static bool is_cancelled(const struct component *c, const struct outgoing *o)
{
    for (size_t i = 0; i < c->n_cancelled; i++)
        if (c->cancelled[i] == o->number)
            return true;
    return false;
}

/* Move what was cancelled or has come to its deadline from `list` to one of the others. Answers go
 * when there is no connection. The lock is held. */
static void pick_ended_locked(struct component *c, struct outgoing_list *list, bool is_queue,
                              struct outgoing_list *cancelled, struct outgoing_list *late)
{
    int64_t now = clock_mono_ms();
    struct outgoing *o, *next;

    for (o = TAILQ_FIRST(list); o != NULL; o = next) {
        bool gone = is_cancelled(c, o) || (is_queue && !o->is_message && c->conn == NULL);
        bool over = o->is_message && (now >= o->deadline_ms ||
                                      (!c->is_open && now - o->queued_ms >= UNCONNECTED_MS));

        next = TAILQ_NEXT(o, link);
        if (!gone && !over)
            continue;
        if (is_queue)
            unqueue_locked(c, o);
        else
            unsend(c, o);
        TAILQ_INSERT_TAIL(gone ? cancelled : late, o, link);
    }
}

static void end_some(struct component *c)
{
    struct outgoing_list cancelled = TAILQ_HEAD_INITIALIZER(cancelled);
    struct outgoing_list late = TAILQ_HEAD_INITIALIZER(late);
    struct outgoing_list unsent = TAILQ_HEAD_INITIALIZER(unsent);

    pthread_mutex_lock(&c->lock);
    pick_ended_locked(c, &c->queued, true, &cancelled, &unsent);
    pick_ended_locked(c, &c->sent, false, &cancelled, &late);
    c->n_cancelled = 0;
    pthread_mutex_unlock(&c->lock);
    finish_all(&cancelled, RC_CLOSED, "it was cancelled");
    finish_all(&unsent, RC_TIMEOUT, "there is no connection to the XMPP server");
    finish_all(&late, RC_TIMEOUT, "the server of the receiver gives no sign of life");
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Is it time to end? */
static bool is_over(struct component *c)
{
    bool over;

    pthread_mutex_lock(&c->lock);
    over = c->is_stopping && (!c->is_open || clock_mono_ms() >= c->stop_at_ms ||
                              (TAILQ_EMPTY(&c->queued) && TAILQ_EMPTY(&c->sent)));
    pthread_mutex_unlock(&c->lock);
    return over;
}

/* Returns how long to wait for the server. */
static unsigned long wait_ms(struct component *c)
{
    bool is_busy;

    pthread_mutex_lock(&c->lock);
    is_busy = c->n_owed > 0 || c->is_stopping || !TAILQ_EMPTY(&c->queued);
    pthread_mutex_unlock(&c->lock);
    return is_busy || !TAILQ_EMPTY(&c->sent) ? BUSY_MS : IDLE_MS;
}

/* There is no connection: wait until it is time to try again, or something ends. */
static void wait_for_try(struct component *c)
{
    struct timespec until = clock_mono_after_ms(IDLE_MS);

    pthread_mutex_lock(&c->lock);
    if (!c->is_stopping)
        pthread_cond_timedwait(&c->news, &c->lock, &until);
    pthread_mutex_unlock(&c->lock);
}

/* End the stream, and give the server a moment to end its own. */
static void end_connection(struct component *c)
{
    int64_t until = clock_mono_ms() + 500;

    if (c->conn == NULL)
        return;
    if (c->is_open)
        xmpp_disconnect(c->conn);
    while (c->is_open && !c->is_lost && clock_mono_ms() < until)
        xmpp_run_once(c->strophe, BUSY_MS);
    xmpp_conn_release(c->conn);
    c->conn = NULL;
    mem_free(c->lost_why);
    c->lost_why = NULL;
    stats_set(STAT_xmpp_connected, 0);
}

static void *run(void *ctx)
{
    struct component *c = ctx;

    pthread_setname_np(pthread_self(), "xmpp");
    while (!is_over(c)) {
        if (c->conn == NULL && clock_mono_ms() >= c->try_at_ms)
            connect_now(c);
        if (c->conn != NULL && c->is_open)
            send_queued(c);
        if (c->conn != NULL && !c->is_lost)
            xmpp_run_once(c->strophe, wait_ms(c));
        if (c->conn != NULL && !c->is_lost)
            watch(c);
        if (c->conn != NULL && c->is_lost)
            drop_connection(c);
        end_some(c);
        if (c->conn == NULL)
            wait_for_try(c);
    }
    end_connection(c);
    return NULL;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

struct component *component_new(const struct component_cfg *cfg)
{
    struct component *c = NEW(struct component);
    pthread_condattr_t attr;

    c->cfg = *cfg;
    c->cfg.host = str_dup(&c->arena, cfg->host);
    c->cfg.name = str_dup(&c->arena, cfg->name);
    c->cfg.secret = str_dup(&c->arena, cfg->secret);
    c->pause_ms = cfg->first_pause_ms;
    TAILQ_INIT(&c->queued);
    TAILQ_INIT(&c->sent);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->news, &attr);
    pthread_condattr_destroy(&attr);
    for (size_t i = 0; i < N_LOW; i++)
        c->low[i] = -1;
    reserve_low(c);
    xmpp_initialize();
    c->strophe = xmpp_ctx_new(NULL, NULL);
    return c;
}

void component_start(struct component *c, component_request_fn *on_request, void *ctx)
{
    ASSERT(!c->is_running);
    c->on_request = on_request;
    c->ctx = ctx;
    ASSERT(pthread_create(&c->thread, NULL, run, c) == 0);
    c->is_running = true;
}

void component_stop(struct component *c, int64_t ms)
{
    struct outgoing_list rest = TAILQ_HEAD_INITIALIZER(rest);
    struct outgoing *o;

    pthread_mutex_lock(&c->lock);
    c->stop_at_ms = clock_mono_ms() + ms;
    c->is_stopping = true;
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
    if (c->is_running)
        pthread_join(c->thread, NULL);
    c->is_running = false;
    pthread_mutex_lock(&c->lock);
    c->is_stopped = true;
    while ((o = TAILQ_FIRST(&c->queued)) != NULL) {
        unqueue_locked(c, o);
        TAILQ_INSERT_TAIL(&rest, o, link);
    }
    pthread_mutex_unlock(&c->lock);
    finish_all(&c->sent, RC_CLOSED, "the daemon stops");
    finish_all(&rest, RC_CLOSED, "the daemon stops");
}

void component_free(struct component **cp)
{
    struct component *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    component_stop(c, 0);
    xmpp_ctx_free(c->strophe);
    xmpp_shutdown();
    for (size_t i = 0; i < N_LOW; i++)
        if (c->low[i] >= 0)
            close(c->low[i]);
    mem_free(c->cancelled);
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->lock);
    arena_release(&c->arena);
    mem_free(c);
}

struct str component_name(const struct component *c)
{
    return c->cfg.name;
}

/* ---- calls of others ------------------------------------------------------------------------- */

/* Queue it. False: there is no room, or the component has stopped; then `o` is freed. The lock is
 * held. */
static bool queue_locked(struct component *c, struct outgoing *o)
{
    if (c->is_stopped || c->n_queued >= QUEUE_MAX || c->queued_bytes + o->len > QUEUE_BYTES_MAX) {
        outgoing_free(o);
        return false;
    }
    TAILQ_INSERT_TAIL(&c->queued, o, link);
    c->n_queued++;
    c->queued_bytes += o->len;
    pthread_cond_signal(&c->news);
    return true;
}

void component_answer(struct component *c, struct str xml)
{
    struct outgoing *o = NEW(struct outgoing);

    o->xml = mem_strndup(xml.ptr, xml.len);
    o->len = xml.len;
    pthread_mutex_lock(&c->lock);
    c->n_owed--;
    if (!queue_locked(c, o))
        log_debug("xmpp", "unanswered", "bytes=%zu the queue is full", xml.len);
    pthread_mutex_unlock(&c->lock);
    stats_add(STAT_work_pending, -1);
}

uint64_t component_deliver(struct component *c, struct str id, struct str host, struct str xml,
                           int64_t timeout_ms, component_done_fn *done, void *ctx)
{
    struct outgoing *o = NEW(struct outgoing);
    uint64_t number;

    o->xml = mem_strndup(xml.ptr, xml.len);
    o->len = xml.len;
    o->id = mem_strndup(id.ptr, id.len);
    o->host = mem_strndup(host.ptr, host.len);
    o->is_message = true;
    o->queued_ms = clock_mono_ms();
    o->deadline_ms = o->queued_ms + timeout_ms;
    o->done = done;
    o->ctx = ctx;
    pthread_mutex_lock(&c->lock);
    number = o->number = ++c->last_number;
    if (!queue_locked(c, o))
        number = 0;
    pthread_mutex_unlock(&c->lock);
    return number;
}

void component_cancel(struct component *c, uint64_t number)
{
    pthread_mutex_lock(&c->lock);
    if (!c->is_stopped) {
        c->cancelled =
            mem_grow(c->cancelled, &c->cap_cancelled, c->n_cancelled + 1, sizeof *c->cancelled);
        c->cancelled[c->n_cancelled++] = number;
    }
    pthread_mutex_unlock(&c->lock);
}
