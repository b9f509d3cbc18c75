/* net/component.c - see component.h. What comes in, and what goes out; the connection itself is in
 * component_link.c.
 *
 * libstrophe waits with select(), and no other thread can wake it. So the thread looks for what is
 * queued every few milliseconds while an answer is owed or a message is on its way, and a few times
 * a second otherwise. */
#include "net/component.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/component_link.h"
#include "net/stanza_read.h"

#define QUEUE_MAX 32768                    /* stanzas that wait */
#define QUEUE_BYTES_MAX ((size_t)64 << 20) /* their bytes */
#define WINDOW ((size_t)1 << 20)           /* bytes that the server has not confirmed */
#define BUSY_MS 5                          /* between looks while something is under way */
#define IDLE_MS 40                         /* otherwise */
#define ACTIVE_MS 500                      /* so long after a message the next one is expected */
#define UNCONNECTED_MS 3000                /* so long a message waits for a connection */
#define RESTING_MS 500                     /* ... and so long, if none is wanted */
#define UNPINGED 3 /* so many times the silence a ping may take while other things come */
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
    bool is_resting;    /* no connection is wanted */
    int64_t rest_by_ms; /* ... and the one that there is ends by then (monotonic) */
    int64_t stop_at_ms;
    long n_owed; /* requests that were handed up and not answered */

    /* of the thread: */
    struct component_link link;
    struct outgoing_list sent; /* not confirmed */
    size_t sent_bytes;
    uint64_t last_ping, pong; /* the last that was sent, the last that came back */
    bool needs_ping;          /* something was sent after the last ping */
    int64_t pinged_ms;
    int64_t looked_ms; /* when watch() ran last; 0: not yet */
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

    c->link.heard_ms = clock_mono_ms();
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

    c->link.heard_ms = clock_mono_ms();
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

static void on_opened(void *ctx, xmpp_conn_t *conn)
{
    struct component *c = ctx;

    c->needs_ping = false;
    c->pong = c->last_ping; /* those of the last connection do not come back */
    c->pinged_ms = clock_mono_ms();
    xmpp_handler_add(conn, on_iq, NULL, "iq", NULL, c);
    xmpp_handler_add(conn, on_message, NULL, "message", NULL, c);
}

static void on_lost(void *ctx)
{
    struct component *c = ctx;

    c->sent_bytes = 0;
    finish_all(&c->sent, RC_IO, "the connection to the XMPP server was lost");
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
    component_link_send(&c->link, ping.ptr, ping.len);
}

/* Ask the receiver's server for a sign of life. What it gets from us it handles in order. */
static void ask_for_ack(struct component *c, const struct outgoing *o)
{
    AUTO(buf_release) struct buf ping = BUF_INIT(BUF_ANY);

    buf_printf(&ping,
               "<iq type=\"get\" id=\"" ACK_PREFIX "%" PRIu64 "\" from=\"%s\" to=\"%s\">"
               "<ping xmlns=\"urn:xmpp:ping\"/></iq>",
               o->number, c->cfg.name.ptr, o->host);
    component_link_send(&c->link, ping.ptr, ping.len);
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
        component_link_send(&c->link, o->xml, o->len);
        if (o->is_message)
            ask_for_ack(c, o);
    }
    pthread_mutex_unlock(&c->lock);
    /* one ping at a time: the next one is for all that was sent while it was on its way */
    if (c->needs_ping && c->pong == c->last_ping)
        send_ping(c);
}

/* Time in which this thread stood still, on a busy machine or as the process was stopped, makes no
 * server silent: what it has sent meanwhile is not read yet. */
static void leave_out_pause(struct component *c, int64_t now)
{
    int64_t paused_ms = c->looked_ms == 0 ? 0 : now - c->looked_ms;
    struct outgoing *o;

    c->looked_ms = now;
    if (paused_ms <= IDLE_MS + c->cfg.silence_ms / 8)
        return;
    c->pinged_ms += paused_ms;
    c->link.heard_ms += paused_ms;
    TAILQ_FOREACH (o, &c->sent, link)
        o->deadline_ms += paused_ms;
}

/* A server that has much to do answers a ping late, but not never. */
static bool is_deaf(const struct component *c, int64_t now)
{
    int64_t most_ms = c->cfg.silence_ms;

    if (c->pong == c->last_ping)
        return false;
    return now - c->pinged_ms > UNPINGED * most_ms ||
           (now - c->pinged_ms > most_ms && now - c->link.heard_ms > most_ms);
}

/* Ping a silent server; end a connection whose server does not answer, or does not accept us in
 * time: libstrophe waits for ever for the server to begin its stream. */
static void watch(struct component *c)
{
    int64_t now = clock_mono_ms();

    leave_out_pause(c, now);
    if (!c->link.is_open) {
        if (now - c->link.heard_ms > c->cfg.silence_ms)
            component_link_lose(&c->link, "the server does not answer");
    } else if (is_deaf(c, now)) {
        xmpp_disconnect(c->link.conn);
        component_link_lose(&c->link, "the server does not answer");
    } else if (c->pong == c->last_ping && now - c->link.heard_ms > c->cfg.silence_ms &&
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
    int64_t now = clock_mono_ms(), patience_ms = c->is_resting ? RESTING_MS : UNCONNECTED_MS;
    struct outgoing *o, *next;

    for (o = TAILQ_FIRST(list); o != NULL; o = next) {
        bool gone = is_cancelled(c, o) || (is_queue && !o->is_message && c->link.conn == NULL);
        bool over = o->is_message && (now >= o->deadline_ms ||
                                      (!c->link.is_open && now - o->queued_ms >= patience_ms));

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
    bool is_resting;

    pthread_mutex_lock(&c->lock);
    is_resting = c->is_resting;
    pick_ended_locked(c, &c->queued, true, &cancelled, &unsent);
    pick_ended_locked(c, &c->sent, false, &cancelled, &late);
    c->n_cancelled = 0;
    pthread_mutex_unlock(&c->lock);
    finish_all(&cancelled, RC_CLOSED, "it was cancelled");
    finish_all(&unsent, RC_TIMEOUT,
               is_resting ? "another node has the connection to the XMPP server"
                          : "there is no connection to the XMPP server");
    finish_all(&late, RC_TIMEOUT, "the server of the receiver gives no sign of life");
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Is it time to end? */
static bool is_over(struct component *c)
{
    bool over;

    pthread_mutex_lock(&c->lock);
    over = c->is_stopping && (!c->link.is_open || clock_mono_ms() >= c->stop_at_ms ||
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
    is_busy = is_busy || !TAILQ_EMPTY(&c->sent) || clock_mono_ms() - c->pinged_ms < ACTIVE_MS;
    return is_busy ? BUSY_MS : IDLE_MS;
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

/* No connection is wanted, and the one that there is has nothing under way; or there is always
 * something, as many ask, and the next owner has waited long enough. */
static bool may_rest(struct component *c)
{
    bool may;

    pthread_mutex_lock(&c->lock);
    may = c->is_resting && !c->is_stopping &&
          (!c->link.is_open || clock_mono_ms() >= c->rest_by_ms ||
           (TAILQ_EMPTY(&c->queued) && TAILQ_EMPTY(&c->sent)));
    pthread_mutex_unlock(&c->lock);
    return may;
}

static void *run(void *ctx)
{
    struct component *c = ctx;

    pthread_setname_np(pthread_self(), "xmpp");
    while (!is_over(c)) {
        if (may_rest(c)) {
            component_link_rest(&c->link);
            end_some(c);
            wait_for_try(c);
            continue;
        }
        component_link_try(&c->link);
        if (c->link.is_open)
            send_queued(c);
        component_link_run(&c->link, wait_ms(c));
        if (c->link.conn != NULL && !c->link.is_lost)
            watch(c);
        component_link_drop_lost(&c->link);
        end_some(c);
        if (c->link.conn == NULL)
            wait_for_try(c);
    }
    component_link_end(&c->link);
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
    c->cfg.dns = cfg->dns == NULL ? NULL : str_z(&c->arena, str_from(cfg->dns));
    TAILQ_INIT(&c->queued);
    TAILQ_INIT(&c->sent);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->news, &attr);
    pthread_condattr_destroy(&attr);
    c->link.cfg = &c->cfg;
    c->link.opened = on_opened;
    c->link.lost = on_lost;
    c->link.ctx = c;
    component_link_init(&c->link);
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

void component_set_active(struct component *c, bool active)
{
    pthread_mutex_lock(&c->lock);
    c->is_resting = !active;
    c->rest_by_ms = clock_mono_ms() + c->cfg.silence_ms;
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
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
    component_link_release(&c->link);
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
        log_debug("xmpp", "unanswered", "bytes=%zu error=\"the queue is full\"", xml.len);
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
