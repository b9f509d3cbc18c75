/* net/component.h - our connection to an XMPP server, as its external component (XEP-0114).
 *
 * One thread keeps the connection and owns it. It connects again, with growing pauses, when the
 * connection is lost. Requests of others (iq) are handed up by a callback. Answers and messages are
 * given as text, and are queued; both queues are bounded.
 *
 * A message has been delivered when the server of its receiver has it. Each message is followed by
 * a ping (XEP-0199) to that server. Servers handle what comes one way in order, so its answer,
 * whatever it is, comes after the message, and after an error that answers the message. Servers do
 * not offer XEP-0198 to components. A ping to our own address, after each batch, tells what our own
 * server has taken: at most WINDOW bytes are on their way to it.
 *
 * SIGPIPE must be ignored: libstrophe writes to connections that may have ended.
 *
 * ares_library_init() must have been called, as for resolver.h, unless the host is an address.
 * Any thread may call these functions, except where noted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "net/stanza.h"

struct component;

/* Bytes of a stanza that we send, at most; servers refuse large ones (RFC 6120 section 13.12). */
#define COMPONENT_STANZA_MAX ((size_t)200 * 1024)

struct component_cfg {
    struct str host; /* of the server; name or address */
    int port;
    struct str name;        /* our address: "feeds.example.org" */
    struct str secret;      /* shared with the server. SECRET */
    int64_t first_pause_ms; /* after a connection was lost; doubles up to max_pause_ms */
    int64_t max_pause_ms;
    int64_t silence_ms; /* a ping that is not answered while nothing comes for so long ends the
                           connection, or one that is not answered for three times as long; so does
                           a server that has not accepted us by then; without other traffic a ping
                           is sent this often */
    const char *dns;    /* name servers, "127.0.0.1:53,..."; NULL: /etc/resolv.conf */
};

/* A request that somebody sent: an iq of type get or set. */
struct component_request {
    struct arena *arena; /* it lives in this arena, with its strings */
    struct str from, to, id;
    bool is_set;
    const struct stanza *payload; /* NULL: none */
};

/* Runs on the component's thread, so it must be quick. The request is given: free it with
 * component_request_free(). Each request must be answered once, with component_answer(). */
typedef void component_request_fn(void *ctx, struct component_request *req);

/* Free a request, with everything that was put into its arena. */
void component_request_free(struct component_request *req);

/* What became of a message. Texts are borrowed for the call. */
struct component_result {
    enum rc rc;      /* RC_OK: the receiver's server has it. RC_PEER: it was answered by an error.
                        RC_TIMEOUT: no confirmation in time. RC_CLOSED: cancelled, or the component
                        has stopped. RC_IO: the connection was lost */
    const char *err; /* a sentence, unless rc is RC_OK */
    struct str condition; /* RC_PEER: "item-not-found" (RFC 6120 section 8.3.3) */
    struct str text;      /* RC_PEER: what the error says; null */
};
typedef void component_done_fn(void *ctx, const struct component_result *res);

/* Make it; it does not connect yet. Strings are copied. Never fails. */
struct component *component_new(const struct component_cfg *cfg);

/* Start the thread. */
void component_start(struct component *c, component_request_fn *on_request, void *ctx);

/* False: make no connection; end the one that there is when all that was sent is confirmed, or
 * after silence_ms. Only one of several nodes can be the component of a name. True (as at first):
 * connect. */
void component_set_active(struct component *c, bool active);

/* Hand up no more requests. Send what is queued and wait for its confirmation, at most `ms`. Then
 * end the stream and the thread, which takes half a second more at most. What is not confirmed gets
 * RC_CLOSED. */
void component_stop(struct component *c, int64_t ms);

/* Stop if needed and free. NULL is allowed. */
void component_free(struct component **cp);

/* Our address. Lives as long as the component. */
struct str component_name(const struct component *c);

/* Queue the answer to a request: a complete stanza. It is dropped when the connection is lost, as
 * the one who asked will ask again. */
void component_answer(struct component *c, struct str xml);

/* Queue a message, a complete stanza with this id, for somebody at `host`, which is valid in an
 * attribute. If there is no connection it waits for one, but not for long, as a later try is better
 * than a queue that holds up others; if none is wanted, for half a second.
 * Returns its number, for component_cancel(); 0: the queue is full or the component has stopped,
 * and `done` will not run. `done` runs once, on the component's thread; it may run before this
 * function has returned. */
uint64_t component_deliver(struct component *c, struct str id, struct str host, struct str xml,
                           int64_t timeout_ms, component_done_fn *done, void *ctx);

/* `done` of this message runs soon, with RC_CLOSED unless something else became of it. */
void component_cancel(struct component *c, uint64_t number);
