/* api/http/ticket.h - the way back to a request from another thread.
 *
 * Work for a request that runs elsewhere (on a reader thread, in the storer, on the other side of a
 * port) is part of a struct that also holds a ticket. When it is done, ticket_post() runs a
 * function on the request's loop, which answers the request, or frees the work if the client has
 * left meanwhile.
 */
#pragma once

#include "api/http/request.h"

/* Runs on the loop. `req` is NULL when the client has left. The function must free `work`. */
typedef void ticket_home_fn(struct request *req, void *work);

struct ticket {
    struct loop *loop;
    uint64_t serial;         /* of the request, on its loop */
    struct request *request; /* valid only if the loop still knows the serial */
    ticket_home_fn *home;    /* set by ticket_post(), like the next */
    void *work;
};

/* A ticket for this request, which is held (`deadline_ms` as in request_hold()). Its loop only. */
struct ticket ticket_take(struct request *req, int64_t deadline_ms);

/* Run `home` on the loop. The ticket is part of `work`, and stays where it is until then. Any
 * thread. */
void ticket_post(struct ticket *t, ticket_home_fn *home, void *work);
