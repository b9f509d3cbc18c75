/* fetcher/poll.h - the source "poll": it asks for the feed's own document. Other sources use parts
 * of it.
 *
 * A poll asks for the feed's URL. If it finds an archive document (RFC 5005 section 4), it goes on
 * once to the document to subscribe to. When that document is not a feed, the archive document is
 * asked for again and is used as the feed. When a document says that the feed has moved (RSS
 * newLocation, itunes:new-feed-url), this is believed if there is a feed at the new URL; at once if the
 * document is the feed's own, and as a permanent redirect is (moves.h) if a redirect led elsewhere to it. A missing
 * feed is looked for on the web page on which it was found. A web page at the feed's URL is
 * searched for the feeds that it announces (discovery.h). A feed that has a cursor is a stream from
 * then on (stream.h).
 */
#pragma once

#include "feed/lists/history.h"
#include "fetcher/check.h"
#include "fetcher/reading.h"

/* r->doc is a feed. Compare it, and hand the outcome to the storer. If the feed has a cursor that
 * can be followed, it is the outcome of a stream. For all sources that find feeds. */
enum job_step poll_take(struct reading *r, const struct found_at *at);

/* No document was read: hand only the feed's state to the storer. `is_same`: the document is the
 * same as before; otherwise job->resp says what came instead. */
enum job_step poll_take_state(struct reading *r, bool is_same, const struct found_at *at);

/* r->doc, found at the feed's own URL, is not a feed. */
enum job_step poll_take_other(struct reading *r);

/* The answer had no document, or its document is not a feed. Look for another URL to ask. Returns
 * STEP_QUEUE, or STEP_UNDERSTAND when there is no other URL. */
enum job_step poll_look_elsewhere(struct job *job);

/* Returns true when an archive document led to another URL. */
bool poll_was_led(const struct job *job);

/* The row's `stored` of all sources that find feeds. */
void poll_stored(struct job *job, enum rc rc, const struct store_result *res,
                 const struct err *err);

/* Returns the URL that was asked, and the URL of the feed by the answer. */
struct found_at poll_found_at(const struct job *job);

/* Fill the outcome, without its entries. Pure; for poll_take() and tests. */
struct poll_facts {
    struct check_facts check;
    struct str left_cursor; /* as in struct poll_outcome */
    bool leads_on; /* the document leads to a URL that the next poll asks; then this document is
                      read again */
    const unsigned char *hash; /* of the body; NULL: later bodies are not compared with this one */
    struct feed_history history;
    struct doc_past past;
};
void poll_outcome_fill(struct arena *a, struct job *job, const struct feed *fresh,
                       const struct poll_facts *facts, const struct found_at *at, int64_t now,
                       struct poll_outcome *o);
