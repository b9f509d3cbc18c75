/* api/views/history.h - has retention taken what a position would still be given?
 *
 * It is asked after the rows were read: horizons only rise, so an answer that passes lacked
 * nothing.
 */
#pragma once

#include "api/http/request.h"
#include "api/views/cursor_spec.h"
#include "model/view.h"
#include "storage/store.h"

/* Reader threads. RC_GONE: of the feeds of the view something after the position was taken that its
 * reader does not know to be lost. `seq`: what cursor_find() made of the position. *floor: that of
 * the cursors which the answer gives. */
enum rc history_check(struct reader *r, const struct view *view, const struct cursor_spec *at,
                      int64_t seq, int64_t *floor, struct err *err) NODISCARD;

/* Reader threads. *floor: of the cursors of an answer that begins with the oldest that is kept. What it
 * begins with may be older than what was taken. */
enum rc history_floor(struct reader *r, const struct view *view, int64_t *floor, struct err *err) NODISCARD;

/* The request's loop. Give the problem of RC_GONE its member `horizon`: the cursor from which all
 * that is kept of these feeds follows. */
void history_tell(struct ask *ask, const struct view *view, struct str edition, struct problem *p);
/* The same if it is known what was taken: everything up to `floor`. */
void history_put(struct ask *ask, int64_t floor, struct str edition, struct problem *p);
/* The same on any thread; the text is in the arena. */
void history_put_kept(struct store *s, struct arena *a, int64_t floor, struct str edition,
                      struct problem *p);
