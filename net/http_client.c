/* net/http_client.c - the queues of calls, and how a call ends.
 *
 * A waiting call is one block of memory. The memory for the transfer is allocated when the call
 * begins to run. Calls begin and end from the loop, never from inside http_client_start() or
 * http_client_cancel().
 */
#include "net/http_client.h"

#include <stdlib.h>
#include <ares.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/http_client_priv.h"

#define IDLE_MIN 16      /* at least so many idle connections are kept, ... */
#define IDLE_MAX 256     /* ... and at most so many */
#define STALL_MS 200     /* a timer that is so late tells that the thread stood still */
#define SPARE_BODY 65536 /* bytes of a buffer that is kept for the next call */

void http_client_global_init(void)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);

    ASSERT(code == CURLE_OK);
    ASSERT(ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS);
}

/* ---- the end of a call ---- */

static void transfer_stop(struct http_client *c, struct transfer *t)
{
    if (t->in_multi)
        http_multi_remove(c->multi, t->kept.easy);
    t->in_multi = false;
    resolver_cancel(&t->query);
    if (t->kept.deadline != NULL)
        evtimer_del(t->kept.deadline);
}

static struct transfer *transfer_new(struct http_client *c, struct call *k)
{
    struct transfer_kept kept = {.origin = BUF_INIT(BUF_ANY), .body = BUF_INIT(BUF_ANY)};
    struct transfer *t;

    if (c->n_spare > 0) {
        t = c->spare[--c->n_spare];
        kept = t->kept;
        memset(t, 0, sizeof *t);
    } else {
        t = NEW(struct transfer);
    }
    t->kept = kept;
    t->call = k;
    t->arena = arena_new();
    return t;
}

/* The end of a transfer. Another call may use it. */
static void transfer_free(struct http_client *c, struct transfer *t)
{
    transfer_stop(c, t);
    decoder_free(&t->decoder);
    arena_free(&t->arena);
    if (c->n_spare < SPARE_TRANSFERS && t->kept.body.cap <= SPARE_BODY) {
        buf_reset(&t->kept.body);
        c->spare[c->n_spare++] = t;
        return;
    }
    http_try_release(&t->kept);
    mem_free(t);
}

static void kick(struct http_client *c)
{
    static const struct timeval now = {0, 0};

    if (!evtimer_pending(c->kick, NULL))
        evtimer_add(c->kick, &now);
}

/* Move the call from its queue to another one; NULL: to none. */
static void call_move(struct call *k, struct call_queue *to)
{
    if (k->queue != NULL) {
        TAILQ_REMOVE(&k->queue->list, k, link);
        k->queue->n--;
    }
    k->queue = to;
    if (to != NULL) {
        TAILQ_INSERT_TAIL(&to->list, k, link);
        to->n++;
    }
}

/* The body is copied once, into the arena. The callback may keep the arena and give it to another
 * thread. After a failure, the part of the body that has come is dropped, unless the call wants it.
 */
void http_call_end(struct call *k, enum rc rc, const struct err *err)
{
    struct http_client *c = k->c;
    struct transfer *t = k->t;
    struct http_answer answer = {0};
    bool nested = c->in_callback;

    call_move(k, NULL);
    kick(c); /* a waiting call may start now */
    answer.arena = t != NULL ? t->arena : arena_new();
    if (t != NULL) {
        t->arena = NULL;
        answer.status = t->status;
        answer.is_tls_failure = t->is_tls_failure;
        answer.is_no_name = t->is_no_name;
        answer.has_address = t->n_addrs > 0;
        answer.is_numeric = t->is_numeric;
        if (answer.has_address)
            answer.nearness = guard_nearness(&t->addrs[0].sa);
        answer.final_url = t->url;
        answer.n_redirects = t->n_redirects;
        answer.rest_ms = t->rest_ms;
        answer.all_permanent = t->n_redirects > 0 && t->all_permanent;
        answer.fields = t->answer;
        answer.n_fields = t->n_answer;
        answer.body = rc == RC_OK || k->given.keeps_part
                          ? str_dup(answer.arena, buf_view(&t->kept.body))
                          : STR("");
        transfer_free(c, t);
    } else {
        answer.final_url = str_dup(answer.arena, k->given.url);
        answer.body = STR("");
    }
    c->in_callback = true;
    k->done(k->ctx, rc, &answer, err);
    c->in_callback = nested;
    mem_free(k);
    stats_add(STAT_work_pending, -1);
}

void http_call_fail(struct call *k, enum rc rc, const char *fmt, ...)
{
    struct err err = ERR_INIT;
    struct arena a = ARENA_INIT;
    struct str url = url_public(&a, k->t != NULL ? k->t->url : k->given.url);
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(&err, rc, "%.*s: %s", STR_ARG(str_slice(url, 0, 200)), text);
    arena_release(&a);
    http_call_end(k, rc, &err);
}

int64_t http_time_left_ms(const struct transfer *t)
{
    int64_t left = t->deadline_ms - clock_mono_ms();

    return left > 0 ? left : 0;
}

static void on_deadline(evutil_socket_t fd, short what, void *ctx);

static void timer_set(struct transfer *t, int64_t ms)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};

    if (t->kept.deadline == NULL)
        t->kept.deadline = evtimer_new(t->call->c->base, on_deadline, t);
    ASSERT(t->kept.deadline != NULL);
    evtimer_add(t->kept.deadline, &tv);
}

/* Does the timer come much too late? Then the thread stood still, and timers run before all that
 * came meanwhile is read: an answer that is there would count for nothing. So that is read first.
 */
static bool put_off(struct transfer *t)
{
    if (t->due_ms == 0 || clock_mono_ms() - t->due_ms < STALL_MS)
        return false;
    t->due_ms = 0;
    timer_set(t, STALL_MS);
    return true;
}

static void on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx)
{
    struct transfer *t = ctx;

    if (put_off(t))
        return;
    if (t->in_multi)
        http_try_late(t->call);
    else
        http_call_fail_late(t->call);
}

/* A timer of libevent costs less than a timeout of libcurl, and a call needs only one at a time. */
void http_deadline_set(struct call *k, int64_t ms)
{
    k->t->due_ms = clock_mono_ms() + ms;
    timer_set(k->t, ms);
}

void http_call_fail_late(struct call *k)
{
    http_call_fail(k, RC_TIMEOUT, "no complete answer within %" PRId64 " ms", k->given.timeout_ms);
}

/* ---- calls ---- */

static void call_begin(struct call *k)
{
    struct http_client *c = k->c;
    struct transfer *t = transfer_new(c, k);
    struct err err = ERR_INIT;

    call_move(k, &c->running);
    k->t = t;
    t->deadline_ms = clock_mono_ms() + k->given.timeout_ms;
    t->method = k->given.method;
    if (url_parse(t->arena, k->given.url, &t->parts, &err) != RC_OK) {
        t->url = str_dup(t->arena, k->given.url);
        http_call_end(k, err.rc, &err);
        return;
    }
    t->url = t->parts.url;
    t->is_proxied = !str_is_null(k->given.proxy);
    if (t->is_proxied && http_proxy_read(t->arena, k->given.proxy, &t->proxy, &err) != RC_OK) {
        http_call_fail(k, err.rc, "%s", err.text);
        return;
    }
    http_hop_start(k);
}

static void fail_closed(struct call *k)
{
    http_call_fail(k, RC_CLOSED, "the call was cancelled");
}

/* Run the callbacks of cancelled calls, and start waiting calls. */
static void on_kick(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx)
{
    struct http_client *c = ctx;
    struct call *k;

    while ((k = TAILQ_FIRST(&c->cancelled.list)) != NULL)
        fail_closed(k);
    while (c->running.n < (size_t)c->cfg.max_total && (k = TAILQ_FIRST(&c->waiting.list)) != NULL)
        call_begin(k);
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_cfg *cfg)
{
    struct http_client *c = NEW(struct http_client);
    long idle = cfg->max_total / 4;

    ASSERT(cfg->max_total > 0 && cfg->guard != NULL);
    c->cfg = *cfg;
    c->base = loop_base(loop);
    c->ca_file = getenv("SSL_CERT_FILE");
    if (c->ca_file != NULL && c->ca_file[0] == '\0')
        c->ca_file = NULL;
    TAILQ_INIT(&c->waiting.list);
    TAILQ_INIT(&c->running.list);
    TAILQ_INIT(&c->cancelled.list);
    c->resolver = resolver_new(c->base, cfg->dns);
    idle = idle < IDLE_MIN ? IDLE_MIN : idle > IDLE_MAX ? IDLE_MAX : idle;
    c->auth = http_auth_new();
    c->multi = http_multi_new(c->base, cfg->max_total + idle, http_hop_done, c);
    c->kick = evtimer_new(c->base, on_kick, c);
    ASSERT(c->kick != NULL);
    return c;
}

/* Copy `s` to *at, and a NUL after it. */
static struct str pack(char **at, struct str s)
{
    char *p = *at;

    if (str_is_null(s))
        return s;
    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    *at += s.len + 1;
    return str_of(p, s.len);
}

uint64_t http_client_start(struct http_client *c, const struct http_call *call, http_done_fn *done,
                           void *ctx)
{
    size_t size = call->method.len + call->url.len + call->credential.len + call->user_agent.len +
                  call->proxy.len + call->conditional_url.len + 6 +
                  call->n_fields * sizeof call->fields[0];
    struct http_field *fields;
    struct call *k;
    char *at;

    for (size_t i = 0; i < call->n_fields; i++)
        size += call->fields[i].name.len + call->fields[i].value.len + 2;
    k = mem_zalloc(sizeof *k + size);
    k->c = c;
    k->number = ++c->last_number;
    k->done = done;
    k->ctx = ctx;
    k->given = *call;
    fields = (struct http_field *)(k + 1);
    at = (char *)(fields + call->n_fields);
    k->given.fields = fields;
    for (size_t i = 0; i < call->n_fields; i++) {
        fields[i].name = pack(&at, call->fields[i].name);
        fields[i].value = pack(&at, call->fields[i].value);
    }
    k->given.method = pack(&at, call->method);
    k->given.url = pack(&at, call->url);
    k->given.credential = pack(&at, call->credential);
    k->given.user_agent = pack(&at, call->user_agent);
    k->given.proxy = pack(&at, call->proxy);
    k->given.conditional_url = pack(&at, call->conditional_url);
    if (k->given.timeout_ms <= 0)
        k->given.timeout_ms = LIMIT_FETCH_MS;
    call_move(k, &c->waiting);
    stats_inc(STAT_work_pending);
    if (c->running.n < (size_t)c->cfg.max_total)
        kick(c);
    return k->number;
}

void http_client_cancel(struct http_client *c, uint64_t number)
{
    struct call_queue *queues[] = {&c->running, &c->waiting};

    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        struct call *k;

        TAILQ_FOREACH (k, &queues[i]->list, link) {
            if (k->number != number)
                continue;
            if (k->t != NULL)
                transfer_stop(c, k->t);
            call_move(k, &c->cancelled);
            kick(c);
            return;
        }
    }
}

size_t http_client_busy(const struct http_client *c)
{
    return c->waiting.n + c->running.n + c->cancelled.n;
}

void http_client_free(struct http_client **cp)
{
    struct http_client *c = *cp;
    struct call *k;

    if (c == NULL)
        return;
    ASSERT(!c->in_callback);
    while ((k = TAILQ_FIRST(&c->cancelled.list)) != NULL ||
           (k = TAILQ_FIRST(&c->running.list)) != NULL ||
           (k = TAILQ_FIRST(&c->waiting.list)) != NULL)
        fail_closed(k);
    http_multi_free(&c->multi);
    http_auth_free(&c->auth);
    resolver_free(&c->resolver);
    event_free(c->kick);
    while (c->n_spare > 0) {
        http_try_release(&c->spare[--c->n_spare]->kept);
        mem_free(c->spare[c->n_spare]);
    }
    mem_free(c);
    *cp = NULL;
}

struct str http_answer_field(const struct http_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->n_fields; i++)
        if (str_eqz(answer->fields[i].name, name))
            return answer->fields[i].value;
    return STR_NULL;
}
