/* storage/apply_events.c - what happens to a feed itself: it breaks, recovers, moves, is gone, or
 * may have lost entries. */
#include "storage/apply_parts.h"

void apply_event(struct txn *t, int64_t feed_id, enum feed_event_kind kind, struct str detail)
{
    struct feed_event event = {.seq = txn_next_seq(t),
                               .at_us = txn_next_at_us(t),
                               .feed_id = feed_id,
                               .kind = kind,
                               .detail = detail};
    struct txn_feed *note;

    note = txn_feed(t, feed_id);
    note->has_event = true;
    note->event_seq = event.seq;
    rows_add_event(&t->rows, &event);
}

static bool is_broken(const struct feed *feed, int64_t at)
{
    int64_t good_at =
        feed->last_success_at == TIME_UNKNOWN ? feed->last_check_at : feed->last_success_at;

    return feed->n_errors >= FEED_BROKEN_FAILURES ||
           (feed->n_errors > 0 && good_at != TIME_UNKNOWN && at - good_at >= FEED_BROKEN_S);
}

void apply_health_events(struct txn *t, struct feed_row *row, enum feed_state was, int64_t at)
{
    struct feed *feed = &row->feed;

    if (feed->state == FEED_GONE) {
        if (was != FEED_GONE)
            apply_event(t, feed->id, FEED_EVENT_GONE, feed->last_error);
    } else if (!feed->is_broken && is_broken(feed, at)) {
        feed->is_broken = true;
        apply_event(t, feed->id, FEED_EVENT_BROKEN, feed->last_error);
    } else if (feed->is_broken && feed->n_errors == 0 && feed->state == FEED_OK) {
        feed->is_broken = false;
        apply_event(t, feed->id, FEED_EVENT_RECOVERED, STR_NULL);
    }
}
