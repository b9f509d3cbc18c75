/* storage/sqlite/feed_events.h - the SQL of what happened to feeds themselves: table feed_events.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"

/* Add one. The feed's older ones over FEED_EVENTS_KEPT are dropped. */
enum rc feed_events_add(struct db *db, const struct feed_event *event, struct err *err) NODISCARD;

/* The first one of the feed after `after`; seq 0: there is none. Arena. */
enum rc feed_events_next(struct db *db, int64_t feed_id, int64_t after, struct arena *a,
                         struct feed_event *out, struct err *err) NODISCARD;

/* The event with this seq; seq 0: there is none. Arena. */
enum rc feed_events_load(struct db *db, int64_t seq, struct arena *a, struct feed_event *out,
                         struct err *err) NODISCARD;

/* Add to *n how many there are after `after`. */
enum rc feed_events_count(struct db *db, int64_t feed_id, int64_t after, int64_t *n,
                          struct err *err) NODISCARD;

/* Feed `from` has become part of feed `to`. */
enum rc feed_events_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;
