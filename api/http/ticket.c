/* api/http/ticket.c - see ticket.h. */
#include "api/http/ticket.h"

#include "base/log.h"

struct ticket ticket_take(struct request *req, int64_t deadline_ms)
{
    request_hold_for_store(req, deadline_ms);
    return (struct ticket){
        .loop = http_request_loop(req->http), .serial = req->serial, .request = req};
}

/* NULL when the client has left. */
static struct request *ticket_request(const struct ticket *t)
{
    return http_request_find(t->loop, t->serial) != NULL ? t->request : NULL;
}

static void on_home(void *ctx)
{
    struct ticket *t = ctx;

    struct request *req = ticket_request(t);

    log_set_request(req == NULL ? STR_NULL : http_request_id(req->http));
    t->home(req, t->work);
    log_set_request(STR_NULL);
}

void ticket_post(struct ticket *t, ticket_home_fn *home, void *work)
{
    t->home = home;
    t->work = work;
    loop_post(t->loop, on_home, t);
}
