/* storage/sqlite/feed_events.c - see feed_events.h. */
#include "storage/sqlite/feed_events.h"

#include "storage/sqlite/stmt.h"

enum rc feed_events_add(struct db *db, const struct feed_event *event, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "INSERT INTO feed_events (seq, feed_id, at_us, kind, detail)"
                          " VALUES (?1, ?2, ?3, ?4, ?5)",
                          "iiiis", event->seq, event->feed_id, event->at_us, (int64_t)event->kind,
                          event->detail);

    if (rc != RC_OK)
        return rc;
    return stmt_run(db, err,
                    "DELETE FROM feed_events WHERE seq IN (SELECT seq FROM feed_events"
                    " WHERE feed_id = ?1 ORDER BY seq DESC LIMIT -1 OFFSET ?2)",
                    "ii", event->feed_id, (int64_t)FEED_EVENTS_KEPT);
}

/* Read the event that the statement finds; seq 0: it finds none. */
static enum rc read_event(struct db *db, sqlite3_stmt *st, struct arena *a, struct feed_event *out,
                          struct err *err)
{
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    *out = (struct feed_event){.seq = 0};
    if (got > 0) {
        *out = (struct feed_event){.seq = col_int(st, 0),
                                   .at_us = col_int(st, 1),
                                   .feed_id = col_int(st, 2),
                                   .kind = (enum feed_event_kind)col_int(st, 3),
                                   .detail = col_str(st, 4, a)};
        stmt_end(st);
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc feed_events_next(struct db *db, int64_t feed_id, int64_t after, struct arena *a,
                         struct feed_event *out, struct err *err)
{
    return read_event(db,
                      stmt_start(db, err,
                                 "SELECT seq, at_us, feed_id, kind, detail FROM feed_events"
                                 " INDEXED BY feed_events_feed WHERE feed_id = ?1 AND seq > ?2"
                                 " ORDER BY seq LIMIT 1",
                                 "ii", feed_id, after),
                      a, out, err);
}

enum rc feed_events_load(struct db *db, int64_t seq, struct arena *a, struct feed_event *out,
                         struct err *err)
{
    return read_event(db,
                      stmt_start(db, err,
                                 "SELECT seq, at_us, feed_id, kind, detail FROM feed_events"
                                 " WHERE seq = ?1",
                                 "i", seq),
                      a, out, err);
}

enum rc feed_events_count(struct db *db, int64_t feed_id, int64_t after, int64_t *n,
                          struct err *err)
{
    int64_t found = 0;
    enum rc rc = stmt_number(db,
                             stmt_start(db, err,
                                        "SELECT count(*) FROM feed_events INDEXED BY"
                                        " feed_events_feed WHERE feed_id = ?1 AND seq > ?2",
                                        "ii", feed_id, after),
                             &found, err);

    *n += found;
    return rc;
}

enum rc feed_events_move(struct db *db, int64_t from, int64_t to, struct err *err)
{
    return stmt_run(db, err, "UPDATE feed_events SET feed_id = ?2 WHERE feed_id = ?1", "ii", from,
                    to);
}
