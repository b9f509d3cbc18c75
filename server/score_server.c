/* server/score_server.c - one lock around the publisher and its record; the loops of the three
 * servers take it for each request. */
#include "server/score_server.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_server.h"

#define REQUESTS_MAX 2000000 /* what is more is answered, and not kept */
#define HELD_MS 60000

struct host {
    struct score_server *server;
    enum score_host id;
    struct http_server *http;
    char authority[32];
};

struct score_server {
    struct host hosts[SCORE_HOSTS];
    pthread_mutex_t lock; /* guards what follows */
    struct score_origin origin;
    struct score_record rec;
    double speed;
    int64_t since_ms; /* steady time at which this speed began, */
    int64_t ahead_us; /* and how far the clock was ahead then */
};

/* An answer that is given later. */
struct held {
    struct host *host;
    size_t row;
    struct str fields, body;
};

static int64_t now_locked(struct score_server *s)
{
    double more_ms = (double)(clock_steady_ms() - s->since_ms) * (s->speed - 1);

    clock_set_ahead_us(s->ahead_us + (int64_t)(more_ms * 1000));
    return clock_now_us();
}

int64_t score_server_now(struct score_server *s)
{
    int64_t now;

    pthread_mutex_lock(&s->lock);
    now = now_locked(s);
    pthread_mutex_unlock(&s->lock);
    return now;
}

void score_server_set_speed(struct score_server *s, double speed)
{
    pthread_mutex_lock(&s->lock);
    now_locked(s);
    s->ahead_us = clock_ahead_us();
    s->since_ms = clock_steady_ms();
    s->speed = s->rec.speed = speed;
    pthread_mutex_unlock(&s->lock);
}

void score_server_set_ahead(struct score_server *s, int64_t ahead_us)
{
    pthread_mutex_lock(&s->lock);
    s->ahead_us = ahead_us;
    now_locked(s);
    pthread_mutex_unlock(&s->lock);
}

int64_t score_server_began(struct score_server *s)
{
    int64_t began;

    pthread_mutex_lock(&s->lock);
    began = s->origin.began;
    pthread_mutex_unlock(&s->lock);
    return began;
}

void score_server_list(struct score_server *s, const char *before, const char *after,
                       struct buf *out)
{
    score_origin_list(&s->origin, before, after, out);
}

/* ---- a request ---- */

/* Null: the field is absent, or is too long for a record. */
static struct str field(struct score_server *s, struct http_request *r, const char *name)
{
    struct str value = http_request_field(r, name);

    return value.len > 1024 ? STR("(long)") : str_dup(&s->rec.arena, value);
}

static struct score_request read_request(struct host *h, struct http_request *r, bool is_kept)
{
    struct score_server *s = h->server;
    struct score_request q = {.host = h->id, .at = now_locked(s)};

    q.path = http_request_target(r);
    if (!is_kept)
        return q;
    q.path = str_dup(&s->rec.arena, str_beginning(q.path, 256));
    q.agent = field(s, r, "user-agent");
    q.coding = field(s, r, "accept-encoding");
    q.none_match = field(s, r, "if-none-match");
    q.since = field(s, r, "if-modified-since");
    q.cookie = field(s, r, "cookie");
    q.auth = field(s, r, "authorization");
    return q;
}

static void end_row(struct score_server *s, size_t row)
{
    pthread_mutex_lock(&s->lock);
    if (row < s->rec.n)
        s->rec.rows[row].end = now_locked(s);
    pthread_mutex_unlock(&s->lock);
}

static void reply(struct http_request *r, const struct held *held, int status)
{
    end_row(held->host->server, held->row);
    http_reply(r, status, held->fields, held->body.len > 0 ? blob_copy(held->body) : NULL);
}

struct late {
    struct loop *loop;
    struct held held;
    int status;
};

static void on_late(void *ctx, uint64_t serial)
{
    struct late *late = ctx;
    struct http_request *r = http_request_find(late->loop, serial);

    if (r != NULL)
        reply(r, &late->held, late->status);
}

static void reply_in(struct http_request *r, const struct held *held, int status, int64_t ms)
{
    struct late *late = arena_zalloc(http_request_arena(r), sizeof *late);

    *late = (struct late){http_request_loop(r), *held, status};
    http_request_hold(r, NULL, on_late, ms, late);
}

static void on_request(void *ctx, struct http_request *r)
{
    struct host *h = ctx;
    struct score_server *s = h->server;
    AUTO(buf_release) struct buf fields = BUF_INIT(BUF_ANY), body = BUF_INIT(BUF_ANY);
    struct score_request q;
    struct held held = {.host = h};
    int64_t ms;
    bool is_kept;

    pthread_mutex_lock(&s->lock);
    is_kept = s->rec.n < REQUESTS_MAX;
    q = read_request(h, r, is_kept);
    ms = score_origin_answer(&s->origin, is_kept ? &s->rec.arena : http_request_arena(r), &q,
                             &fields, &body);
    q.end = q.at;
    held.row = s->rec.n;
    if (is_kept)
        score_record_add(&s->rec, &q);
    pthread_mutex_unlock(&s->lock);
    held.fields = str_dup(http_request_arena(r), buf_view(&fields));
    held.body = str_dup(http_request_arena(r), buf_view(&body));
    if (ms > 0)
        reply_in(r, &held, q.status, ms);
    else
        reply(r, &held, q.status);
}

/* ---- start and stop ---- */

static enum rc listen_on(struct host *h, struct err *err)
{
    static const char *const addresses[SCORE_HOSTS] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
    char at[32];
    struct http_server_cfg cfg = {
        .n_loops = 1,
        .max_connections = 1024,
        .max_header = LIMIT_REQUEST_HEADER,
        .max_body = LIMIT_REQUEST_HEADER,
        .header_ms = HELD_MS,
        .body_ms = HELD_MS,
        .idle_ms = HELD_MS,
        .write_ms = HELD_MS,
        .stall_ms = HELD_MS,
        .max_unsent = (size_t)64 << 20,
    };
    enum rc rc;

    snprintf(at, sizeof at, "%s:0", addresses[h->id]);
    cfg.listen = str_from(at);
    if ((rc = http_server_new(&cfg, on_request, h, &h->http, err)) != RC_OK)
        return rc;
    snprintf(h->authority, sizeof h->authority, "%s:%d", addresses[h->id],
             http_server_port(h->http));
    h->server->origin.authority[h->id] = h->authority;
    return RC_OK;
}

enum rc score_server_start(struct score_server **out, struct err *err)
{
    struct score_server *s = NEW(struct score_server);
    enum rc rc = RC_OK;

    *s = (struct score_server){.rec = SCORE_RECORD_INIT, .speed = 1, .since_ms = clock_steady_ms()};
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    for (int i = 0; i < SCORE_HOSTS && rc == RC_OK; i++) {
        s->hosts[i].server = s;
        s->hosts[i].id = (enum score_host)i;
        rc = listen_on(&s->hosts[i], err);
    }
    for (int i = 0; i < SCORE_HOSTS && rc == RC_OK; i++)
        http_server_start(s->hosts[i].http);
    return rc;
}

void score_server_stop(struct score_server **sp, struct score_record *rec)
{
    struct score_server *s = *sp;

    *sp = NULL;
    for (int i = 0; i < SCORE_HOSTS; i++)
        if (s->hosts[i].http != NULL)
            http_server_stop(s->hosts[i].http, 0);
    for (int i = 0; i < SCORE_HOSTS; i++)
        if (s->hosts[i].http != NULL)
            http_server_free(&s->hosts[i].http);
    *rec = s->rec;
    rec->ended = now_locked(s);
    score_record_sort(rec);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
