/* api/views/log_query.h - what /log and /events are asked for: which feeds, and after which
 * position. The request's loop only. */
#pragma once

#include "api/http/request.h"
#include "api/views/cursor_spec.h"
#include "model/view.h"

struct log_query {
    struct cursor_spec from; /* what comes after it is shown */
    struct view view;        /* by seq, oldest first, with deletions; the range is the caller's */
    bool public_only;        /* without feeds that are protected by a password */
};

/* The feeds that the request names, which must be known: it fetches nothing. None: all feeds that
 * the caller may see. Sets `view` and `public_only`; the ids are in the request's arena, sorted. */
bool log_query_feeds(struct request *req, struct log_query *query, struct problem *p) NODISCARD;

/* The position that a text names. `name`: of the parameter or field, for a problem. */
bool log_query_from(struct request *req, const char *name, struct str text, struct log_query *query,
                    struct problem *p) NODISCARD;
