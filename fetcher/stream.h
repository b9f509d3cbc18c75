/* fetcher/stream.h - the source "stream": a Smart Feed, read piece by piece by its cursor.
 *
 * The row of the feed has the cursor (model/feed.h). The cursor moves in the same transaction that
 * stores the entries before it. While the stream has more, the job asks for the next piece at once.
 * stream_rules.h decides what is asked first, and what is asked after each answer.
 *
 * Source: Smart Feeds, "Updates/Synchronization via Pull" and "via Push", "HTTP Pull". */
#pragma once

#include "fetcher/check.h"
#include "fetcher/reading.h"
#include "fetcher/stream_rules.h"

/* What a document is in its stream. */
struct stream_piece {
    struct doc_piece piece; /* strings live in the document */
    struct str left_cursor; /* not null: the feed was a stream, but this document shows that it is
                               not one any more */
};

/* Returns true when the document was received to its end. If a cut piece were taken, its cursor
 * would move past the entries that are missing, and they would be lost. Documents without a cursor
 * may be cut. */
bool stream_is_whole(const struct reading *r);

/* Give each deletion without a time the time at which it came. Its position in the stream tells
 * which changes it follows. */
void stream_date_deletions(struct reading *r);

/* Returns true when the document that was compared is a piece of a stream. `base`: its URL, without
 * the parameters for a piece. */
bool stream_judge(struct reading *r, struct str base, struct stream_piece *out);

/* Hand the piece over to the storer. `piece` is NULL when no piece came; then job->resp says why.
 */
enum job_step stream_take(struct reading *r, const struct stream_piece *piece,
                          const struct found_at *at);

/* Returns the URL of the job's document, without the parameters for a piece of a stream. */
struct str stream_document_url(struct job *job);

/* ---- pure, for stream.c and tests ------------------------------------------------------------ */

/* Set the first request for job->feed, which has a cursor. */
void stream_begin(struct job *job);

/* Ask for what comes after `cursor`. Returns false when the URL would be too long. */
bool stream_ask_more(struct job *job, struct str cursor);

/* Returns the URL that was asked, and the URL of the stream by the answer. */
struct found_at stream_found_at(struct job *job);

/* Returns what has been seen of the stream; it is made if it does not exist. */
struct stream_state *stream_state_of(struct job *job);

void stream_outcome_fill(struct arena *a, struct job *job, const struct feed *fresh,
                         const struct check_facts *facts, const struct doc_piece *piece,
                         const struct found_at *at, int64_t now, struct stream_outcome *o);
