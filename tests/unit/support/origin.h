/* tests/unit/support/origin.h - a scripted HTTP server on the loopback, for tests of all rooms. It
 * is used as a publisher, an endpoint or a hub.
 *
 * One thread accepts connections, and each connection has a thread that serves its requests one
 * after the other. A request gets the page that origin_set() gave its path; otherwise what the
 * script says; otherwise 404. All requests are kept. Errors of the system abort the test.
 *
 * Any thread may call these functions. Strings that they return live as long as the origin, unless
 * noted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct origin;
struct origin_talk;

/* What a request is answered with. All zero: status 200 and an empty body. */
struct origin_page {
    int status;         /* 0: 200 */
    const char *fields; /* whole lines, each with CRLF; NULL: none */
    const char *body;   /* NULL: empty */
    size_t body_len;    /* bytes; 0: up to the NUL */
    const char *etag;   /* it is sent; a request that has it gets 304; NULL: none */
    const char *auth;   /* 401 (Basic) unless Authorization is this; NULL: not checked */
    int delay_ms;       /* before the answer */
    bool hangs;         /* never answers */
    bool waits;         /* answers after origin_release() */
    bool endless;       /* the body is spaces without end */
    bool closes;        /* the connection ends after the answer */
    void (*speaks)(struct origin_talk *t); /* sends the whole answer itself; NULL: as above */
};

struct origin_request {
    const char *path;    /* as it was sent, with the query */
    const char *head;    /* request line and fields, with the CRLF of the last one */
    const char *body;    /* "" when there is none */
    size_t nth;          /* number of requests of this path so far, including this one */
    struct arena *arena; /* freed after the answer; scripts may put strings here. NULL in the result
                          * of origin_get() */
};

/* Fills *out, which is zero except for the status 404. Runs on the thread of the connection. */
typedef void origin_script_fn(void *ctx, const struct origin_request *request,
                              struct origin_page *out);

/* Listen on a free port of 127.0.0.1. `script` may be NULL. With `refusing`, connections are
 * refused until origin_open(). */
struct origin *origin_new(origin_script_fn *script, void *ctx, bool refusing);
void origin_open(struct origin *o);

/* Cut all connections and wait for their threads. */
void origin_free(struct origin **op);

int origin_port(const struct origin *o);

/* Returns "http://127.0.0.1:PORT" and the path. Valid until eight more calls. */
const char *origin_url(struct origin *o, const char *path);

/* Set the answer of a path from now on. The strings are copied. */
void origin_set(struct origin *o, const char *path, const struct origin_page *page);

/* Returns the number of requests of this path so far; NULL: of all paths. */
int origin_count(struct origin *o, const char *path);

/* Wait at most ten seconds for `n` requests of the path (NULL: of all paths). False: fewer came. */
bool origin_wait(struct origin *o, const char *path, int n);

/* Returns the i-th request of the path (NULL: of all paths), from 0. It must have come. */
struct origin_request origin_get(struct origin *o, const char *path, int i);

/* Returns the whole text of the last request of the path (NULL: of all paths); "" when there was
 * none. */
const char *origin_last(struct origin *o, const char *path);

/* Return the highest number of requests that were being answered at once (of the path; NULL: of all
 * paths), the highest such number of any single path, and the highest number of connections at
 * once. */
int origin_most(struct origin *o, const char *path);
int origin_most_of_a_path(struct origin *o);
int origin_most_connections(struct origin *o);

/* Returns how many connections there have been. */
int origin_accepted(struct origin *o);

/* origin_hold(): requests of this path wait, too. origin_release(): all waiting requests are
 * answered, now and later. */
void origin_hold(struct origin *o, const char *path);
void origin_release(struct origin *o);

/* ---- for pages with their own `speaks` ---- */

const struct origin_request *origin_request_of(const struct origin_talk *t);

/* Send bytes. False: the client has left. */
bool origin_say(struct origin_talk *t, const void *bytes, size_t n);
bool origin_sayz(struct origin_talk *t, const char *text);

/* Wait until the client leaves or the test ends. `drip` is sent every 50 ms; NULL: nothing is
 * sent. */
void origin_wait_gone(struct origin_talk *t, const char *drip);

/* Close the connection after this answer. */
void origin_close(struct origin_talk *t);
