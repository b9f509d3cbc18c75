/* net/brokers.c - see brokers.h. The loop's side: which deliveries there are, which links they use,
 * names, the guard, pauses and time limits. */
#include "net/brokers.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/broker_link.h"

#define LINKS_MAX 512  /* connections at once; more than pushes at the same time, as usual */
#define IDLE_MS 60000  /* a connection that nobody needed for so long is closed */
#define SWEEP_MS 10000 /* between looks for such connections */
#define PAUSE_MAX_MS 30000
#define STOP_MS 1000 /* for a polite end of all connections */
#define STALL_MS 200 /* a timer that is so late tells that the process stood still */
#define REPLY_SUCCESS 200

/* A link, its name in the table, and those who wait for its address. */
struct line {
    struct brokers *brokers; /* NULL: they were freed, or it is being closed */
    char *key;               /* SECRET */
    struct broker_link *link;
    char *host;
    int port;
    struct resolver_query *query;
    TAILQ_HEAD(, delivery) waiting; /* for the answer of the resolver */
    size_t n;                       /* deliveries that use it */
    int64_t mono_used;              /* ms */

    int n_failures;     /* to connect, in a row */
    int64_t mono_retry; /* ms; it is not tried before */
    char why[256];      /* the last one */
    int code;
};

/* One call of brokers_send(). The batch is the link's from give() to on_back(). */
struct delivery {
    struct broker_batch batch;
    struct brokers *brokers; /* NULL: they were freed */
    struct line *line;       /* NULL: none yet */
    TAILQ_ENTRY(delivery) in_all, next;
    uint64_t number;
    broker_done_fn *done;
    void *ctx;
    struct loop_timer *timer;
    int64_t mono_due;          /* of the timer; 0: it was put off once */
    struct broker_delivery to; /* strings in batch.arena */
    int n_posts;               /* messages to the loop that have it */
    bool is_answered, is_at_link;
};

struct brokers {
    struct brokers_cfg cfg;
    struct resolver *resolver;
    struct map lines; /* by key */
    TAILQ_HEAD(, delivery) all;
    uint64_t n_ever;
    struct loop_timer *sweep; /* NULL: there are no lines */
};

/* ---- deliveries -------------------------------------------------------------------------------
 */

static void line_leave(struct delivery *d)
{
    if (d->line == NULL)
        return;
    d->line->n--;
    d->line->mono_used = clock_mono_ms();
    d->line = NULL;
}

/* Free what was answered, unless a link or a message to the loop still has it. */
static void end_if_done(struct delivery *d)
{
    if (!d->is_answered || d->is_at_link)
        return;
    line_leave(d);
    if (d->n_posts > 0)
        return;
    mem_free(d->batch.states);
    arena_release(&d->batch.arena);
    mem_free(d);
}

/* Give the answer. The delivery goes on to exist until end_if_done(). */
static void answer(struct delivery *d, const struct broker_result *result)
{
    if (d->is_answered)
        return;
    d->is_answered = true;
    stats_add(STAT_work_pending, -1);
    if (d->timer != NULL)
        loop_timer_cancel(&d->timer);
    d->timer = NULL;
    if (d->brokers != NULL)
        TAILQ_REMOVE(&d->brokers->all, d, in_all);
    atomic_store(&d->batch.is_given_up, true);
    d->done(d->ctx, result);
}

static void answer_failure(struct delivery *d, enum rc rc, int code, const char *why,
                           int64_t pause_ms)
{
    struct broker_result result = {.rc = rc,
                                   .code = code,
                                   .err = why,
                                   .n_taken = atomic_load(&d->batch.n_taken),
                                   .pause_ms = pause_ms};

    answer(d, &result);
}

/* The broker has its pause. */
static void answer_untried(struct delivery *d, const struct line *line, int64_t pause_ms)
{
    struct broker_result result = {.rc = RC_PEER,
                                   .code = line->code,
                                   .err = line->why,
                                   .pause_ms = pause_ms,
                                   .is_untried = true};

    answer(d, &result);
}

/* It waits for an address, and will not get one. */
static void stop_waiting(struct delivery *d)
{
    if (d->line != NULL && !d->is_at_link && !d->is_answered)
        TAILQ_REMOVE(&d->line->waiting, d, next);
}

/* Why it is not done yet, as the beginning of a sentence. */
static const char *what_lacks(const struct delivery *d)
{
    return d->is_at_link ? broker_link_doing(d->line->link)
                         : "the name of the broker could not be resolved so far";
}

static void on_late(void *ctx);

/* Does the timer come much too late? Then the process stood still, and what the broker has
 * confirmed meanwhile is read first. */
static bool put_off(struct delivery *d)
{
    if (d->brokers == NULL || d->mono_due == 0 || clock_mono_ms() - d->mono_due < STALL_MS)
        return false;
    d->mono_due = 0;
    d->timer = loop_timer_start(d->brokers->cfg.loop, STALL_MS, on_late, d);
    return true;
}

static void on_late(void *ctx)
{
    struct delivery *d = ctx;
    const char *why = what_lacks(d);

    d->timer = NULL;
    if (put_off(d))
        return;
    if (d->is_at_link)
        broker_link_break_silent(d->line->link, d->batch.mono_given);
    else
        stop_waiting(d);
    answer_failure(d, RC_TIMEOUT, 0, why, 0);
    end_if_done(d);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static void line_free(struct line *line)
{
    broker_link_join(line->link, STOP_MS);
    broker_link_free(&line->link);
    mem_free(line->key);
    mem_free(line->host);
    mem_free(line);
}

/* The thread of the link has ended. */
static void on_ended(void *ctx)
{
    line_free(ctx);
}

/* Forget the line: its link ends, and then it is freed. */
static void line_close(struct line *line)
{
    if (line->query != NULL)
        resolver_cancel(&line->query);
    map_del(&line->brokers->lines, str_from(line->key));
    line->brokers = NULL;
    broker_link_stop(line->link);
}

static void on_sweep(void *ctx)
{
    struct brokers *b = ctx;
    int64_t now = clock_mono_ms();
    struct str key;
    void *it = NULL, *value;
    struct line *idle = NULL;

    b->sweep = NULL;
    do { /* one at a time, because the table must not change while it is read */
        idle = NULL;
        it = NULL;
        while (idle == NULL && map_next(&b->lines, &it, &key, &value)) {
            struct line *line = value;

            if (line->n == 0 && now - line->mono_used >= IDLE_MS && now >= line->mono_retry)
                idle = line;
        }
        if (idle != NULL)
            line_close(idle);
    } while (idle != NULL);
    if (map_count(&b->lines) > 0)
        b->sweep = loop_timer_start(b->cfg.loop, SWEEP_MS, on_sweep, b);
}

/* The link has given a batch back. */
static void on_back(void *ctx)
{
    struct broker_batch *batch = ctx;
    struct delivery *d = batch->owner;
    struct line *line = d->line;
    struct broker_result taken = {
        .rc = RC_OK, .code = REPLY_SUCCESS, .n_taken = atomic_load(&batch->n_taken)};

    d->is_at_link = false;
    if (batch->is_untried) { /* it tells nothing of the connection, and was answered before */
        ASSERT(d->is_answered);
    } else if (batch->first_failed == batch->n) {
        line->n_failures = 0;
        answer(d, &taken);
    } else if (!batch->is_unconnected) {
        line->n_failures = 0;
        answer_failure(d, batch->is_too_large ? RC_LIMIT : RC_PEER, batch->code, batch->err, 0);
    } else {
        int64_t now = clock_mono_ms(), pause = d->to.first_pause_ms;

        if (now >= line->mono_retry) { /* what failed with it counts as one failure */
            for (int i = 0; i < line->n_failures && pause < PAUSE_MAX_MS; i++)
                pause *= 2;
            line->n_failures++;
            line->mono_retry = now + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
        }
        snprintf(line->why, sizeof line->why, "%s", batch->err);
        line->code = batch->code;
        answer_failure(d, RC_PEER, batch->code, batch->err, line->mono_retry - now);
    }
    end_if_done(d);
}

static void give(struct line *line, struct delivery *d)
{
    d->is_at_link = true;
    broker_link_give(line->link, &d->batch);
}

static void fail_waiting(struct line *line, enum rc rc, const char *why)
{
    struct delivery *d;

    while ((d = TAILQ_FIRST(&line->waiting)) != NULL) {
        TAILQ_REMOVE(&line->waiting, d, next);
        answer_failure(d, rc, 0, why, 0);
        end_if_done(d);
    }
}

static void on_resolved(void *ctx, enum rc rc, const union address *found, size_t n,
                        const struct err *err)
{
    struct line *line = ctx;
    union address addrs[RESOLVER_ADDRS];
    struct delivery *d;
    size_t n_addrs = 0;

    line->query = NULL;
    if (rc != RC_OK) {
        fail_waiting(line, rc == RC_NOT_FOUND ? RC_PEER : rc, err->text);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!guard_allows(line->brokers->cfg.guard, &found[i].sa))
            continue;
        addrs[n_addrs] = found[i];
        if (found[i].sa.sa_family == AF_INET)
            addrs[n_addrs].v4.sin_port = htons((uint16_t)line->port);
        else
            addrs[n_addrs].v6.sin6_port = htons((uint16_t)line->port);
        n_addrs++;
    }
    if (n_addrs == 0) {
        fail_waiting(line, RC_DENIED,
                     "the address of the broker is private or special, which is closed");
        return;
    }
    broker_link_aim(line->link, addrs, n_addrs);
    while ((d = TAILQ_FIRST(&line->waiting)) != NULL) {
        TAILQ_REMOVE(&line->waiting, d, next);
        give(line, d);
    }
}

static char *key_of(const struct broker_delivery *to)
{
    struct buf b = BUF_INIT(BUF_ANY);
    size_t len;

    buf_printf(&b, "%d:%d:%zu:%zu:%zu:", to->is_tls, to->port, to->host.len, to->vhost.len,
               to->user.len);
    buf_str(&b, to->host);
    buf_str(&b, to->vhost);
    buf_str(&b, to->user);
    buf_str(&b, to->password);
    buf_putc(&b, '\0');
    return buf_detach(&b, &len);
}

/* Is it better to close this line than the other one? Brokers that are away go first, so that they
 * do not cost one that works its connection; then what was not used for longest. */
static bool goes_first(const struct line *line, const struct line *other)
{
    bool is_up = broker_link_is_up(line->link), other_is_up = broker_link_is_up(other->link);

    return is_up == other_is_up ? line->mono_used < other->mono_used : other_is_up;
}

/* Close a line that nobody uses. False: all are in use. */
static bool make_room(struct brokers *b)
{
    struct line *first = NULL;
    struct str key;
    void *it = NULL, *value;

    if (map_count(&b->lines) < LINKS_MAX)
        return true;
    while (map_next(&b->lines, &it, &key, &value)) {
        struct line *line = value;

        if (line->n == 0 && (first == NULL || goes_first(line, first)))
            first = line;
    }
    if (first != NULL)
        line_close(first);
    return first != NULL;
}

/* Returns the line of a delivery, which may be new; NULL: there is no room for one. */
static struct line *line_for(struct brokers *b, const struct broker_delivery *to)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *key = key_of(to);
    struct line *line = map_get(&b->lines, str_from(key));
    bool is_bracketed = to->host.len > 2 && to->host.ptr[0] == '[';
    struct broker_link_cfg cfg = {
        .loop = b->cfg.loop,
        .guard = b->cfg.guard,
        .host = str_z(&a, is_bracketed ? str_slice(to->host, 1, to->host.len - 1) : to->host),
        .is_tls = to->is_tls,
        .vhost = str_z(&a, to->vhost),
        .user = str_z(&a, to->user),
        .password = str_z(&a, to->password),
        .timeout_ms = to->connect_timeout_ms,
        .back = on_back,
        .ended = on_ended,
    };

    if (line != NULL || !make_room(b)) {
        mem_free(key);
        return line;
    }
    line = NEW(struct line);
    cfg.ctx = line;
    line->link = broker_link_new(&cfg);
    if (line->link == NULL) {
        mem_free(key);
        mem_free(line);
        return NULL;
    }
    line->brokers = b;
    line->key = key;
    line->host = mem_strndup(to->host.ptr, to->host.len);
    line->port = to->port;
    TAILQ_INIT(&line->waiting);
    map_put(&b->lines, str_from(key), line);
    if (b->sweep == NULL)
        b->sweep = loop_timer_start(b->cfg.loop, SWEEP_MS, on_sweep, b);
    return line;
}

/* Bring the delivery on its way. */
static void start(struct delivery *d)
{
    struct brokers *b = d->brokers;
    struct line *line = line_for(b, &d->to);
    union address addr;
    int64_t pause;

    if (line == NULL) {
        answer_failure(d, RC_FULL, 0, "there is no room for another connection to a broker", 0);
        return;
    }
    pause = line->mono_retry - clock_mono_ms();
    if (line->n_failures > 0 && pause > 0 && !d->to.is_asked) {
        answer_untried(d, line, pause);
        return;
    }
    d->mono_due = clock_mono_ms() + d->to.timeout_ms;
    d->timer = loop_timer_start(b->cfg.loop, d->to.timeout_ms, on_late, d);
    d->line = line;
    line->n++;
    if (broker_link_is_up(line->link)) {
        give(line, d);
        return;
    }
    TAILQ_INSERT_TAIL(&line->waiting, d, next);
    if (line->query != NULL)
        return;
    if (resolver_numeric(str_from(line->host), &addr))
        on_resolved(line, RC_OK, &addr, 1, NULL);
    else
        line->query = resolver_ask(b->resolver, str_from(line->host), on_resolved, line);
}

static void on_start(void *ctx)
{
    struct delivery *d = ctx;

    if (!d->is_answered)
        start(d);
    d->n_posts--;
    end_if_done(d);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

struct brokers *brokers_new(const struct brokers_cfg *cfg)
{
    struct brokers *b = NEW(struct brokers);

    b->cfg = *cfg;
    b->resolver = resolver_new(loop_base(cfg->loop), NULL);
    TAILQ_INIT(&b->all);
    return b;
}

static struct delivery *delivery_new(const struct broker_delivery *to)
{
    struct delivery *d = NEW(struct delivery);
    struct arena *a = &d->batch.arena;
    struct broker_message *messages = ARENA_ARRAY(a, struct broker_message, to->n + 1);

    d->to = *to;
    d->to.host = str_dup(a, to->host);
    d->to.vhost = str_dup(a, to->vhost);
    d->to.user = str_dup(a, to->user);
    d->to.password = str_dup(a, to->password);
    for (size_t i = 0; i < to->n; i++) {
        struct str *strings[] = {
            &messages[i].key,         &messages[i].body,   &messages[i].type,    &messages[i].id,
            &messages[i].prev_cursor, &messages[i].cursor, &messages[i].feed_url};

        messages[i] = to->messages[i];
        for (size_t k = 0; k < ARRAY_LEN(strings); k++)
            if (!str_is_null(*strings[k]))
                *strings[k] = str_dup(a, *strings[k]);
    }
    d->batch.messages = d->to.messages = messages;
    d->batch.n = d->batch.n_open = d->batch.first_failed = to->n;
    d->batch.exchange = str_dup(a, to->exchange);
    d->batch.declares = to->declares;
    d->batch.states = mem_zalloc(to->n + 1);
    d->batch.owner = d;
    return d;
}

uint64_t brokers_send(struct brokers *b, const struct broker_delivery *to, broker_done_fn *done,
                      void *ctx)
{
    struct delivery *d = delivery_new(to);

    ASSERT(to->n > 0);
    d->brokers = b;
    d->number = ++b->n_ever;
    d->done = done;
    d->ctx = ctx;
    d->n_posts = 1;
    stats_add(STAT_work_pending, 1);
    TAILQ_INSERT_TAIL(&b->all, d, in_all);
    loop_post(b->cfg.loop, on_start, d);
    return d->number;
}

static void cancel(struct delivery *d)
{
    const char *why;

    if (d->is_answered)
        return;
    why = what_lacks(d);
    stop_waiting(d);
    answer_failure(d, RC_CLOSED, 0, why, 0);
}

static void on_cancel(void *ctx)
{
    struct delivery *d = ctx;

    cancel(d);
    d->n_posts--;
    end_if_done(d);
}

void brokers_cancel(struct brokers *b, uint64_t number)
{
    struct delivery *d = TAILQ_FIRST(&b->all);

    while (d != NULL && d->number != number)
        d = TAILQ_NEXT(d, in_all);
    if (d == NULL)
        return;
    d->n_posts++;
    loop_post(b->cfg.loop, on_cancel, d);
}

void brokers_free(struct brokers **bp)
{
    struct brokers *b = *bp;
    int64_t until = clock_mono_ms() + STOP_MS;
    struct delivery *d;
    struct str key;
    void *it = NULL, *value;

    *bp = NULL;
    if (b == NULL)
        return;
    while ((d = TAILQ_FIRST(&b->all)) != NULL) {
        cancel(d);
        d->brokers = NULL;
        end_if_done(d);
    }
    if (b->sweep != NULL)
        loop_timer_cancel(&b->sweep);
    while (map_next(&b->lines, &it, &key, &value)) {
        struct line *line = value;

        if (line->query != NULL)
            resolver_cancel(&line->query);
        line->brokers = NULL;
        broker_link_stop(line->link);
    }
    it = NULL;
    while (map_next(&b->lines, &it, &key, &value))
        broker_link_join(((struct line *)value)->link, until - clock_mono_ms());
    map_release(&b->lines, NULL); /* on_ended() frees them */
    resolver_free(&b->resolver);
    mem_free(b);
}
