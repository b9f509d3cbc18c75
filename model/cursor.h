/* model/cursor.h - a position in the log as text, as clients keep it: fm1.LOG.SEQ.TIME.
 *
 * In a stream of named views, their edition is a fifth part: fm1.LOG.SEQ.TIME.EDITION. With another
 * definition of the views it is another stream.
 *
 * A reader that was told that a part of the history is gone goes on with a *floor*:
 * fm1.LOG.SEQ-FLOOR.TIME. It knows that what was taken away up to FLOOR is lost, and is to get what
 * is kept after SEQ. When SEQ has passed FLOOR, the floor is not written any more.
 *
 * Pure; any thread. How a client's position is read: api/views/cursor_spec.h.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define CURSOR_PREFIX "fm1."
#define CURSOR_LOG_DIGITS 8 /* of the log's id */
#define CURSOR_TEXT 96      /* bytes of a cursor with its final zero, at most */

/* Write the cursor of a reader that has everything up to `seq`, whose event time is `at_us`. */
void cursor_write(char out[CURSOR_TEXT], struct str log_id, int64_t seq, int64_t at_us);

/* The same in a stream of views. `edition`: at most CURSOR_EDITION_LEN bytes; null: there are no
 * views. */
#define CURSOR_EDITION_LEN 8
void cursor_write_in(char out[CURSOR_TEXT], struct str log_id, struct str edition, int64_t seq,
                     int64_t at_us);

/* The same with a floor, which is written if it is greater than `seq`. */
void cursor_write_over(char out[CURSOR_TEXT], struct str log_id, struct str edition, int64_t seq,
                       int64_t floor, int64_t at_us);
