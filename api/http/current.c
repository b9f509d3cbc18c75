/* api/http/current.c - see current.h. */
#include "api/http/current.h"

#include <string.h>

#include "api/http/again.h"
#include "api/http/reply.h"
#include "api/http/routes.h"
#include "model/cursor.h"
#include "storage/store.h"

/* Perhaps on another thread. */
static void on_current(void *ctx, enum rc rc)
{
    again_post(ctx, rc);
}

/* The same; if it cannot learn more, what this node knows will do. */
static void on_tried(void *ctx, enum rc rc UNUSED)
{
    again_post(ctx, RC_OK);
}

static void catch_up(struct request *req, request_handler_fn *handle, store_current_fn *done)
{
    req->again = NULL;
    req->on_gone = NULL;
    store_catch_up(req->ask.api->store, done, again_take(req, handle));
}

bool current_first(struct request *req, request_handler_fn *handle)
{
    if (store_is_current(req->ask.api->store))
        return false;
    catch_up(req, handle, on_tried);
    return true;
}

/* Has the text a cursor of this log that is after its end, as far as this node knows? */
static bool has_ahead(struct store *s, struct str text)
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

/* The bodies of strangers, such as deliveries of hubs, do not count. */
static bool is_ahead(const struct request *req)
{
    struct store *s = req->ask.api->store;
    bool is_callers = req->route->role != ROLE_NONE;

    return has_ahead(s, req->ask.target) ||
           has_ahead(s, http_request_field(req->http, "last-event-id")) ||
           (is_callers && has_ahead(s, http_request_body(req->http)));
}

/* The node has caught up. If the cursor is still ahead, it is not taken by its time: then the
 * client would get again what it has, and lack what is stored in between. */
static void handle_ahead(struct request *req)
{
    request_handler_fn *handle = req->again;
    struct problem p;

    req->again = NULL;
    if (!is_ahead(req)) {
        handle(req);
        return;
    }
    problem_set(&p, req->ask.arena, PROBLEM_BUSY,
                "The cursor is after the end of the log, as far as this node can learn.");
    p.retry_after_s = 1;
    reply_problem(req, &p);
}

void current_handle(struct request *req, request_handler_fn *handle)
{
    struct store *s = req->ask.api->store;

    if (store_is_current(s)) {
        handle(req);
        return;
    }
    if (is_ahead(req)) {
        catch_up(req, handle_ahead, on_current);
        req->again = handle;
        return;
    }
    if (strcmp(req->route->method, "GET") == 0) /* also of a route that another one calls */
        req->again = handle;
    handle(req);
}

bool current_once(struct request *req)
{
    if (req->again == NULL)
        return false;
    catch_up(req, req->again, on_current);
    return true;
}

bool current_again(struct request *req, const struct problem *p)
{
    return (p->kind == PROBLEM_NOT_FOUND || p->kind == PROBLEM_BAD_POSITION) && current_once(req);
}
