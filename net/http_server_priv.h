/* net/http_server_priv.h - what the files of the HTTP server share. Nobody else includes it.
 *
 * http_server.c      listeners, deadlines, start and stop of the loops
 * http_connection.c  the steps of one connection
 * http_parse.c       head and body of a request, strictly
 * http_request.c     the view of a request, holding, the reply
 * http_stream.c      a reply in pieces, without an end
 *
 * Everything here belongs to one loop's thread unless it says otherwise.
 */
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <http_parser.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "model/media_types.h"
#include "net/http_server.h"

#define INPUT_CHUNK (64 * 1024) /* bytes of one read; also the scratch room of a loop */
#define INPUT_AHEAD (16 * 1024) /* bytes taken in while a request is being answered */
#define LINGER_MS 2000     /* how long to go on reading after the last reply (connection_linger) */
#define HALF_CLOSE_MS 1000 /* see http_request_hold() */
#define BODIES_AT_ONCE 16  /* bodies of full size that a loop holds together, ... */
#define BODY_SMALL (64 * 1024) /* ... not counting those that are smaller than this */
#define REQUESTS_KEPT 32       /* request objects a loop keeps for reuse */
#define REQUEST_HEAD_ROOM 2048 /* heads up to this need no memory of their own */
#define REQUEST_FIELDS_ROOM 24
#define REPLY_HEAD_ROOM 1024
#define REQUEST_ID_MADE 16   /* characters of an id that is made */
#define JUDGED_AFTER_MS 2000 /* a client's rate of reading is known after it */
#define STALL_LOOKS 12       /* how often a stream is looked at within stall_ms */

/* Fields of a problem document (RFC 9457) of the server's own. */
#define PROBLEM_FIELDS "Content-Type: " MEDIA_PROBLEM "\r\nCache-Control: no-store\r\n"

/* What is wrong with a request; status 0: nothing. `detail` is a constant fit for JSON. */
struct refusal {
    int status;
    const char *detail;
};

struct request_field {
    struct str name, value; /* name in lower case, value trimmed */
};

enum body_kind { BODY_NONE, BODY_LENGTH, BODY_CHUNKED };

struct http_request {
    struct connection *conn; /* NULL: the client left, and the handler still has the pointer */
    struct server_loop *sl;
    LIST_ENTRY(http_request) link; /* in sl->orphans, or sl->kept */

    /* the head */
    struct str method, target, path, query, host;
    struct str id; /* null before the head was read */
    struct request_field *fields;
    size_t n_fields, fields_cap;
    struct arena arena;
    bool is_head, is_http10, keep_alive, expects_continue;

    /* the body */
    enum body_kind body_kind;
    uint64_t body_left; /* BODY_LENGTH: bytes to come */
    struct buf body;
    bool body_done;      /* BODY_CHUNKED: the last chunk and the trailer were read */
    unsigned crlf_due;   /* BODY_CHUNKED: bytes of CRLF that must come next */
    char framing_last;   /* last byte of the framing */
    size_t framing_len;  /* sizes, extensions, line ends, trailer so far */
    const char *framing; /* during a parse: where unchecked framing begins */
    struct refusal refusal;
    http_parser parser;

    /* holding */
    uint64_t serial; /* 0: not held */
    http_gone_fn *gone, *late;
    void *ctx;
    void *own; /* of the handler */
    struct loop_timer *deadline;
    int64_t complete_mono_ms; /* when the last byte had come */

    struct request_field fields_room[REQUEST_FIELDS_ROOM];
    char head_room[REQUEST_HEAD_ROOM];
    char id_room[REQUEST_ID_MADE];
};
LIST_HEAD(request_list, http_request);

enum conn_state {
    CONN_HEADER,  /* between requests, or in the middle of a head */
    CONN_BODY,    /* head read, body to come */
    CONN_HANDLED, /* with the handler, or held */
    CONN_WRITE,   /* the reply did not fit into the socket at once */
    CONN_STREAM,  /* the reply is a stream that has not been sent to its end */
    CONN_LINGER,  /* last reply sent; reading so that the client gets it */
    CONN_DEAD,    /* the function that runs the connection must free it */
    CONN_STATES_
};

/* There is one list for each kind. All deadlines of a kind have the same duration, so each list is
 * in order of time. */
enum deadline_kind {
    DEADLINE_NONE, /* the handler has the request: no deadline here */
    DEADLINE_HEADER,
    DEADLINE_BODY,
    DEADLINE_IDLE,
    DEADLINE_WRITE,
    DEADLINE_STREAM, /* look whether the client has acknowledged more */
    DEADLINE_SOON,   /* no time at all: to be run as soon as the loop gets to it */
    DEADLINE_LINGER,
    DEADLINE_KINDS_
};

enum listening { LISTEN_OFF, LISTEN_LEVEL, LISTEN_EDGE };

struct connection {
    TAILQ_ENTRY(connection) link; /* in sl->lists[deadline] */
    struct server_loop *sl;
    struct http_request *req;      /* being read or handled */
    int64_t until_mono_ms;         /* of its deadline */
    int64_t began_mono_us;         /* the first byte of the present request; 0: none has come */
    struct http_exchange exchange; /* of the present answer, ... */
    bool is_answering;             /* ... until its end was told */
    int fd;
    unsigned char state, deadline, listening; /* the enums above */
    bool is_inherited; /* of the process before: its next answer is its last, so that clients
                          meet all loops again */
    bool fresh;        /* has not had a complete request yet */
    bool eof;          /* the client ended its side */
    bool running;      /* connection_run() is on the stack */
    bool restart;      /* the deadline starts anew, even if it is of the same kind */
    bool close_after;  /* after the present reply */
    bool linger_after; /* ... and what still comes is read and dropped */

    /* input not used yet: `data` while running (in `in` or the loop's scratch), else `in` */
    const char *data;
    size_t data_len;
    char *in;
    size_t in_len, in_cap;
    size_t scanned, line_at; /* of a head: bytes looked at, start of the present line */
    unsigned n_lines;        /* complete lines of the head */

    /* output not sent yet */
    struct event *write_event; /* only while the client reads more slowly than the server writes */
    char *out_head;
    size_t out_head_len, out_head_at;
    struct blob *out_body;
    size_t out_body_at;
    bool has_file;              /* the next three count: */
    int file_fd;                /* what follows out_body */
    int64_t file_at, file_left; /* bytes: where the rest begins, and how long it is */
    bool out_counted;           /* out_body is part of http_server.unsent */
    int64_t out_began_mono_ms;  /* when the reply began */
    int64_t out_given;          /* bytes of the reply that the kernel took */
    int64_t out_read;           /* of these, what the client had read at the last deadline */
    struct http_stream *stream; /* of CONN_STREAM; NULL otherwise */

    struct event read_event;
    union {
        struct sockaddr sa;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
    } peer;
};
TAILQ_HEAD(connection_list, connection);

struct held_slot {
    struct http_request *req; /* NULL: free */
    uint32_t generation;
    uint32_t next_free; /* index + 1; 0: none */
};

/* One loop of the server. */
struct server_loop {
    struct http_server *server;
    struct loop *loop;
    int listen_fd;
    struct event *accept_event; /* NULL when not listening */
    struct loop_timer *accept_pause;
    struct loop_timer *stop_grace;
    bool stopping, drained; /* go false -> true once */
    size_t n_connections;
    struct connection_list lists[DEADLINE_KINDS_];
    struct connection *visit_next; /* of a walk over all connections */
    int64_t durations_ms[DEADLINE_KINDS_];
    int64_t now_mono_ms; /* of the present event */
    int64_t now_mono_us; /* the same */
    struct event *clock; /* fires at clock_at or earlier than any deadline */
    int64_t clock_mono_ms;
    struct held_slot *slots;
    size_t n_slots, slots_cap;
    uint32_t free_slot; /* index + 1; 0: none */
    struct request_list orphans, kept;
    size_t n_kept;
    size_t bodies_len; /* bytes of the bodies of all requests */
    uint64_t id_seed;  /* of the next id that is made */
    int64_t date_at;
    char date_line[sizeof "Date: \r\n" + CLOCK_TEXT];
    size_t date_len;
    char scratch[INPUT_CHUNK];
};

struct http_server {
    struct http_server_cfg cfg; /* cfg.listen: owned text of the bound address */
    http_handler_fn *handler;
    void *ctx;
    int port;
    bool started, stopped;
    struct http_sockets *handed; /* gets the sockets when it stops; NULL: they are closed. The
                                    loops fill it: its connections under `lock` */
    _Atomic size_t unsent;  /* bytes of the bodies that connections are sending, each body once */
    pthread_mutex_t lock;   /* guards n_drained, and the connections in *handed */
    pthread_cond_t drained; /* n_drained grew; CLOCK_MONOTONIC */
    int n_drained;          /* stopping loops without connections */
    struct server_loop *loops[]; /* cfg.n_loops */
};

/* A new event: look at the clock. */
static inline void server_set_now(struct server_loop *sl)
{
    sl->now_mono_us = clock_mono_us();
    sl->now_mono_ms = sl->now_mono_us / 1000;
}

/* ---- http_server.c ---- */
/* Give the connection a deadline of this kind, counted from now. */
void server_set_deadline(struct connection *c, enum deadline_kind kind);
/* Count a body of `len` bytes that a connection of this loop begins to send. False: unsent bodies
 * would use more memory than is allowed, even after the slowest clients of this loop were closed;
 * then drop the body, and do not send it. `len` 0: other connections are already sending the same
 * body. */
bool server_unsent_add(struct server_loop *sl, const struct connection *by, size_t len);
void server_unsent_drop(struct server_loop *sl, size_t len);
/* Take it out of the list of its deadline. */
void server_unlist(struct connection *c);
/* A connection was freed. */
void server_connection_gone(struct server_loop *sl);
/* Serve a connected non-blocking stream socket as if the first loop had accepted it (tests). */
void http_server_adopt(struct http_server *s, int fd);

/* ---- http_connection.c ---- */
/* Serve an accepted socket, which is taken over. */
struct connection *connection_new(struct server_loop *sl, int fd, const struct sockaddr *peer,
                                  socklen_t peer_len);
/* Handle a connection whose deadline has passed. */
void connection_late(struct connection *c);
/* Close the connection now, whatever its state is. */
void connection_kill(struct connection *c);
/* How many bytes of the present reply the client reads each second; -1: it is too early to
 * tell. */
int64_t connection_read_rate(const struct connection *c);
/* Has any byte of a request come? */
bool connection_is_quiet(const struct connection *c);
/* Bytes of the reply that the client has acknowledged: those that were given to the kernel and are
 * no longer in its buffer. */
int64_t connection_bytes_read(const struct connection *c);
/* Run the steps until they wait. The connection may be freed. */
void connection_run(struct connection *c);
/* Hear what its state asks for. */
void connection_update_events(struct connection *c);
/* Send a reply and go on. `fields`: complete lines. Takes the count of `body`. */
void connection_reply(struct connection *c, int status, struct str fields, struct blob *body,
                      bool is_head);

/* The answer to the connection's request begins; the request, if there is one, is freed next. */
void connection_tell_answer(struct connection *c, int status, struct str id, bool is_stream);

/* ---- http_parse.c ---- */
enum head_scan { HEAD_MORE, HEAD_DONE, HEAD_REFUSED };
void http_parse_init(void);
/* Look at the new bytes of c->data. HEAD_DONE: *head_len is the length with its empty line. */
enum head_scan http_scan_head(struct connection *c, size_t *head_len, struct refusal *why);
/* Read a complete, scanned head into the request (bytes are copied); says what is wrong. */
struct refusal http_parse_head(struct http_request *r, const char *head, size_t len);
/* Take body bytes; returns how many. The body is complete when http_body_complete(). */
size_t http_parse_body(struct http_request *r, const char *data, size_t len, struct refusal *why);
bool http_body_complete(const struct http_request *r);

/* ---- http_request.c ---- */
struct http_request *request_new(struct connection *c);
void request_free(struct http_request *r);
/* The connection is gone: tell the holder and free, or keep it for the handler's late reply. */
void request_abandon(struct http_request *r);
/* The deadline of a held request is now: its holder answers it, or goes on waiting if it answers
 * soon. `is_last`: it is answered in any case. The request may be freed. */
void request_hurry(struct http_request *r, bool is_last);
/* Take the id that the client gave, or make one. */
void request_set_id(struct http_request *r);
/* Make an id. */
struct str request_make_id(struct server_loop *sl, char room[REQUEST_ID_MADE]);
/* Free what abandoned requests and the pool hold. */
void request_free_all(struct server_loop *sl);
/* How the end of a body is told. */
enum framing {
    FRAMED_BY_LENGTH,
    FRAMED_BY_CHUNKS,
    FRAMED_BY_CLOSE,
};
/* Write the head of an answer into `out` of at least http_reply_head_max() bytes; its length. */
size_t http_reply_head_max(struct str fields);
size_t http_reply_head(struct server_loop *sl, char *out, int status, struct str id,
                       struct str fields, enum framing framing, size_t body_len, bool close,
                       bool say_keep);

/* ---- http_stream.c ---- */
/* Begin to answer the connection's request with a stream. The request is freed. */
struct http_stream *stream_new(struct connection *c, int status, struct str fields,
                               http_stream_fn *room, http_stream_fn *gone, void *ctx);
/* Send what waits, and ask for more. False: the connection is broken. *ended: all is sent, to the
 * end of the body. */
bool stream_step(struct connection *c, bool *ended);
/* Does something wait for the kernel? */
bool stream_is_blocked(const struct connection *c);
/* The kind of deadline that it needs. */
enum deadline_kind stream_deadline(const struct connection *c);
/* Its client was looked at. False: it has read nothing for too long. */
bool stream_reads_on(struct connection *c);
/* As connection_read_rate(), since the kernel has not taken all; -1 also when it has. */
int64_t stream_read_rate(const struct connection *c);
/* Free the stream of a connection, if there is one. Its owner is not told. */
void stream_free(struct connection *c);
/* The connection is gone: tell the owner, and free. */
void stream_abandon(struct connection *c);
