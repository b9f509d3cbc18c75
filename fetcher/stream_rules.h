/* fetcher/stream_rules.h - a Smart Feed that is read by its cursor: the URL of a piece, and what an
 * answer says of what is asked next. Pure.
 */
#pragma once

#include "base/arena.h"
#include "model/document.h"
#include "model/feed.h"
#include "storage/store.h"

#define STREAM_CURSOR_MAX 2048
#define STREAM_ITEMS 1000 /* asked for at once where more is known to be there */
#define STREAM_SEEN 64

/* The URL for what comes after `cursor`, without waiting for it; `max` items at most, 0: as many as
 * the server likes. In the arena; null when it would be too long. */
struct str stream_url_after(struct arena *a, struct str base, struct str cursor, int max);

/* The URL without what stream_url_after() adds: the base URL of the stream. */
struct str stream_base_url(struct arena *a, struct str url);

/* Does the URL ask for what comes after something? */
bool stream_has_since(struct arena *a, struct str url);

/* Has the stream of this URL its newest item first (`order=-modified`)? What comes after its cursor
 * is older, so it is polled like any other feed. */
bool stream_descends(struct arena *a, struct str url);

/* Does the text end where a feed document ends? */
bool stream_is_text_whole(struct str body);

/* What a request asks for. */
enum stream_ask {
    STREAM_FIRST = 0, /* the first piece: there is no cursor yet */
    STREAM_AFTER,     /* what comes after a cursor */
    STREAM_REFUSED,   /* the first piece: the cursor was refused, or is given up */
    STREAM_CHECK,     /* the first piece, though nothing is wrong with the cursor */
};

/* What a job has seen of a stream. Starts as zeros. */
struct stream_state {
    enum stream_ask ask;
    struct str base;    /* the URL without what asks for a piece; null before one was asked for */
    struct str cursor;  /* STREAM_AFTER: after which */
    bool with_max;      /* a number of items was asked for */
    bool no_max;        /* that was refused */
    bool is_redirected; /* to where the cursor had to be named once more */
    bool has_next;      /* the server links to its next pieces */
    bool brings_news;   /* something was new or changed */
    int n_idle;         /* pieces in a row without news, and the items in them */
    int64_t n_idle_items;
    int n_seen;
    uint64_t seen[STREAM_SEEN]; /* hashes of the last cursors */
};

/* Take note of a document. `url`: its base URL; `has_news`: something in it is new or changed.
 * True: it is a piece, and *out says which; or, when out->cursor is null, the feed was a stream
 * until now. Nothing follows a piece that does not lead on, so that a server that errs is not asked
 * for ever.
 */
bool stream_place_piece(struct stream_state *f, const struct feed *feed, struct str url,
                        const struct feed_doc *doc, bool has_news, struct doc_piece *out);

/* What is to be done with what an upstream hub delivered. */
enum stream_push {
    STREAM_PLAIN, /* the feed is not a stream */
    STREAM_TAKE,  /* it is next: *out says where it stands */
    STREAM_KNOWN, /* all of it is here; *out as well */
    STREAM_PULL,  /* something was missed: the feed is to be asked */
};
enum stream_push stream_place_push(const struct feed *feed, const struct feed_doc *doc,
                                   struct doc_piece *out);
