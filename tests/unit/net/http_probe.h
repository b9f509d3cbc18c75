/* tests/unit/net/http_probe.h - a server on a loopback port, and a client that talks to it byte by
 * byte.
 *
 * The server's handler knows: /hello, /big (one blob for all requests), /own (as long, but a blob
 * for each request), /none (304), /sink (length of the body), /hold, /late (held, with 20 ms),
 * /keep (kept without holding), /stream (begins a stream). Any other path describes the request. */
#pragma once

#include <pthread.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/stats.h"
#include "net/http_server.h"

#define BIG_LEN (8 * 1024 * 1024)

struct fixture {
    struct http_server *server;
    struct blob *big;
    pthread_mutex_t lock; /* guards what follows; the handlers run on the loops */
    pthread_cond_t changed;
    struct loop *held_loop;
    uint64_t held_serial;
    struct http_request *kept;
    int n_held, n_gone, n_late, n_seen;
    struct streamed {
        struct fixture *f;
        struct loop *loop;
        struct http_stream *http; /* NULL: it was answered at once */
        int n_room, n_gone;
    } streams[64];
    int n_streams;
    bool late_answers, late_holds; /* in place of nothing: answer then, or hold it longer */
};

extern const struct http_server_cfg default_cfg;

/* For cmocka: *state is the fixture. close_server() checks that nothing is left open. */
int setup(void **state);
int teardown(void **state);
void open_server(struct fixture *f, const struct http_server_cfg *cfg);
void close_server(struct fixture *f);

/* For tests with their own configuration. */
void reopen(struct fixture *f, const struct http_server_cfg *cfg);

/* note() counts under the lock. The others wait until a counter is at least n, or until a statistic
 * is n; false: not within 5 s. */
void note(struct fixture *f, int *counter);
/* Returns the present value of a counter of the loops. */
int noted(struct fixture *f, const int *counter);

bool wait_for(struct fixture *f, const int *counter, int n);
bool wait_stat(enum stat_id stat, int64_t n);

struct client {
    int fd;
    struct buf in;
    size_t at; /* bytes that were used so far */
};

/* `receive_room`: how many bytes the kernel buffers for it; 0: the usual number. */
struct client dial_with(struct fixture *f, int receive_room);
struct client dial(struct fixture *f);

/* Dial, ask for /hold, send `after` as well, and wait until the request is held. */
struct client dial_and_hold(struct fixture *f, const char *after);

/* Answer the request that was held last. `ctx` is the fixture. On the loop. */
void answer_held(void *ctx);
void hang_up(struct client *c);

/* Close the connection with a reset. */
void slam(struct client *c);

/* Send everything. It is not a failure when the server stops reading. */
void say(struct client *c, struct str s);
void sayz(struct client *c, const char *z);

/* As recv(), which a stop of this program interrupts, because there is a time-out. */
ssize_t read_some(struct client *c, void *to, size_t len);

/* Read more. False: the stream has ended, or nothing came within 10 s. */
bool hear(struct client *c);
struct str rest_of(struct client *c);

struct reply {
    int status;
    struct str head, body; /* in the client's buffer; valid until the next hear() */
};

/* Returns the next reply. Its status is 0 when the stream ends before it, -1 when it ends within
 * it. */
struct reply next_reply(struct client *c);
struct reply next_reply_of(struct client *c, bool is_head);
struct str reply_field(struct str head, const char *name);

/* Returns true when nothing more comes and the connection is closed, not reset. */
bool is_closed(struct client *c);

bool has(struct str s, const char *part);

/* Send the request on its own connection. It must be refused with this status and a problem with
 * this `detail`, and the connection must end. */
void expect_refused(struct fixture *f, struct str request, int status, const char *detail);

/* The server must still answer. */
void expect_works(struct fixture *f);
