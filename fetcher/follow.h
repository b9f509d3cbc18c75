/* fetcher/follow.h - a Smart Feed followed by its cursor: what is asked, and what an answer says of
 * what is asked next. Pure.
 *
 * Smart Feeds, "Updates/Synchronization via Pull" and "via Push", "HTTP Pull". The cursor is the
 * record's (model/feed.h) and moves in the transaction that stores what it covers.
 */
#pragma once

#include "base/arena.h"
#include "model/document.h"
#include "model/feed.h"
#include "storage/store.h"

#define FOLLOW_CURSOR_MAX 2048
#define FOLLOW_ITEMS 1000 /* asked for at once where more is known to be there */
#define FOLLOW_SEEN 64

/* The URL for what is behind `cursor`, without waiting for it; `max` items at most, 0: as many as
 * the server likes. In the arena; null when it would be too long. */
struct str follow_url(struct arena *a, struct str base, struct str cursor, int max);

/* The URL without what follow_url() adds: the base URL of the stream. */
struct str follow_base(struct arena *a, struct str url);

/* Does the URL ask for what is behind something? */
bool follow_has_since(struct arena *a, struct str url);

/* Has the stream of this URL its newest item first (`order=-modified`)? What is behind its cursor
 * is older, so it is polled as any other feed. */
bool follow_descends(struct arena *a, struct str url);

/* Was the document received to its end? For one that is not well-formed: what it lacks would be
 * lost with the cursor that it starts with. */
bool follow_is_whole(struct str body);

/* What a job has seen of a stream. Starts as zeros. */
struct follow_state {
    bool by_cursor;     /* the last request asked for what is behind a cursor */
    bool with_max;      /* and for how many */
    bool no_max;        /* that was refused */
    bool is_refused;    /* the cursor was, or is given up: the first piece is asked for */
    bool is_redirected; /* to where the cursor had to be named once more */
    bool is_check;      /* the first piece is asked for, though nothing is wrong with the cursor */
    bool has_next;      /* the server links to its next pieces */
    bool brings_news;   /* something was new or changed */
    int n_asked;        /* pieces beyond the first request */
    int n_idle;         /* pieces in a row without news, and the items in them */
    int64_t n_idle_items;
    int n_seen;
    uint64_t seen[FOLLOW_SEEN]; /* hashes of the last cursors */
};

/* Take note of a piece, or of a document that should be one. `url`: its base URL; `has_news`:
 * something in it is new or changed. *out: not known when it is of an ordinary feed; there is no
 * more behind a piece that does not lead on, so that a server that errs is not asked for ever. */
void follow_piece(struct follow_state *f, const struct feed_record *rec, struct str url,
                  const struct feed_doc *doc, bool has_news, struct doc_piece *out);

/* What is to be done with what a hub delivered. */
enum follow_push {
    FOLLOW_TAKE,  /* it is next, or the feed is no stream: *out says where it stands */
    FOLLOW_KNOWN, /* all of it is here */
    FOLLOW_PULL,  /* something was missed */
};
enum follow_push follow_delivery(const struct feed_record *rec, const struct feed_doc *doc,
                                 struct doc_piece *out);
