/* api/http/again.c - see again.h. */
#include "api/http/again.h"

#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/compiler.h"
#include "base/mem.h"

#define WAIT_MS 4500

struct waiting {
    struct again again; /* first */
    struct ticket ticket;
    request_handler_fn *handle;
    enum rc rc;
};

struct again *again_take(struct request *req, request_handler_fn *handle)
{
    struct waiting *w = NEW(struct waiting);

    *w = (struct waiting){.ticket = ticket_take(req, WAIT_MS), .handle = handle};
    return &w->again;
}

static void on_home(struct request *req, void *work)
{
    struct waiting *w = work;
    struct problem p;

    if (req != NULL && w->rc == RC_OK) {
        req->serial = 0; /* the handler may hold it, for a time of its own */
        w->handle(req);
    } else if (req != NULL) {
        problem_set(&p, req->ask.arena, PROBLEM_BUSY,
                    "This node cannot learn at this time what other nodes have stored.");
        p.retry_after_s = 1;
        reply_problem(req, &p);
    }
    mem_free(w);
}

void again_post(struct again *a, enum rc rc)
{
    struct waiting *w = CONTAINER_OF(a, struct waiting, again);

    w->rc = rc;
    ticket_post(&w->ticket, on_home, w);
}

void again_free(struct again *a)
{
    mem_free(CONTAINER_OF(a, struct waiting, again));
}
