/* api/http/current.h - a node that shares its log with others may not know yet what another has
 * acknowledged. Before it says "no", it catches up, and the request is handled once more. When the
 * log has one writer, nothing of this happens. Only the request's loop may call these. */
#pragma once

#include "api/http/problem.h"
#include "api/http/request.h"

/* Handle the request; first catch up if it has a cursor of this log that is after its end. If it
 * still is, the request gets 503. */
void current_handle(struct request *req, request_handler_fn *handle);

/* The request needs what other nodes have acknowledged, whatever it is. True: `handle` will be
 * called after this node has caught up, or when it cannot. */
bool current_first(struct request *req, request_handler_fn *handle);

/* The request needs what this node does not have yet. True: another node may have stored it, so the
 * request is handled again later. */
bool current_once(struct request *req);

/* The request is about to be answered with this problem. True: it is not, because another node may
 * know better; the request is handled again later. */
bool current_again(struct request *req, const struct problem *p);
