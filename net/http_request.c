/* net/http_request.c - a request as its handler sees it, holding, and the reply. */
#include <stdio.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/http_server_priv.h"

/* ---- life ---- */

struct http_request *request_new(struct connection *c)
{
    struct server_loop *sl = c->sl;
    struct http_request *r = LIST_FIRST(&sl->kept);

    if (r != NULL) {
        LIST_REMOVE(r, link);
        sl->n_kept--;
    } else {
        r = mem_alloc(sizeof *r);
    }
    memset(r, 0, offsetof(struct http_request, fields_room));
    r->conn = c;
    r->sl = sl;
    r->fields = r->fields_room;
    r->fields_cap = REQUEST_FIELDS_ROOM;
    return r;
}

static void unhold(struct http_request *r)
{
    struct held_slot *slot;
    uint32_t index;

    if (r->serial == 0)
        return;
    index = (uint32_t)r->serial - 1;
    slot = &r->sl->slots[index];
    slot->req = NULL;
    slot->generation++;
    slot->next_free = r->sl->free_slot;
    r->sl->free_slot = index + 1;
    r->serial = 0;
    loop_timer_cancel(&r->deadline);
    stats_add(STAT_http_held, -1);
}

void request_free(struct http_request *r)
{
    struct server_loop *sl = r->sl;

    unhold(r);
    arena_release(&r->arena);
    sl->bodies_len -= r->body.len;
    buf_release(&r->body);
    if (sl->n_kept < REQUESTS_KEPT) {
        LIST_INSERT_HEAD(&sl->kept, r, link);
        sl->n_kept++;
    } else {
        mem_free(r);
    }
}

void request_abandon(struct http_request *r)
{
    uint64_t serial = r->serial;
    http_gone_fn *gone = r->gone;
    void *ctx = r->ctx;

    r->conn = NULL;
    if (serial == 0) {
        LIST_INSERT_HEAD(&r->sl->orphans, r, link);
        return;
    }
    unhold(r); /* first, so that the callback cannot find and answer the request */
    if (gone != NULL)
        gone(ctx, serial);
    request_free(r);
}

void request_free_all(struct server_loop *sl)
{
    struct http_request *r;

    while ((r = LIST_FIRST(&sl->orphans)) != NULL) {
        LIST_REMOVE(r, link);
        request_free(r);
    }
    while ((r = LIST_FIRST(&sl->kept)) != NULL) {
        LIST_REMOVE(r, link);
        mem_free(r);
    }
    sl->n_kept = 0;
    mem_free(sl->slots);
}

/* ---- the view ---- */

struct str http_request_method(const struct http_request *r)
{
    return r->method;
}

struct str http_request_target(const struct http_request *r)
{
    return r->target;
}

struct str http_request_path(const struct http_request *r)
{
    return r->path;
}

struct str http_request_query(const struct http_request *r)
{
    return r->query;
}

struct str http_request_body(const struct http_request *r)
{
    return buf_view(&r->body);
}

struct str http_request_field(const struct http_request *r, const char *name)
{
    struct str wanted = str_from(name), value = STR_NULL;

    for (size_t i = 0; i < r->n_fields; i++) {
        const struct request_field *f = &r->fields[i];
        if (!str_eq(f->name, wanted))
            continue;
        /* Joined values are allocated in the arena, so the const of the request is cast away. */
        value = str_is_null(value) ? f->value
                                   : str_printf(&((struct http_request *)r)->arena, "%.*s, %.*s",
                                                STR_ARG(value), STR_ARG(f->value));
    }
    return value;
}

struct str http_request_host(const struct http_request *r)
{
    return r->host;
}

const struct sockaddr *http_request_peer(const struct http_request *r)
{
    static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

    return r->conn != NULL ? &r->conn->peer.sa : &nobody;
}

/* ---- the id ---- */

struct str request_make_id(struct server_loop *sl, char room[REQUEST_ID_MADE])
{
    /* SplitMix64 (Steele, Lea, Flood 2014): no number comes twice, and none looks like the next */
    uint64_t z = sl->id_seed += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    for (size_t i = 0; i < REQUEST_ID_MADE; i++, z >>= 4)
        room[i] = "0123456789abcdef"[z & 15];
    return str_of(room, REQUEST_ID_MADE);
}

static bool is_id(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!ascii_is_alnum(s.ptr[i]) &&
            (s.ptr[i] == '\0' || strchr("-._~:/+=@", s.ptr[i]) == NULL))
            return false;
    return s.len > 0 && s.len <= LOG_REQUEST_MAX;
}

void request_set_id(struct http_request *r)
{
    struct str given = http_request_field(r, "x-request-id");

    r->id = is_id(given) ? given : request_make_id(r->sl, r->id_room);
}

struct str http_request_id(const struct http_request *r)
{
    return r->id;
}

void http_request_set_own(struct http_request *r, void *own)
{
    r->own = own;
}

void *http_request_own(const struct http_request *r)
{
    return r->own;
}

struct arena *http_request_arena(struct http_request *r)
{
    return &r->arena;
}

struct loop *http_request_loop(struct http_request *r)
{
    return r->sl->loop;
}

/* ---- holding ---- */

static struct held_slot *slot_of(struct server_loop *sl, uint64_t serial)
{
    uint64_t index = (serial & UINT32_MAX) - 1; /* 0 becomes huge */
    struct held_slot *slot;

    if (index >= sl->n_slots)
        return NULL;
    slot = &sl->slots[index];
    return slot->req != NULL && slot->generation == serial >> 32 ? slot : NULL;
}

static void on_held_late(void *arg)
{
    struct http_request *r = arg;
    struct server_loop *sl = r->sl;
    uint64_t serial = r->serial;

    r->deadline = NULL;
    if (r->late != NULL)
        r->late(r->ctx, serial);
    if (slot_of(sl, serial) == NULL || r->deadline != NULL)
        return;
    /* nobody has answered; the client must not wait for ever */
    http_reply(r, 504, STR(PROBLEM_FIELDS),
               blob_copy(STR("{\"type\":\"about:blank\",\"title\":\"Gateway Timeout\","
                             "\"status\":504,\"detail\":\"no answer was ready in time\"}\n")));
}

/* The service stops. What only reads can be asked for again; a write may have been done. */
static void reply_stopped(struct http_request *r)
{
    bool reads = str_eqz(r->method, "GET") || str_eqz(r->method, "HEAD");

    if (reads)
        http_reply(r, 503, STR(PROBLEM_FIELDS "Retry-After: 1\r\n"),
                   blob_copy(STR("{\"type\":\"about:blank\",\"title\":\"Service Unavailable\","
                                 "\"status\":503,\"detail\":\"the service stops; ask again\"}\n")));
    else
        http_reply(r, 503, STR(PROBLEM_FIELDS),
                   blob_copy(STR("{\"type\":\"about:blank\",\"title\":\"Service Unavailable\","
                                 "\"status\":503,\"detail\":\"the service stops, and whether "
                                 "this was done is not known\"}\n")));
}

void request_hurry(struct http_request *r, bool is_last)
{
    struct server_loop *sl = r->sl;
    uint64_t serial = r->serial;

    loop_timer_cancel(&r->deadline);
    on_held_late(r);
    if (!is_last || slot_of(sl, serial) == NULL)
        return;
    if (r->gone != NULL) /* its holder would go on waiting */
        r->gone(r->ctx, serial);
    if (slot_of(sl, serial) != NULL)
        reply_stopped(r);
}

uint64_t http_request_hold(struct http_request *r, http_gone_fn *gone, http_gone_fn *late,
                           int64_t deadline_ms, void *ctx)
{
    struct server_loop *sl = r->sl;
    struct held_slot *slot;
    uint32_t index;

    ASSERT(r->conn != NULL);
    if (r->serial == 0) {
        if (sl->free_slot == 0) {
            sl->slots = mem_grow(sl->slots, &sl->slots_cap, sl->n_slots + 1, sizeof *sl->slots);
            sl->slots[sl->n_slots++] = (struct held_slot){NULL, 0, 0};
            sl->free_slot = (uint32_t)sl->n_slots;
        }
        index = sl->free_slot - 1;
        slot = &sl->slots[index];
        sl->free_slot = slot->next_free;
        slot->req = r;
        r->serial = (uint64_t)slot->generation << 32 | (index + 1);
        stats_add(STAT_http_held, 1);
    }
    r->gone = gone;
    r->late = late;
    r->ctx = ctx;
    loop_timer_cancel(&r->deadline);
    if (deadline_ms > 0)
        r->deadline = loop_timer_start(sl->loop, deadline_ms, on_held_late, r);
    return r->serial;
}

struct http_request *http_request_find(struct loop *l, uint64_t serial)
{
    struct server_loop *sl = loop_owner(l);
    struct held_slot *slot;

    ASSERT(loop_is_own(l));
    slot = sl != NULL ? slot_of(sl, serial) : NULL;
    return slot != NULL ? slot->req : NULL;
}

/* ---- the reply ---- */

size_t http_reply_head_max(struct str fields)
{
    return fields.len + 420; /* status line, Date, X-Request-Id, Content-Length, Connection */
}

static char *put(char *at, struct str s)
{
    if (s.len > 0)
        memcpy(at, s.ptr, s.len);
    return at + s.len;
}

static char *put_number(char *at, uint64_t n)
{
    char digits[20];
    size_t k = sizeof digits;

    do {
        digits[--k] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return put(at, str_of(digits + k, sizeof digits - k));
}

static struct str date_line(struct server_loop *sl)
{
    int64_t now = clock_now_s();
    char date[CLOCK_TEXT];

    if (now != sl->date_at || sl->date_len == 0) {
        clock_http_date(now, date);
        sl->date_len = (size_t)snprintf(sl->date_line, sizeof sl->date_line, "Date: %s\r\n", date);
        sl->date_at = now;
    }
    return str_of(sl->date_line, sl->date_len);
}

static struct str reason(int status)
{
    switch (status) {
    case 200: /* the most frequent ones do not need the library's switch */
        return STR("OK");
    case 304:
        return STR("Not Modified");
    default:
        return str_from(http_status_str((enum http_status)status));
    }
}

size_t http_reply_head(struct server_loop *sl, char *out, int status, struct str id,
                       struct str fields, enum framing framing, size_t body_len, bool close,
                       bool say_keep)
{
    char *at = out;

    at = put(at, STR("HTTP/1.1 "));
    at = put_number(at, (uint64_t)status);
    at = put(at, STR(" "));
    at = put(at, reason(status));
    at = put(at, STR("\r\n"));
    at = put(at, date_line(sl));
    at = put(at, STR("X-Request-Id: "));
    at = put(at, id);
    at = put(at, STR("\r\n"));
    at = put(at, fields);
    if (framing == FRAMED_BY_CHUNKS) {
        at = put(at, STR("Transfer-Encoding: chunked\r\n"));
    } else if (framing == FRAMED_BY_LENGTH && status >= 200 && status != 204 && status != 304) {
        at = put(at, STR("Content-Length: "));
        at = put_number(at, body_len);
        at = put(at, STR("\r\n"));
    }
    if (close)
        at = put(at, STR("Connection: close\r\n"));
    else if (say_keep)
        at = put(at, STR("Connection: keep-alive\r\n"));
    at = put(at, STR("\r\n"));
    return (size_t)(at - out);
}

void http_reply(struct http_request *r, int status, struct str fields, struct blob *body)
{
    struct connection *c = r->conn;

    ASSERT(status >= 200 && status <= 599);
    ASSERT(loop_is_own(r->sl->loop));
    if (c == NULL) { /* the client left, and the handler did not hold the request */
        LIST_REMOVE(r, link);
        request_free(r);
        blob_unref(&body);
        return;
    }
    ASSERT(c->req == r && c->state == CONN_HANDLED);
    connection_reply(c, status, fields, body, r->is_head);
}

void http_reply_file(struct http_request *r, int status, struct str fields, int fd, int64_t at,
                     int64_t len)
{
    struct connection *c = r->conn;

    if (c == NULL || len == 0) {
        close(fd);
    } else {
        c->has_file = true;
        c->file_fd = fd;
        c->file_at = at;
        c->file_left = len;
    }
    http_reply(r, status, fields, NULL);
}

struct http_stream *http_reply_stream(struct http_request *r, int status, struct str fields,
                                      http_stream_fn *room, http_stream_fn *gone, void *ctx)
{
    struct connection *c = r->conn;

    ASSERT(status == 200);
    ASSERT(loop_is_own(r->sl->loop));
    if (c == NULL) { /* as in http_reply() */
        LIST_REMOVE(r, link);
        request_free(r);
        return NULL;
    }
    ASSERT(c->req == r && c->state == CONN_HANDLED);
    return stream_new(c, status, fields, room, gone, ctx);
}
