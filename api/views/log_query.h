/* api/views/log_query.h - what /log and /events are asked for: which feeds, and after which
 * position. The request's loop only. */
#pragma once

#include "api/http/request.h"
#include "api/views/cursor_spec.h"
#include "model/view.h"

struct log_query {
    struct cursor_spec from; /* what comes after it is shown */
    struct view view;        /* by seq, oldest first, with deletions; the range is the caller's */
    struct str edition;      /* of the views that it names; null: none */
    bool has_sets;           /* which feeds these are may change (feeds_asked.h) */
    int64_t shown;           /* has_sets: sub_book_shown() before they were looked up */
    struct str lasting;      /* has_sets: the text of its filter, in which ages stay ages; null: none */
    struct caller caller;    /* without its source and rate. If it names no feeds, protected ones that it may not see are
                                left out (seen.h) */
};

/* The feeds that the request names, which must be known: it fetches nothing. None: all feeds that
 * the caller may see. And its filter. Sets `view` and `caller`; the ids, sorted, and the
 * filter are in the ask's arena. */
bool log_query_feeds(struct ask *ask, struct log_query *query, struct problem *p) NODISCARD;

/* The position that a text names. `name`: of the parameter or field, for a problem. */
bool log_query_from(struct request *req, const char *name, struct str text, struct log_query *query,
                    struct problem *p) NODISCARD;

#define LOG_WINDOW 20000 /* numbers of the log */

/* Bound one look at a filtered log after `after`: if the index of words cannot narrow the filter
 * down, each revision is judged, so a look takes LOG_WINDOW numbers at most. True: it was bounded,
 * and what follows is the next look's. */
bool log_query_bound(struct view *view, int64_t after);
