/* model/view.h - a view of the log: what a request, an archive, a cursor or a push asks for.
 *
 * Parsed once from a request, and then the same for pull, archives, streams, long polls and
 * deliveries. Feeds, order, range and filter are what storage looks at (reader_rows()); form and
 * format are how the rows leave (api/draw.h). Every protocol is a use of this struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_order {
    VIEW_NEWEST,        /* entry date, newest first; then arrival, newest first */
    VIEW_LOG,           /* by seq, oldest first: every revision */
    VIEW_LOG_DESC,      /* by seq, newest first */
    VIEW_MODIFIED,      /* current revision of each entry by seq, oldest first */
    VIEW_CREATED,       /* current revision of each entry by the seq of its first, oldest first */
    VIEW_MODIFIED_DESC, /* the exact reverses of these two */
    VIEW_CREATED_DESC,
};

/* What a revision becomes in a document: a protocol each (api/form.h has the rules). */
enum form {
    FORM_NEWEST,  /* /feed, /feeds, /opml: current entries, newest first */
    FORM_EVENTS,  /* /simple: every revision an event with an id of its own (Simplefeed) */
    FORM_ARCHIVE, /* /archive: every revision under its entry's id, and tombstones (RFC 5005, 6721)
                   */
    FORM_HISTORY, /* /history: the same for draft-00 of Feed History */
    FORM_RECORDS, /* /pmh: metadata records (Atom-PMH) */
    FORM_STREAM,  /* /smart: current items by change or creation, deleted ones marked (Smart Feeds)
                   */
    FORM_COUNT_
};

enum feed_format {
    FORMAT_ATOM,
    FORMAT_RSS,
    FORMAT_JSON,
    FORMAT_JSON_OBJ,
    FORMAT_JSONFEED,
    FORMAT_ACTIVITIES, /* streams only */
};

struct view {
    const int64_t *feed_ids; /* where documents come of it: ascending */
    size_t n_feeds;
    bool all_feeds; /* then feed_ids is not looked at */
    enum view_order order;
    int64_t after_seq;  /* exclusive; 0: from the beginning */
    int64_t before_seq; /* exclusive; INT64_MAX: to the end */
    size_t len;         /* at most so many rows */
    size_t skip;        /* VIEW_NEWEST: rows to pass over first (paging) */
    bool with_deleted;  /* deleted entries too; VIEW_LOG and its kin */
    enum form form;
    enum feed_format format;
};

/* The current items of streams: by creation or by change, from old to new or back. */
static inline bool order_is_by_creation(enum view_order order)
{
    return order == VIEW_CREATED || order == VIEW_CREATED_DESC;
}

static inline bool order_descends(enum view_order order)
{
    return order == VIEW_MODIFIED_DESC || order == VIEW_CREATED_DESC;
}

static inline enum view_order order_of_items(bool by_creation, bool descends)
{
    return by_creation ? (descends ? VIEW_CREATED_DESC : VIEW_CREATED)
                       : (descends ? VIEW_MODIFIED_DESC : VIEW_MODIFIED);
}

/* Ids ascending, without doubles, in place; how many are left. */
size_t view_ids_sort(int64_t *ids, size_t n);

/* The newest entries, behind the first `skip`. */
static inline struct view view_of_newest(size_t len, size_t skip)
{
    return (struct view){.order = VIEW_NEWEST, .before_seq = INT64_MAX, .len = len, .skip = skip};
}
