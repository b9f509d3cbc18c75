/* net/http_stream.c - a reply in pieces: what waits for the kernel, and whether the client reads.
 *
 * A piece is a blob that many streams may share; only its framing is the stream's own, and that is
 * written anew for each call of the kernel. The kernel reports room only when a third of its buffer
 * is free, which may take a slow client minutes. So progress is seen in the bytes that the client
 * has acknowledged.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/http_server_priv.h"

#define PIECES_AT_ONCE 64 /* given to the kernel in one call */
#define CHUNK_HEAD 20     /* a size in hex, and CR LF */
#define PIECES_KEPT 8     /* room for pieces that an idle stream keeps */

enum piece_kind { PIECE_HEAD, PIECE_BODY, PIECE_LAST };

struct piece {
    struct blob *blob;
    unsigned char kind;
    bool counted; /* part of http_server.unsent */
};

struct http_stream {
    struct connection *conn;
    http_stream_fn *room, *gone; /* NULL: the owner has ended the stream */
    void *ctx;
    struct piece *pieces;
    size_t first, n, cap;
    size_t at;                /* bytes of the first piece that the kernel has, framing included */
    size_t unsent;            /* bytes of blobs that wait */
    int64_t progress_mono_ms; /* when the client was last seen to have acknowledged more */
    int64_t blocked_mono_ms;  /* since when something waits ... */
    int64_t blocked_at;       /* ... and what was acknowledged then */
    bool is_chunked, is_blocked, ended, broken;
    bool owes_room; /* a piece of the owner had to wait, and it was not told yet that none does */
};

/* ---- pieces ---- */

static void count_piece(struct http_stream *s, struct piece *p)
{
    struct server_loop *sl = s->conn->sl;
    size_t len;

    if (p->counted || p->kind != PIECE_BODY)
        return;
    len = blob_send_begin(p->blob);
    p->counted = true;
    stats_add(STAT_http_unsent_bytes, (int64_t)len);
    if (atomic_fetch_add(&sl->server->unsent, len) + len > sl->server->cfg.max_unsent && len > 0)
        s->broken = true; /* its client is a slow one, and there is no memory left for those */
}

static void drop_piece(struct http_stream *s)
{
    struct piece *p = &s->pieces[s->first];

    if (p->kind == PIECE_BODY)
        s->unsent -= blob_bytes(p->blob).len;
    if (p->counted)
        server_unsent_drop(s->conn->sl, blob_send_end(p->blob));
    blob_unref(&p->blob);
    s->first++;
    s->n--;
    s->at = 0;
    if (s->n > 0)
        return;
    s->first = 0;
    if (s->cap > PIECES_KEPT) {
        mem_free(s->pieces);
        s->pieces = NULL;
        s->cap = 0;
    }
}

static void add_piece(struct http_stream *s, struct blob *blob, enum piece_kind kind)
{
    if (s->first > 0 && s->first + s->n == s->cap) {
        memmove(s->pieces, s->pieces + s->first, s->n * sizeof *s->pieces);
        s->first = 0;
    }
    s->pieces = mem_grow(s->pieces, &s->cap, s->first + s->n + 1, sizeof *s->pieces);
    s->pieces[s->first + s->n++] = (struct piece){.blob = blob, .kind = (unsigned char)kind};
    if (kind == PIECE_BODY)
        s->unsent += blob_bytes(blob).len;
}

/* ---- sending ---- */

static size_t add_part(struct iovec *parts, size_t n, struct str bytes, size_t *skip)
{
    if (*skip >= bytes.len) {
        *skip -= bytes.len;
        return n;
    }
    parts[n] = (struct iovec){(char *)bytes.ptr + *skip, bytes.len - *skip};
    *skip = 0;
    return n + 1;
}

/* The bytes of a piece as iovecs, without the first *skip. `head` is room for its framing. */
static size_t add_parts(const struct http_stream *s, const struct piece *p, char head[CHUNK_HEAD],
                        struct iovec *parts, size_t n, size_t *skip)
{
    bool framed = s->is_chunked && p->kind != PIECE_HEAD;
    struct str bytes = blob_bytes(p->blob);

    if (framed) {
        int len = snprintf(head, CHUNK_HEAD, "%zx\r\n", bytes.len);

        n = add_part(parts, n, str_of(head, (size_t)len), skip);
    }
    n = add_part(parts, n, bytes, skip);
    return framed ? add_part(parts, n, STR("\r\n"), skip) : n;
}

static size_t piece_len(const struct http_stream *s, const struct piece *p)
{
    struct iovec parts[3];
    char head[CHUNK_HEAD];
    size_t skip = 0, len = 0, n = add_parts(s, p, head, parts, 0, &skip);

    for (size_t i = 0; i < n; i++)
        len += parts[i].iov_len;
    return len;
}

/* The kernel took so many bytes. */
static void consume(struct http_stream *s, size_t sent)
{
    s->conn->out_given += (int64_t)sent;
    while (s->n > 0) {
        size_t left = piece_len(s, &s->pieces[s->first]) - s->at;

        if (sent < left) {
            s->at += sent;
            return;
        }
        sent -= left;
        drop_piece(s);
    }
}

/* Give the kernel what it takes. False: the connection is broken. */
static bool push_pieces(struct http_stream *s)
{
    char heads[PIECES_AT_ONCE][CHUNK_HEAD];
    struct iovec parts[3 * PIECES_AT_ONCE];

    while (s->n > 0) {
        struct msghdr msg = {.msg_iov = parts};
        size_t skip = s->at;
        ssize_t sent;

        for (size_t i = 0; i < s->n && i < PIECES_AT_ONCE; i++)
            msg.msg_iovlen =
                add_parts(s, &s->pieces[s->first + i], heads[i], parts, msg.msg_iovlen, &skip);
        do
            sent = sendmsg(s->conn->fd, &msg, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        consume(s, (size_t)sent);
    }
    return true;
}

/* Something waits now, or nothing does any more. */
static void note_blocked(struct http_stream *s)
{
    struct connection *c = s->conn;

    if (s->n > 0 && !s->is_blocked) {
        s->blocked_mono_ms = c->sl->now_mono_ms;
        s->blocked_at = connection_bytes_read(c);
    }
    s->is_blocked = s->n > 0;
    for (size_t i = 0; i < s->n; i++)
        count_piece(s, &s->pieces[s->first + i]);
}

/* Begin to look whether the client reads, if nobody looks yet: all that was given before is
 * acknowledged then. */
static void begin_looking(struct http_stream *s)
{
    struct connection *c = s->conn;

    if (c->deadline == DEADLINE_STREAM || c->deadline == DEADLINE_SOON)
        return;
    c->out_read = c->out_given;
    s->progress_mono_ms = c->sl->now_mono_ms;
}

/* Send now, outside a run of the connection. What ends it is left to a run of its own: the owner
 * may be walking over its streams. */
static void send_now(struct http_stream *s)
{
    struct connection *c = s->conn;

    server_set_now(c->sl);
    begin_looking(s);
    if (!s->is_blocked && !push_pieces(s))
        s->broken = true;
    note_blocked(s);
    if (stream_deadline(c) != c->deadline)
        server_set_deadline(c, stream_deadline(c));
    connection_update_events(c);
}

bool stream_step(struct connection *c, bool *ended)
{
    struct http_stream *s = c->stream;

    begin_looking(s);
    do {
        if (s->broken || !push_pieces(s))
            return false;
        note_blocked(s);
        if (s->is_blocked || !s->owes_room || s->room == NULL)
            break;
        s->owes_room = false;
        s->room(s->ctx);
    } while (s->n > 0);
    *ended = s->ended && s->n == 0;
    return !s->broken;
}

void http_stream_send(struct http_stream *s, struct blob *const *pieces, size_t n)
{
    ASSERT(loop_is_own(s->conn->sl->loop) && !s->ended);
    for (size_t i = 0; i < n; i++) {
        struct blob *blob = pieces[i];

        if (s->broken)
            blob_unref(&blob);
        else
            add_piece(s, blob, PIECE_BODY);
    }
    if (!s->conn->running && !s->broken)
        send_now(s);
    s->owes_room = s->n > 0;
}

size_t http_stream_unsent(const struct http_stream *s)
{
    return s->unsent;
}

void http_stream_end(struct http_stream *s)
{
    struct connection *c = s->conn;

    ASSERT(loop_is_own(c->sl->loop) && !s->ended);
    s->ended = true;
    s->room = s->gone = NULL;
    if (s->is_chunked)
        add_piece(s, NULL, PIECE_LAST);
    if (c->sl->stopping)
        c->close_after = true;
    if (!c->running)
        send_now(s);
}

/* ---- deadlines ---- */

bool stream_is_blocked(const struct connection *c)
{
    return c->stream->n > 0;
}

enum deadline_kind stream_deadline(const struct connection *c)
{
    const struct http_stream *s = c->stream;

    if (s->broken || (s->ended && s->n == 0)) /* connection_run() does what follows from it */
        return DEADLINE_SOON;
    return s->n > 0 || c->out_read < c->out_given ? DEADLINE_STREAM : DEADLINE_NONE;
}

bool stream_reads_on(struct connection *c)
{
    struct http_stream *s = c->stream;
    int64_t n = connection_bytes_read(c), now = c->sl->now_mono_ms;

    if (n > c->out_read) {
        c->out_read = n;
        s->progress_mono_ms = now;
    }
    if (now - s->progress_mono_ms < c->sl->server->cfg.stall_ms)
        return true;
    stats_inc(STAT_http_slow_total);
    log_debug("http", "slow_reader", "unsent=%zu effect=closed", s->unsent);
    return false;
}

int64_t stream_read_rate(const struct connection *c)
{
    const struct http_stream *s = c->stream;
    int64_t ms;

    if (s == NULL || !s->is_blocked)
        return -1;
    ms = c->sl->now_mono_ms - s->blocked_mono_ms;
    return ms < JUDGED_AFTER_MS ? -1 : (connection_bytes_read(c) - s->blocked_at) * 1000 / (ms + 1);
}

/* ---- life ---- */

static struct blob *head_of(struct connection *c, int status, struct str fields, bool is_http10)
{
    size_t max = http_reply_head_max(fields);
    char *head = mem_alloc(max);
    size_t len =
        http_reply_head(c->sl, head, status, c->req->id, fields,
                        is_http10 ? FRAMED_BY_CLOSE : FRAMED_BY_CHUNKS, 0, c->close_after, false);

    return blob_new(head, len);
}

struct http_stream *stream_new(struct connection *c, int status, struct str fields,
                               http_stream_fn *room, http_stream_fn *gone, void *ctx)
{
    struct http_request *r = c->req;
    struct http_stream *s = NEW(struct http_stream);
    bool is_head = r->is_head, is_http10 = r->is_http10;

    if (!c->running)
        server_set_now(c->sl);
    if (c->sl->stopping || !r->keep_alive || is_http10)
        c->close_after = true;
    if (c->close_after && (c->running ? c->data_len : c->in_len) > 0)
        c->linger_after = true;
    *s = (struct http_stream){
        .conn = c, .room = room, .gone = gone, .ctx = ctx, .is_chunked = !is_http10};
    c->stream = s;
    /* the fields may lie in the request's arena: they are copied now */
    add_piece(s, head_of(c, status, fields, is_http10), PIECE_HEAD);
    connection_tell_answer(c, status, r->id, true);
    c->req = NULL;
    request_free(r);
    c->state = CONN_STREAM;
    c->restart = true;
    c->out_began_mono_ms = c->sl->now_mono_ms;
    c->out_given = c->out_read = 0;
    if (is_head) {
        s->is_chunked = false; /* no body, and so no last chunk */
        http_stream_end(s);
        return NULL;
    }
    s->progress_mono_ms = c->sl->now_mono_ms;
    if (!c->running) /* the head goes with the first piece, or soon */
        server_set_deadline(c, DEADLINE_SOON);
    return s;
}

void stream_free(struct connection *c)
{
    struct http_stream *s = c->stream;

    if (s == NULL)
        return;
    while (s->n > 0)
        drop_piece(s);
    mem_free(s->pieces);
    mem_free(s);
    c->stream = NULL;
}

void stream_abandon(struct connection *c)
{
    struct http_stream *s = c->stream;
    http_stream_fn *gone = s != NULL ? s->gone : NULL;
    void *ctx = s != NULL ? s->ctx : NULL;

    stream_free(c);
    if (gone != NULL)
        gone(ctx);
}
