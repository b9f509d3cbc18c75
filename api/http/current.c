/* api/http/current.c - see current.h. */
#include "api/http/current.h"

#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/mem.h"
#include "model/cursor.h"
#include "storage/store.h"

#define WAIT_MS 4500 /* a request is answered within 5 s */

struct catching_up {
    struct ticket ticket;
    request_handler_fn *handle;
    enum rc rc;
};

static void on_home(struct request *req, void *work)
{
    struct catching_up *c = work;
    struct problem p;

    if (req != NULL && c->rc == RC_OK) {
        req->serial = 0; /* the handler may hold it, for a time of its own */
        c->handle(req);
    } else if (req != NULL) {
        problem_set(&p, req->ask.arena, PROBLEM_BUSY,
                    "This node cannot learn at this time what other nodes have stored.");
        p.retry_after_s = 1;
        reply_problem(req, &p);
    }
    mem_free(c);
}

/* Perhaps on another thread. */
static void on_current(void *ctx, enum rc rc)
{
    struct catching_up *c = ctx;

    c->rc = rc;
    ticket_post(&c->ticket, on_home, c);
}

static void catch_up(struct request *req, request_handler_fn *handle)
{
    struct catching_up *c = NEW(struct catching_up);

    req->again = NULL;
    req->on_gone = NULL;
    *c = (struct catching_up){.ticket = ticket_take(req, WAIT_MS), .handle = handle};
    store_catch_up(req->ask.api->store, on_current, c);
}

/* Has the text a cursor of this log that is after its end? */
static bool is_ahead(struct store *s, struct str text)
{
    struct str log_id = str_slice(store_log_id(s), 0, CURSOR_LOG_DIGITS), rest = text;
    ssize_t at;
    int64_t seq;

    while ((at = str_find(rest, STR(CURSOR_PREFIX))) >= 0) {
        rest = str_slice(rest, (size_t)at + sizeof CURSOR_PREFIX - 1, rest.len);
        if (!str_starts(rest, log_id))
            continue;
        rest = str_slice(rest, log_id.len, rest.len);
        if (!str_starts(rest, STR(".")))
            continue;
        rest = str_slice(rest, 1, rest.len);
        at = str_find(rest, STR("."));
        if (at > 0 && str_to_i64(str_slice(rest, 0, (size_t)at), &seq) && seq > store_last_seq(s))
            return true;
    }
    return false;
}

void current_handle(struct request *req, request_handler_fn *handle)
{
    struct store *s = req->ask.api->store;
    struct str method = http_request_method(req->http);

    if (store_is_current(s)) {
        handle(req);
        return;
    }
    if (is_ahead(s, req->ask.target) || is_ahead(s, http_request_body(req->http)) ||
        is_ahead(s, http_request_field(req->http, "last-event-id"))) {
        catch_up(req, handle);
        return;
    }
    if (str_eqz(method, "GET") || str_eqz(method, "HEAD"))
        req->again = handle;
    handle(req);
}

bool current_once(struct request *req)
{
    if (req->again == NULL)
        return false;
    catch_up(req, req->again);
    return true;
}

bool current_again(struct request *req, const struct problem *p)
{
    return (p->kind == PROBLEM_NOT_FOUND || p->kind == PROBLEM_BAD_POSITION) && current_once(req);
}
