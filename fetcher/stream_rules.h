/* fetcher/stream_rules.h - rules for a Smart Feed that is read by its cursor: the URL of a piece,
 * and what to ask for after an answer. Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "model/document.h"
#include "model/feed.h"
#include "storage/store.h"

#define STREAM_CURSOR_MAX 2048
#define STREAM_ITEMS 1000 /* asked for at once when more are known to be there */
#define STREAM_SEEN 64

/* Returns the URL for what comes after `cursor`, without waiting for it. `max`: at most so many
 * items; 0: as many as the server likes. The result is in the arena; null when it would be too
 * long. */
struct str stream_url_after(struct arena *a, struct str base, struct str cursor, int max);

/* Returns the URL without what stream_url_after() adds: the base URL of the stream. */
struct str stream_base_url(struct arena *a, struct str url);

/* Returns true when the URL has the parameter `since`: it asks for what comes after something. */
bool stream_has_since(struct arena *a, struct str url);

/* Returns true when the stream at this URL has its newest item first (`order=-modified`). What
 * comes after its cursor is older, so it is polled like any other feed. */
bool stream_descends(struct arena *a, struct str url);

/* What a request asks for. */
enum stream_ask {
    STREAM_FIRST = 0, /* the first piece: there is no cursor yet */
    STREAM_AFTER,     /* what comes after a cursor */
    STREAM_REFUSED,   /* the first piece, because the cursor was refused or given up */
    STREAM_CHECK,     /* the first piece, to see whether the cursor is wrong */
};

/* What a job has seen of a stream. Starts as zeros. */
struct stream_state {
    enum stream_ask ask;
    struct str base;    /* the base URL; null before the first request */
    struct str cursor;  /* STREAM_AFTER: the cursor that was sent */
    bool with_max;      /* the request had a number of items */
    bool no_max;        /* the server refused a number of items */
    bool is_lost;       /* it refused the cursor as gone */
    bool is_redirected; /* a redirect lost the cursor, so it was sent again to the new URL */
    struct str
        moved_to;     /* that redirect was permanent: where it led, without the cursor; or null */
    bool has_next;    /* the server links to its next pieces */
    bool brings_news; /* something was new or changed */
    int n_idle;       /* pieces in a row without news, and the items in them */
    int64_t n_idle_items;
    int n_seen;
    uint64_t seen[STREAM_SEEN]; /* hashes of the last cursors */
};

/* Take note of a document. `url`: its base URL; `has_news`: something in it is new or changed.
 * Returns true when it is a piece, and *out says which. When out->cursor is null, the feed was a
 * stream until now. When a piece does not lead on, nothing more is asked for, so that a server with
 * an error is not asked for ever. */
bool stream_place_piece(struct stream_state *f, const struct feed *feed, struct str url,
                        const struct feed_doc *doc, bool has_news, struct doc_piece *out);

/* Is this piece, and what follows it, something that the stream had before we came, or before its
 * server refused our cursor? Then it says nothing of how the feed posts. A server that refuses each
 * cursor shows its news by such pieces. */
bool stream_is_past(const struct feed *feed, const struct doc_piece *piece);

/* What to do with a delivery of an upstream hub. */
enum stream_push {
    STREAM_PLAIN, /* the feed is not a stream */
    STREAM_TAKE,  /* it comes next in the stream; *out says where */
    STREAM_KNOWN, /* all its entries are stored already; *out is filled, too */
    STREAM_PULL,  /* something before it is missing, so the feed must be asked */
};
enum stream_push stream_place_push(const struct feed *feed, const struct feed_doc *doc,
                                   struct doc_piece *out);
