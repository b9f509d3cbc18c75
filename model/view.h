/* model/view.h - a view of the log: what a request, an archive, a cursor or a push asks for.
 *
 * Parsed once (api/params.c), understood by storage. A view names feeds by id, in any order,
 * without doubles. Every later protocol is one more use of this struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_order {
    VIEW_NEWEST,   /* entry date, newest first; then arrival, newest first */
    VIEW_LOG,      /* by seq, oldest first: every revision */
    VIEW_LOG_DESC, /* by seq, newest first */
    VIEW_MODIFIED, /* current revision of each entry by seq, oldest first */
    VIEW_CREATED,  /* current revision of each entry by the seq of its first, oldest first */
    VIEW_MODIFIED_DESC, /* the exact reverses of these two */
    VIEW_CREATED_DESC,
};

struct view {
    const int64_t *feed_ids;
    size_t n_feeds;
    bool all_feeds;     /* then feed_ids is not looked at */
    enum view_order order;
    int64_t after_seq;  /* exclusive; 0: from the beginning */
    int64_t before_seq; /* exclusive; INT64_MAX: to the end */
    size_t len;         /* at most so many rows */
    size_t skip;        /* VIEW_NEWEST: rows to pass over first (paging) */
    bool with_deleted;  /* deleted entries too; VIEW_LOG and its kin */
};
