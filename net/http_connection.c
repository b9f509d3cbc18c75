/* net/http_connection.c - the steps of one connection.
 *
 * connection_run() repeats the step of the present state until it has to wait. An event, a reply or
 * a deadline runs it again. A reply from inside the handler only changes the state, so pipelined
 * requests do not cause recursion. A connection is freed at the end of a run, never inside a step.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/http_server_priv.h"

#define FILE_PIECE ((size_t)256 * 1024) /* of a file, that is sent before others have their turn   \
                                         */
#define LARGE_BODY (64 * 1024) /* longer bodies are counted before they are sent (count_body) */

enum step { STEP_ON, STEP_WAIT };

/* ---- events ---- */

static void on_readable(evutil_socket_t fd, short what, void *arg);

static void listen_for(struct connection *c, enum listening wanted)
{
    short flags = wanted == LISTEN_EDGE ? EV_READ | EV_PERSIST | EV_ET : EV_READ | EV_PERSIST;

    if (c->listening == wanted)
        return;
    if (c->listening != LISTEN_OFF)
        event_del(&c->read_event);
    c->listening = (unsigned char)wanted;
    if (wanted == LISTEN_OFF)
        return;
    ASSERT(event_assign(&c->read_event, loop_base(c->sl->loop), c->fd, flags, on_readable, c) == 0);
    ASSERT(event_add(&c->read_event, NULL) == 0);
}

static void on_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
    struct connection *c = arg;

    server_set_now(c->sl);
    connection_run(c);
}

/* While a request is being answered: is there room for more input? */
static bool has_room(const struct connection *c)
{
    return c->in_len < INPUT_AHEAD;
}

/* Listen for the events that this state needs. When the client has ended its side, or there is no
 * room for more input, a level-triggered event would fire for ever. An edge-triggered one does not,
 * and still reports a reset. One socket cannot have both kinds, so while a reply waits for room,
 * only the level-triggered write event is used; it reports a reset, too. */
void connection_update_events(struct connection *c)
{
    enum listening wanted = LISTEN_LEVEL;
    bool writing = c->state == CONN_WRITE || (c->state == CONN_STREAM && stream_is_blocked(c));

    if (writing)
        wanted = c->eof || !has_room(c) ? LISTEN_OFF : LISTEN_LEVEL;
    else if (c->state == CONN_HANDLED || c->state == CONN_STREAM)
        wanted = c->eof || !has_room(c) ? LISTEN_EDGE : LISTEN_LEVEL;
    if (!writing && c->write_event != NULL) {
        event_free(c->write_event);
        c->write_event = NULL;
    }
    listen_for(c, wanted);
    if (writing && c->write_event == NULL) {
        c->write_event =
            event_new(loop_base(c->sl->loop), c->fd, EV_WRITE | EV_PERSIST, on_writable, c);
        ASSERT(c->write_event != NULL && event_add(c->write_event, NULL) == 0);
    }
}

/* ---- what the watch is told ---- */

void connection_tell_answer(struct connection *c, int status, struct str id, bool is_stream)
{
    const struct http_watch *watch = &c->sl->server->cfg.watch;

    if (watch->answered == NULL)
        return;
    c->exchange = (struct http_exchange){
        .status = status, .is_stream = is_stream, .id = id, .peer = &c->peer.sa};
    if (is_stream && c->began_mono_us != 0)
        c->exchange.answered_us = clock_mono_us() - c->began_mono_us;
    watch->answered(watch->ctx, c->req, &c->exchange);
    c->is_answering = true;
}

static void tell_end(struct connection *c, bool is_cut)
{
    const struct http_watch *watch = &c->sl->server->cfg.watch;

    if (!c->is_answering)
        return;
    c->is_answering = false;
    if (c->began_mono_us != 0)
        c->exchange.total_us = clock_mono_us() - c->began_mono_us;
    c->exchange.n_bytes = c->out_given;
    c->exchange.is_cut = is_cut;
    watch->ended(watch->ctx, &c->exchange);
}

/* ---- life ---- */

struct connection *connection_new(struct server_loop *sl, int fd, const struct sockaddr *peer,
                                  socklen_t peer_len)
{
    struct connection *c = NEW(struct connection);

    c->sl = sl;
    c->fd = fd;
    c->fresh = true;
    if (peer_len > 0 && peer_len <= sizeof c->peer)
        memcpy(&c->peer, peer, peer_len);
    sl->n_connections++;
    stats_add(STAT_http_connections, 1);
    TAILQ_INSERT_TAIL(&sl->lists[DEADLINE_NONE], c, link);
    server_set_deadline(c, DEADLINE_HEADER);
    listen_for(c, LISTEN_LEVEL);
    return c;
}

static void drop_file(struct connection *c)
{
    if (c->has_file)
        close(c->file_fd);
    c->has_file = false;
    c->file_left = 0;
}

static void drop_output(struct connection *c)
{
    drop_file(c);
    mem_free(c->out_head);
    c->out_head = NULL;
    c->out_head_len = c->out_head_at = c->out_body_at = 0;
    if (c->out_counted)
        server_unsent_drop(c->sl, blob_send_end(c->out_body));
    c->out_counted = false;
    blob_unref(&c->out_body);
}

static void connection_free(struct connection *c)
{
    struct server_loop *sl = c->sl;
    struct http_request *r = c->req;

    if (r != NULL) { /* it was not answered */
        c->out_given = 0;
        connection_tell_answer(c, 0, r->id, false);
    }
    tell_end(c, true);
    listen_for(c, LISTEN_OFF);
    if (c->write_event != NULL)
        event_free(c->write_event);
    close(c->fd);
    server_unlist(c);
    drop_output(c);
    stream_abandon(c);
    mem_free(c->in);
    mem_free(c);
    stats_add(STAT_http_connections, -1);
    sl->n_connections--;
    if (r != NULL)
        request_abandon(r);
    server_connection_gone(sl);
}

/* End the connection: now, or at the end of the run that is on the stack. A request that is still
 * being read is freed. A request that the handler has is abandoned by connection_free(). */
static void die(struct connection *c)
{
    if (c->req != NULL && c->state != CONN_HANDLED) {
        request_free(c->req);
        c->req = NULL;
    }
    c->state = CONN_DEAD;
    if (!c->running)
        connection_free(c);
}

void connection_kill(struct connection *c)
{
    die(c);
}

bool connection_is_quiet(const struct connection *c)
{
    return c->state == CONN_HEADER && c->in_len == 0;
}

/* ---- output ---- */

/* The reply was sent. */
static void end_reply(struct connection *c)
{
    tell_end(c, false);
    c->began_mono_us = 0;
    drop_output(c);
    stream_free(c);
    c->restart = true;
    if (!c->close_after) {
        c->state = CONN_HEADER;
        return;
    }
    if (c->linger_after && !c->eof) {
        /* Closing with unread input would reset the connection, and the client might lose the
         * answer. So end our side, and let the client end its own (RFC 9112 §9.6). */
        shutdown(c->fd, SHUT_WR);
        c->state = CONN_LINGER;
        return;
    }
    die(c);
}

/* Send what is left of the reply. Sets *sent to the number of bytes that the kernel took. False:
 * the connection is broken. */
static bool push_output(struct connection *c, const char *head, size_t head_len, size_t *sent)
{
    struct str body = c->out_body != NULL ? blob_bytes(c->out_body) : STR_NULL;
    struct iovec parts[2];
    struct msghdr msg = {.msg_iov = parts};
    ssize_t n;

    if (head_len > 0)
        parts[msg.msg_iovlen++] = (struct iovec){(char *)head, head_len};
    if (body.len > c->out_body_at)
        parts[msg.msg_iovlen++] =
            (struct iovec){(char *)body.ptr + c->out_body_at, body.len - c->out_body_at};
    *sent = 0;
    do
        n = msg.msg_iovlen == 1 /* the kernel has less to do then */
                ? send(c->fd, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL)
                : sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK;
    *sent = (size_t)n;
    return true;
}

int64_t connection_bytes_read(const struct connection *c)
{
    int held = 0;

    if (ioctl(c->fd, SIOCOUTQ, &held) != 0)
        held = 0;
    return c->out_given - held;
}

int64_t connection_read_rate(const struct connection *c)
{
    int64_t ms = c->sl->now_mono_ms - c->out_began_mono_ms, n = connection_bytes_read(c);

    return ms < JUDGED_AFTER_MS ? -1 : n < 0 ? 0 : n * 1000 / ms;
}

/* Has the client read enough since the last call of this function? */
static bool reads_on(struct connection *c)
{
    int64_t n = connection_bytes_read(c), before = c->out_read;

    c->out_read = n;
    return (n - before) * 1000 >= LIMIT_READ_RATE * c->sl->durations_ms[DEADLINE_WRITE];
}

/* Count out_body in the bytes that are being sent (max_unsent). False: that would be too much. */
static bool count_body(struct connection *c)
{
    if (c->out_counted)
        return true;
    c->out_counted = server_unsent_add(c->sl, c, blob_send_begin(c->out_body));
    if (!c->out_counted)
        server_unsent_drop(c->sl, blob_send_end(c->out_body));
    return c->out_counted;
}

static size_t body_left(const struct connection *c)
{
    return c->out_body != NULL ? blob_bytes(c->out_body).len - c->out_body_at : 0;
}

/* A problem document (RFC 9457) for an answer that the server makes itself. */
static struct blob *problem_body(struct refusal why)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,"
                     "\"detail\":\"%s\"}\n",
                     http_status_str((enum http_status)why.status), why.status, why.detail);

    ASSERT(n > 0 && (size_t)n < sizeof text);
    return blob_copy(str_of(text, (size_t)n));
}

/* The id of the present request; what cannot be read as a request gets one, too. */
static struct str id_of(struct connection *c, char made[REQUEST_ID_MADE])
{
    return c->req != NULL && c->req->id.len > 0 ? c->req->id : request_make_id(c->sl, made);
}

void connection_reply(struct connection *c, int status, struct str fields, struct blob *body,
                      bool is_head)
{
    size_t max, head_len, sent;
    char room[REPLY_HEAD_ROOM], made[REQUEST_ID_MADE], *head;
    struct http_request *r = c->req;
    struct str id = id_of(c, made);
    bool is_bare = is_head || status == 204 || status == 304, ok;

    if (!c->running)
        server_set_now(c->sl);
    c->out_body = body;
    c->out_body_at = 0;
    if (!is_bare && blob_bytes(body).len > LARGE_BODY && !count_body(c)) {
        static const struct refusal full = {503, "too many answers are being read; try again soon"};

        stats_inc(STAT_http_refused_total);
        log_debug("http", "refused", "status=503 detail=\"%s\"", full.detail);
        blob_unref(&c->out_body);
        c->out_body = problem_body(full);
        status = full.status;
        fields = STR(PROBLEM_FIELDS "Retry-After: 5\r\n");
    }
    max = http_reply_head_max(fields);
    head = max <= sizeof room ? room : mem_alloc(max);
    if (c->sl->stopping || c->is_inherited || (r != NULL && !r->keep_alive))
        c->close_after = true;
    if (c->close_after && (c->running ? c->data_len : c->in_len) > 0)
        c->linger_after = true;
    head_len = http_reply_head(c->sl, head, status, id, fields, FRAMED_BY_LENGTH,
                               blob_bytes(c->out_body).len + (size_t)c->file_left, c->close_after,
                               r != NULL && r->is_http10);
    connection_tell_answer(c, status, id, false);
    /* The fields may be in the request's arena. They are copied now. */
    c->req = NULL;
    if (r != NULL)
        request_free(r);
    if (is_bare) {
        blob_unref(&c->out_body);
        drop_file(c);
    }
    c->out_began_mono_ms = c->sl->now_mono_ms;
    c->out_read = 0;
    ok = push_output(c, head, head_len, &sent);
    c->out_given = (int64_t)sent;
    if (ok && sent < head_len) {
        c->out_head_len = head_len - sent;
        c->out_head_at = 0;
        c->out_head = mem_alloc(c->out_head_len);
        memcpy(c->out_head, head + sent, c->out_head_len);
        sent = head_len;
    }
    if (head != room)
        mem_free(head);
    c->state = CONN_WRITE;
    c->restart = true;
    if (!ok) {
        die(c);
        return;
    }
    c->out_body_at = sent - head_len;
    if (body_left(c) > 0 && !count_body(c)) { /* a small body; the client does not read it */
        die(c);
        return;
    }
    if (c->out_head == NULL && body_left(c) == 0 && c->file_left == 0) {
        bool running = c->running;

        c->running = true; /* end_reply() must not free the connection; the run below does */
        end_reply(c);
        c->running = running;
    }
    if (!c->running)
        connection_run(c);
}

/* Send the next piece of the file. Bytes that are not in memory yet are asked for ahead, so that
 * the loop seldom waits for the disk. */
static enum step push_file(struct connection *c)
{
    size_t max = c->file_left < (int64_t)FILE_PIECE ? (size_t)c->file_left : FILE_PIECE;
    off_t at = c->file_at;
    ssize_t n;

    do
        n = sendfile(c->fd, c->file_fd, &at, max);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return STEP_WAIT;
    if (n <= 0) { /* the connection broke, or the file is shorter than it was */
        die(c);
        return STEP_ON;
    }
    c->file_at += n;
    c->file_left -= n;
    c->out_given += n;
    if (c->file_left > 0) {
        (void)posix_fadvise(c->file_fd, c->file_at, 4 * (off_t)FILE_PIECE, POSIX_FADV_WILLNEED);
        return STEP_WAIT;
    }
    end_reply(c);
    return STEP_ON;
}

static enum step step_write(struct connection *c)
{
    size_t left = c->out_head_len - c->out_head_at, sent;

    if (left == 0 && body_left(c) == 0 && c->file_left > 0)
        return push_file(c);

    if (!push_output(c, c->out_head + c->out_head_at, left, &sent)) {
        die(c);
        return STEP_ON;
    }
    c->out_given += (int64_t)sent;
    if (sent < left) {
        c->out_head_at += sent;
        return STEP_WAIT;
    }
    c->out_head_at = c->out_head_len;
    c->out_body_at += sent - left;
    if (body_left(c) > 0)
        return STEP_WAIT;
    if (c->file_left > 0)
        return push_file(c);
    end_reply(c);
    return STEP_ON;
}

static enum step step_stream(struct connection *c)
{
    bool ended = false;

    if (!stream_step(c, &ended)) {
        die(c);
        return STEP_ON;
    }
    if (!ended)
        return STEP_WAIT;
    end_reply(c);
    return STEP_ON;
}

/* Answer a request that cannot be read or is over a limit, and close the connection. */
static void refuse(struct connection *c, struct refusal why)
{
    bool is_head = c->req != NULL && c->req->is_head;

    stats_inc(STAT_http_refused_total);
    log_set_request(c->req != NULL ? c->req->id : STR_NULL);
    log_debug("http", "refused", "status=%d detail=\"%s\"", why.status, why.detail);
    log_set_request(STR_NULL);
    c->close_after = c->linger_after = true;
    connection_reply(c, why.status, STR(PROBLEM_FIELDS), problem_body(why), is_head);
}

/* ---- input ---- */

static void consume(struct connection *c, size_t n)
{
    c->data += n;
    c->data_len -= n;
}

static enum step hand_over(struct connection *c)
{
    struct http_request *r = c->req;

    c->state = CONN_HANDLED;
    c->fresh = false;
    r->complete_mono_ms = c->sl->now_mono_ms;
    stats_inc(STAT_http_requests_total);
    log_set_request(r->id);
    c->sl->server->handler(c->sl->server->ctx, r);
    log_set_request(STR_NULL);
    return c->state == CONN_HANDLED ? STEP_WAIT : STEP_ON;
}

/* Send 100 (Continue), unless the client did not wait for it. The socket's buffer is empty, so if
 * these few bytes cannot be sent at once, the connection is broken. */
static bool send_continue(struct connection *c)
{
    struct str line = STR("HTTP/1.1 100 Continue\r\n\r\n");

    if (!c->req->expects_continue || c->data_len > 0)
        return true;
    return send(c->fd, line.ptr, line.len, MSG_NOSIGNAL) == (ssize_t)line.len;
}

static enum step step_header(struct connection *c)
{
    struct refusal why;
    size_t head_len;

    if (c->scanned == 0 && c->n_lines == 0) /* empty lines before a request (RFC 9112 §2.2) */
        while (c->data_len >= 2 && c->data[0] == '\r' && c->data[1] == '\n')
            consume(c, 2);
    if (c->data_len == 0 || (c->data_len == 1 && c->scanned == 0 && c->data[0] == '\r')) {
        /* in the grace of a stop it may have another request (http_server.c) */
        if (c->eof || (c->sl->stopping && c->sl->stop_grace == NULL))
            die(c);
        return c->state == CONN_DEAD ? STEP_ON : STEP_WAIT;
    }
    if (c->began_mono_us == 0)
        c->began_mono_us = c->sl->now_mono_us;
    switch (http_scan_head(c, &head_len, &why)) {
    case HEAD_MORE:
        if (c->eof)
            die(c);
        return c->state == CONN_DEAD ? STEP_ON : STEP_WAIT;
    case HEAD_REFUSED:
        refuse(c, why);
        return STEP_ON;
    case HEAD_DONE:
        break;
    }
    c->scanned = c->line_at = c->n_lines = 0;
    c->req = request_new(c);
    why = http_parse_head(c->req, c->data, head_len);
    request_set_id(c->req);
    consume(c, head_len);
    if (why.status != 0) {
        refuse(c, why);
        return STEP_ON;
    }
    if (c->req->body_kind == BODY_NONE)
        return hand_over(c);
    if (!send_continue(c)) {
        die(c);
        return STEP_ON;
    }
    c->state = CONN_BODY;
    c->restart = true;
    return STEP_ON;
}

static enum step step_body(struct connection *c)
{
    struct refusal why;

    if (c->data_len > 0) {
        consume(c, http_parse_body(c->req, c->data, c->data_len, &why));
        if (why.status != 0) {
            refuse(c, why);
            return STEP_ON;
        }
    }
    if (http_body_complete(c->req))
        return hand_over(c);
    if (c->eof)
        die(c);
    return c->state == CONN_DEAD ? STEP_ON : STEP_WAIT;
}

static enum step step_handled(struct connection *c UNUSED)
{
    return STEP_WAIT;
}

static enum step step_linger(struct connection *c)
{
    consume(c, c->data_len);
    if (c->eof)
        die(c);
    return c->state == CONN_DEAD ? STEP_ON : STEP_WAIT;
}

static enum step (*const steps[CONN_STATES_])(struct connection *) = {
    [CONN_HEADER] = step_header, [CONN_BODY] = step_body,     [CONN_HANDLED] = step_handled,
    [CONN_WRITE] = step_write,   [CONN_STREAM] = step_stream, [CONN_LINGER] = step_linger,
};

static enum deadline_kind wanted_deadline(const struct connection *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEADER:
        return c->in_len == 0 && !c->fresh ? DEADLINE_IDLE : DEADLINE_HEADER;
    case CONN_BODY:
        return DEADLINE_BODY;
    case CONN_WRITE:
        return DEADLINE_WRITE;
    case CONN_STREAM:
        return stream_deadline(c);
    case CONN_LINGER:
        return DEADLINE_LINGER;
    case CONN_HANDLED:
    case CONN_DEAD:
    case CONN_STATES_:
        break;
    }
    return DEADLINE_NONE;
}

/* Keep the input that was not used. If there is none, free the memory. */
static void keep_input(struct connection *c)
{
    if (c->data_len == 0) {
        mem_free(c->in);
        c->in = NULL;
        c->in_cap = 0;
    } else if (c->in == NULL || c->data < c->in || c->data >= c->in + c->in_len) {
        mem_free(c->in); /* `data` is in the scratch room */
        c->in_cap = c->data_len;
        c->in = mem_alloc(c->in_cap);
        memcpy(c->in, c->data, c->data_len);
    } else if (c->data != c->in) {
        memmove(c->in, c->data, c->data_len);
    }
    c->in_len = c->data_len;
    c->data = NULL;
    c->data_len = 0;
}

/* Run the connection with the input in c->data. */
static void run_on_data(struct connection *c)
{
    enum deadline_kind deadline;

    c->running = true;
    while (c->state != CONN_DEAD && steps[c->state](c) == STEP_ON)
        ;
    c->running = false;
    if (c->state == CONN_DEAD) {
        connection_free(c);
        return;
    }
    keep_input(c);
    deadline = wanted_deadline(c);
    if (deadline != c->deadline || c->restart)
        server_set_deadline(c, deadline);
    c->restart = false;
    connection_update_events(c);
}

void connection_run(struct connection *c)
{
    c->data = c->in;
    c->data_len = c->in_len;
    run_on_data(c);
}

/* The client ended its side. */
static void on_eof(struct connection *c)
{
    bool streams = c->state == CONN_STREAM;
    int64_t since = streams ? c->out_began_mono_ms : 0;
    const int on = 1, idle_s = 15, probes = 4;

    c->eof = true;
    if (c->state == CONN_WRITE)
        connection_update_events(c);
    if (c->state != CONN_HANDLED && !streams)
        return;
    if (!streams)
        since = c->req->complete_mono_ms;
    if (c->sl->now_mono_ms - since > HALF_CLOSE_MS) {
        die(c);
        return;
    }
    /* The client may still wait for the answer (see http_request_hold()). If it does not, the
     * kernel's keep-alive probes find out and reset the connection. */
    setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof idle_s);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    connection_update_events(c);
}

/* Append `n` bytes, which were read into the loop's scratch room, to the input kept before. */
static void append_input(struct connection *c, size_t n)
{
    if (c->in_len + n > c->in_cap) {
        size_t cap = c->in_cap * 2 > c->in_len + n ? c->in_cap * 2 : c->in_len + n;
        c->in = mem_realloc(c->in, cap);
        c->in_cap = cap;
    }
    memcpy(c->in + c->in_len, c->sl->scratch, n);
    c->in_len += n;
}

static bool is_reset(int fd)
{
    socklen_t len = sizeof(int);
    int error = 0;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0;
}

static void on_readable(evutil_socket_t fd, short what UNUSED, void *arg)
{
    struct connection *c = arg;
    struct server_loop *sl = c->sl;
    bool busy = c->state == CONN_HANDLED || c->state == CONN_WRITE || c->state == CONN_STREAM;
    size_t room = busy ? INPUT_AHEAD - (has_room(c) ? c->in_len : INPUT_AHEAD) : INPUT_CHUNK;
    ssize_t n;

    server_set_now(sl);
    if (room == 0) { /* the event was edge-triggered */
        if (is_reset(fd))
            die(c);
        return;
    }
    do
        n = recv(fd, sl->scratch, room, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            die(c);
        return;
    }
    if (n == 0 && c->eof) {
        if (is_reset(fd)) /* after a FIN, recv() returns 0 again and again */
            die(c);
        return;
    }
    if (n == 0)
        on_eof(c);
    if (n == 0 && busy)
        return; /* `c` may have been freed */
    if (c->in_len == 0 && !busy) {
        c->data = sl->scratch;
        c->data_len = (size_t)n;
        run_on_data(c);
        return;
    }
    append_input(c, (size_t)n);
    if (busy)
        connection_update_events(c);
    else
        connection_run(c);
}

/* ---- from outside ---- */

void connection_late(struct connection *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEADER:
        if (c->in_len > 0)
            refuse(c, (struct refusal){408, "the header did not come in time"});
        else
            die(c);
        return;
    case CONN_BODY:
        refuse(c, (struct refusal){408, "the body did not come in time"});
        return;
    case CONN_WRITE:
        if (reads_on(c)) {
            server_set_deadline(c, DEADLINE_WRITE);
            return;
        }
        stats_inc(STAT_http_slow_total);
        log_debug("http", "slow_reader", "unsent=%zu effect=closed", body_left(c));
        die(c);
        return;
    case CONN_STREAM:
        if (c->deadline == DEADLINE_SOON)
            connection_run(c);
        else if (stream_reads_on(c))
            server_set_deadline(c, stream_deadline(c));
        else
            die(c);
        return;
    default:
        die(c);
        return;
    }
}
