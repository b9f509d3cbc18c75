/* api/views/log_rows.c - see log_rows.h. */
#include "api/views/log_rows.h"

#include "feed/write/log_object.h"

enum rc log_feeds_read(struct reader *r, struct arena *a, const struct revision *rows, size_t n,
                       struct log_feeds *out, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    size_t n_ids;

    *out = (struct log_feeds){NULL, 0};
    for (size_t i = 0; i < n; i++)
        ids[i] = rows[i].feed_id;
    n_ids = view_ids_sort(ids, n);
    return n_ids == 0 ? RC_OK : reader_feeds_shown(r, ids, n_ids, a, &out->items, &out->n, err);
}

static struct str url_of(const struct log_feeds *feeds, int64_t id)
{
    for (size_t lo = 0, hi = feeds->n; lo < hi;) {
        size_t mid = (lo + hi) / 2;

        if (feeds->items[mid].id == id)
            return feeds->items[mid].url;
        if (feeds->items[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return STR_NULL;
}

void log_row_write(struct buf *out, const struct revision *row, const struct log_feeds *feeds,
                   struct str log_id, struct str edition, int64_t floor)
{
    log_object_write_in(out, row, url_of(feeds, row->feed_id), log_id, edition, floor);
}

bool log_feed_is_public(struct store *s, int64_t feed_id)
{
    struct feed_brief brief;

    return !store_brief(s, feed_id, &brief) || !brief.is_private;
}

enum rc log_time_of(struct reader *r, struct arena *a, int64_t seq, int64_t *at_us, struct err *err)
{
    struct view view = {.all_feeds = true,
                        .order = VIEW_LOG_DESC,
                        .before_seq = seq == INT64_MAX ? seq : seq + 1,
                        .len = 1,
                        .with_deleted = true};
    struct revision *rows;
    size_t n;
    enum rc rc = reader_rows(r, &view, a, &rows, &n, err);

    if (rc == RC_OK)
        *at_us = n > 0 ? rows[0].at_us : 0;
    return rc;
}
