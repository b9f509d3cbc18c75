/* api/views/event_streams.h - the open streams of /events, and what each of them is to get.
 *
 * Each http loop has its own streams, and no lock. A stream is a position in the log. What it has
 * not got yet is given to it as long as its client reads; while it does not, only the position is
 * kept.
 */
#pragma once

#include "api/http/request.h"
#include "api/views/log_query.h"

struct events;
/* `beat_ms`: how often each stream gets a comment. A stream whose caller has lost its right ends
 * then, unless events_look() has ended it before. `api` is borrowed. */
struct events *events_new(struct api *api, struct store *s, int64_t beat_ms);
/* After a commit. Any thread; quick. */
void events_notice(struct events *e, const struct commit_notice *notice);
/* Callers may have lost their rights: end their streams. Any thread; quick. */
void events_look(struct events *e);
/* The server is stopping: end all streams. One that is asked for later ends at once. Before the
 * store is closed. */
void events_stop(struct events *e);
/* After the http loops are gone. */
void events_free(struct events **ep);

/* Answer a request with the stream of what it asks for (query->from must be read). It becomes
 * held. The request's loop. */
void events_start(struct request *req, const struct log_query *query);
