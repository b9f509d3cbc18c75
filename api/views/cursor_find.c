/* api/views/cursor_find.c - see cursor_find.h. */
#include "api/views/cursor_find.h"

#include <zlib.h>

#include "api/views/forms.h"
#include "feed/write/writer.h"

#define GROUP_MAX 10000 /* at most so many items of the same time are read for a checksum */
/* look-ups for a checksum; when it needs more, only the time of the cursor counts */
#define ELDERS_MAX 200000
#define SCAN_ROWS 1000
#define SCAN_MAX 100000 /* items that are searched for an id that was made here */

/* Returns a view of the stream's items from old to new, including deleted ones. */
static struct view ascending(const struct view *s, int64_t after, int64_t before, size_t len)
{
    return (struct view){.feed_ids = s->feed_ids,
                         .n_feeds = s->n_feeds,
                         .order = order_of_items(order_is_by_creation(s->order), false),
                         .after_seq = after,
                         .before_seq = before,
                         .len = len,
                         .with_deleted = true};
}

static struct str item_id(struct arena *a, const struct revision *row, const struct feed *feeds,
                          size_t n, bool has_elder)
{
    for (size_t i = 0; i < n; i++)
        if (feeds[i].id == row->feed_id)
            return form_item_id(a, row, &feeds[i], has_elder);
    return row->uid;
}

/* Returns the checksum of the ids of a group. `elders`: for which of them an older item has the
 * same id; or NULL. */
static uint32_t check_of(struct arena *a, const struct revision *rows, size_t n,
                         const struct feed *feeds, size_t n_feeds, const bool *elders)
{
    uLong sum = crc32(0, NULL, 0);

    for (size_t i = 0; i < n; i++) {
        struct str id = item_id(a, &rows[i], feeds, n_feeds, elders != NULL && elders[i]);

        if (i > 0)
            sum = crc32(sum, (const Bytef *)"_", 1);
        sum = crc32(sum, (const Bytef *)id.ptr, (uInt)id.len);
    }
    return (uint32_t)sum;
}

/* Find the O-th item at the time T. *seq is 0 when the checksum of the ids up to it is wrong. */
static enum rc find_in_group(struct reader *r, const struct cursor_spec *cursor,
                             const struct view *s, int64_t *seq, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct revision *rows = NULL;
    struct feed *feeds = NULL;
    struct view v;
    int64_t low, high;
    size_t n = 0, n_feeds = 0;
    bool holds, *elders;
    enum rc rc = reader_seq_at(r, cursor->from_us - 1, &low, err);

    *seq = 0;
    if (rc == RC_OK)
        rc = reader_seq_at(r, cursor->to_us, &high, err);
    if (rc != RC_OK || cursor->offset >= GROUP_MAX)
        return rc;
    v = ascending(s, low, high + 1, (size_t)cursor->offset + 1);
    rc = reader_rows(r, &v, &a, &rows, &n, err);
    if (rc == RC_OK)
        rc = reader_feeds(r, s->feed_ids, s->n_feeds, &a, &feeds, &n_feeds, err);
    if (rc != RC_OK || n != (size_t)cursor->offset + 1)
        return rc;
    holds = check_of(&a, rows, n, feeds, n_feeds, NULL) == cursor->check;
    if (!holds && s->n_feeds > 1 && n * s->n_feeds <= ELDERS_MAX) {
        elders = ARENA_ARRAY(&a, bool, n);
        rc = reader_elders(r, s->feed_ids, s->n_feeds, rows, n, elders, err);
        holds = rc == RC_OK && check_of(&a, rows, n, feeds, n_feeds, elders) == cursor->check;
    }
    if (holds)
        *seq = order_is_by_creation(s->order) ? rows[n - 1].first_seq : rows[n - 1].seq;
    return rc;
}

/* Publishers' own ids are looked up. Ids that were made here are compared, with at most SCAN_MAX
 * items. */
static enum rc find_id(struct reader *r, const struct cursor_spec *cursor, const struct view *s,
                       int64_t *seq, struct err *err)
{
    int64_t after = 0, first, newest;
    size_t looked = 0, n = SCAN_ROWS, i;
    /* if several feeds have the id, it belongs to the oldest item */
    enum rc rc = reader_oldest_of_uid(r, s->feed_ids, s->n_feeds, cursor->id, &first, &newest, err);

    *seq = 0;
    if (rc == RC_OK && first != 0) {
        *seq = order_is_by_creation(s->order) ? first : newest;
        return RC_OK;
    }
    while (rc == RC_OK && n == SCAN_ROWS && looked < SCAN_MAX &&
           str_starts(cursor->id, STR("urn:uuid:"))) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct view v = ascending(s, after, INT64_MAX, SCAN_ROWS);
        struct feed *feeds = NULL;
        struct revision *rows = NULL;
        size_t n_feeds = 0;

        rc = reader_rows(r, &v, &a, &rows, &n, err);
        if (rc == RC_OK)
            rc = reader_feeds(r, s->feed_ids, s->n_feeds, &a, &feeds, &n_feeds, err);
        for (i = 0; rc == RC_OK && i < n; i++) {
            after = order_is_by_creation(s->order) ? rows[i].first_seq : rows[i].seq;
            if (!str_eq(item_id(&a, &rows[i], feeds, n_feeds, false), cursor->id) &&
                (s->n_feeds == 1 ||
                 !str_eq(item_id(&a, &rows[i], feeds, n_feeds, true), cursor->id)))
                continue;
            *seq = after;
            return RC_OK;
        }
        looked += n;
    }
    return rc != RC_OK ? rc : err_set(err, RC_NOT_FOUND, "No item of this feed has the id.");
}

enum rc cursor_find(struct reader *r, const struct cursor_spec *cursor, const struct view *view,
                    bool since, int64_t *bound, struct err *err)
{
    bool below = since != order_descends(view->order); /* the requested items have greater seqs */
    int64_t seq = 0;
    enum rc rc = RC_OK;

    switch (cursor->kind) {
    case CURSOR_NONE:
        *bound = below ? 0 : INT64_MAX;
        return RC_OK;
    case CURSOR_SEQ:
        *bound = cursor->seq;
        return RC_OK;
    case CURSOR_ITEM:
        return find_id(r, cursor, view, bound, err);
    case CURSOR_GROUP:
        rc = find_in_group(r, cursor, view, &seq, err);
        if (rc == RC_OK && seq != 0) {
            *bound = seq;
            return RC_OK;
        }
        break;
    case CURSOR_TIME:
        break;
    }
    if (rc == RC_OK)
        rc = reader_seq_at(r, below ? cursor->from_us - 1 : cursor->to_us, &seq, err);
    *bound = below ? seq : seq + 1;
    return rc;
}
