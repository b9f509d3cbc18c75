/* feed/write/log_object.h - a revision as the JSON object that /log, event streams and messages give.
 *
 * Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "model/feed.h"

/* Append the object, on one line: seq, cursor, at, kind, initial, feed, url, uid, and `entry`, the
 * stored document as it is. A revision without a document has no `entry`. `url`: the feed's; null
 * when it is not known. */
void log_object_write(struct buf *out, const struct revision *rev, struct str url,
                      struct str log_id);

/* The same with what else a cursor may have (model/cursor.h): the edition of views, and a floor. */
void log_object_write_in(struct buf *out, const struct revision *rev, struct str url,
                         struct str log_id, struct str edition, int64_t floor);
