/* api/views/log_rows.h - rows of the log as /log and /events show them. Reader threads only: each
 * call takes the reader of its thread, or is pure. */
#pragma once

#include "base/buf.h"
#include "model/view.h"
#include "storage/store.h"

/* The feeds of rows, by id. In an arena. */
struct log_feeds {
    struct feed *items;
    size_t n;
};
enum rc log_feeds_read(struct reader *r, struct arena *a, const struct revision *rows, size_t n,
                       struct log_feeds *out, struct err *err) NODISCARD;

/* Append the object of a row, on one line without its end. `edition`: of the views that the request names; null: it
 * names none. `floor`: of its cursor (model/cursor.h). */
void log_row_write(struct buf *out, const struct revision *row, const struct log_feeds *feeds,
                   struct str log_id, struct str edition, int64_t floor);

/* Is the feed one that everybody may see, because neither a password nor anything else of its own is sent with its
 * fetches? Any thread. */
bool log_feed_is_public(struct store *s, int64_t feed_id);

/* The event time of a seq, for a cursor that stands where no row is at hand; 0: the log has none.
 */
enum rc log_time_of(struct reader *r, struct arena *a, int64_t seq, int64_t *at_us,
                    struct err *err) NODISCARD;
