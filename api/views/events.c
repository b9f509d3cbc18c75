/* api/views/events.c - GET /events: the revisions after a position, as server-sent events.
 * Source: HTML, section 9.2 (WHATWG). */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/views/event_streams.h"

/* The position: Last-Event-ID, else `since`, else the end of the log. A client that comes again
 * repeats the `since` it began with, so the field wins. */
static bool read_from(struct request *req, struct log_query *query, struct problem *p)
{
    struct str last = http_request_field(req->http, "last-event-id"), since;

    if (last.len > 0)
        return log_query_from(req, "Last-Event-ID", last, query, p);
    return params_one(&req->ask.params, req->ask.arena, PARAM_events_since, &since, p) &&
           log_query_from(req, param_name(PARAM_events_since),
                          str_is_null(since) ? STR("end") : since, query, p);
}

void events_get(struct request *req)
{
    struct log_query query;
    struct problem p;

    if (log_query_feeds(&req->ask, &query, &p) && read_from(req, &query, &p))
        events_start(req, &query);
    else
        reply_problem(req, &p);
}
