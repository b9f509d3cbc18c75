/* tests/unit/net/http_probe.h - a server on a loopback port, and a client that talks to it in
 * bytes.
 *
 * The server's handler knows: /hello, /big (one blob for all), /own (as long, a blob each), /none
 * (304), /sink (length of the body), /hold, /late (held, with 20 ms), /keep (kept without holding);
 * any other path describes the request.
 */
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
    bool late_answers;
};

extern const struct http_server_cfg default_cfg;

/* For cmocka: *state is the fixture. close_server() checks that nothing is left open. */
int setup(void **state);
int teardown(void **state);
void open_server(struct fixture *f, const struct http_server_cfg *cfg);
void close_server(struct fixture *f);

/* For tests with a configuration of their own. */
void reopen(struct fixture *f, const struct http_server_cfg *cfg);

/* Count under the lock; wait until a counter is at least n, or a statistic is n: false after 5 s.
 */
void note(struct fixture *f, int *counter);
/* A counter of the loops, as it is now. */
int noted(struct fixture *f, const int *counter);

bool wait_for(struct fixture *f, const int *counter, int n);
bool wait_stat(enum stat_id stat, int64_t n);

struct client {
    int fd;
    struct buf in;
    size_t at; /* used so far */
};

/* `receive_room`: bytes the kernel takes in for it; 0: as usual. */
struct client dial_with(struct fixture *f, int receive_room);
struct client dial(struct fixture *f);
void hang_up(struct client *c);

/* Close with a reset. */
void slam(struct client *c);

/* Send all of it. It does not count as a failure when the server stops reading. */
void say(struct client *c, struct str s);
void sayz(struct client *c, const char *z);

/* Read more; false at the end of the stream or after 10 s. */
bool hear(struct client *c);
struct str rest_of(struct client *c);

struct reply {
    int status;
    struct str head, body; /* in the client's buffer, until it hears more */
};

/* The next reply; status 0 when the stream ends before, -1 in the middle. */
struct reply next_reply(struct client *c);
struct reply next_reply_of(struct client *c, bool is_head);
struct str reply_field(struct str head, const char *name);

/* Nothing more comes and the connection is closed, not reset. */
bool is_closed(struct client *c);

bool has(struct str s, const char *part);

/* A request on its own connection is refused with this status, a problem that says `detail`, and
 * the end of the connection. */
void expect_refused(struct fixture *f, struct str request, int status, const char *detail);

/* The server still answers. */
void expect_works(struct fixture *f);
