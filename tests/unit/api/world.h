/* tests/unit/api/world.h - the API on a real HTTP server and a real store, with a client, and with
 * made-up publishers behind its ports.
 *
 * The path of a publisher's URL decides what it does:
 *   /ok...      a feed of three entries (dated, newest first)
 *   /404...     RC_PEER, status 404          /hang...    never answers
 *   /page...    RC_UNSUPPORTED               /slow...    a feed after 300 ms
 *   /denied...  RC_DENIED                    /late...    RC_TIMEOUT
 * A ping of .../known... wakes a feed, of .../known/full is refused, of .../known/lost fails late.
 * Lists: /list.opml, /html, /404, /deep.opml, /treeN (see world.c).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "../cmocka_all.h"
#include "api/api.h"
#include "base/arena.h"
#include "base/buf.h"
#include "model/value.h"

struct job;
struct world {
    char dir[64];
    struct store *store;
    struct api *api;
    struct api_cfg cfg;
    struct http_server *server;
    int port;
    /* belongs to the publishers' thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct job *jobs;
    bool stop;
    atomic_int n_fetches, n_documents, n_pings;
    atomic_bool lists_fail;
    char pinged[512];         /* "url rss_url" of the last ping */
    store_done_fn *lost_done; /* of a ping that could not be written to disk */
    void *lost_ctx;
};

/* cmocka fixtures: a world in a new directory, with the default configuration. */
int world_setup(void **state);
int world_teardown(void **state);

/* Restart the daemon's parts on the same database. */
void world_restart(struct world *w);

struct answer {
    int status;
    struct str head, body; /* in the test's arena */
};

/* Make one request on its own connection. `fields`: complete lines, or NULL. */
struct answer ask(struct world *w, struct arena *a, const char *method, const char *target,
                  const char *fields, const char *body);
#define get(w, a, target) ask((w), (a), "GET", (target), NULL, NULL)

/* Returns the value of a field, by its name in any letter case; null when it is missing. */
struct str field(const struct answer *ans, const char *name);

/* Returns the body as JSON. Fails the test when it is not JSON. */
struct value *json_of(struct arena *a, const struct answer *ans);

/* Fail the test unless the answer is a problem with this status and name. */
void assert_problem(struct arena *a, const struct answer *ans, int status, const char *name);

/* Returns true when the body contains this text. */
bool has(const struct answer *ans, const char *text);

/* Send a request on a connection of its own; its answer is read later. */
int open_request(struct world *w, const char *method, const char *target, const char *fields,
                 const char *body);
struct answer read_answer(struct arena *a, int fd, bool head_only);

/* Close the connection with a reset. */
void reset_request(int fd);

/* Store `n` entries, named from `from` on, in the feed with this URL, which is known. */
void publish(struct world *w, const char *url, int from, int n);

/* Wait until a condition holds, or fail. */
#define until(cond)                                                                                \
    do {                                                                                           \
        int tries_ = 0;                                                                            \
        while (!(cond)) {                                                                          \
            if (++tries_ > 12000)                                                                  \
                fail_msg("never: %s", #cond);                                                      \
            nap(5);                                                                                \
        }                                                                                          \
    } while (0)
void nap(int ms);
