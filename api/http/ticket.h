/* api/http/ticket.h - finds the way back to a request from another thread.
 *
 * Work for a request may run on a reader thread, in the storer or on the other side of a port. Its
 * struct then has a ticket. When the work is done, ticket_post() runs a function on the request's
 * loop. This function answers the request, or frees the work if the client has left in the
 * meantime. */
#pragma once

#include "api/http/request.h"

/* Runs on the loop. `req` is NULL when the client has left. The function must free `work`. */
typedef void ticket_home_fn(struct request *req, void *work);

struct ticket {
    struct loop *loop;
    uint64_t serial;         /* serial of the request on its loop */
    struct request *request; /* valid only if the loop still knows the serial */
    ticket_home_fn *home;    /* set by ticket_post(), like the next */
    void *work;
};

/* Make a ticket for this request, which is held (`deadline_ms` as in
 * request_hold_for_store()). Only its loop may call this. */
struct ticket ticket_take(struct request *req, int64_t deadline_ms);

/* Run `home` on the loop. The ticket is part of `work`, which must stay in memory until then. Any
 * thread. */
void ticket_post(struct ticket *t, ticket_home_fn *home, void *work);
