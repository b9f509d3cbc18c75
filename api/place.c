/* api/place.c - see place.h. Source: Smart Feeds, "Position Specs" and "Cursors". */
#include "api/place.h"

#include <zlib.h>

#include "api/cursor.h"
#include "api/form.h"
#include "base/buf.h"
#include "feed/writer.h"

#define GROUP_MAX 10000   /* items of one instant that are looked at for a check */
#define ELDERS_MAX 200000 /* look-ups for a check; beyond, the cursor counts as its time */
#define SCAN_ROWS 1000
#define SCAN_MAX 100000 /* items that are looked at for an id that is not the publisher's own */

static bool bad(struct problem *p, struct arena *a, const char *parameter, struct str text,
                const char *why)
{
    problem_parameter(p, a, parameter, text, NULL, "The parameter `%s` %s", parameter, why);
    p->kind = PROBLEM_BAD_POSITION;
    return false;
}

/* T_O_C */
static bool read_group(struct str s, struct place *out)
{
    struct str rest = s;
    int64_t t, offset, check;

    if (!str_to_i64(str_split(&rest, '_'), &t) || str_is_null(rest) ||
        !str_to_i64(str_split(&rest, '_'), &offset) || str_is_null(rest) ||
        !str_to_i64(rest, &check) || t < 0 || t > INT64_C(253402300799) || offset < 0 ||
        check < 0 || check > UINT32_MAX)
        return false;
    out->kind = PLACE_GROUP;
    out->from_us = t * 1000000;
    out->to_us = out->from_us + 999999;
    out->offset = offset;
    out->check = (uint32_t)check;
    return true;
}

static bool read_cursor(struct str s, struct str log_id, int64_t last_seq, struct place *out)
{
    struct str log;
    int64_t at_us;

    out->text = s;
    if (s.len == 0) { /* before the first item (D27) */
        out->kind = PLACE_SEQ;
        out->seq = 0;
        return true;
    }
    if (!cursor_read(s, &log, &out->seq, &at_us))
        return read_group(s, out);
    out->kind = PLACE_SEQ;
    if (!str_starts(log_id, log) || log.len < 8 || out->seq > last_seq) {
        out->kind = PLACE_TIME; /* of another log (D25) */
        out->from_us = out->to_us = at_us;
    }
    return true;
}

static bool read_time(struct str s, struct place *out)
{
    int64_t n;

    out->kind = PLACE_TIME;
    if (str_to_i64(s, &n) && n >= 0 && n <= INT64_C(253402300799)) {
        out->from_us = n * 1000000;
    } else if (!rfc3339_read(s, &out->from_us)) {
        return false;
    }
    /* a whole second is all of it; a fraction is a moment */
    out->to_us = out->from_us % 1000000 == 0 ? out->from_us + 999999 : out->from_us;
    return true;
}

bool place_read(struct arena *a, const char *parameter, struct str text, struct str log_id,
                int64_t last_seq, struct place *out, struct problem *p)
{
    struct str value = text, type;

    *out = (struct place){.kind = PLACE_NONE, .text = STR_NULL, .id = STR_NULL, .given = STR_NULL};
    if (str_is_null(text))
        return true;
    out->given = text;
    type = str_split(&value, ':');
    if (str_is_null(value))
        return bad(p, a, parameter, text,
                   "is no position: `cursor:`, `time:` or `id:`, and a value.");
    if (str_eqz(type, "cursor"))
        return read_cursor(value, log_id, last_seq, out) ||
               bad(p, a, parameter, text, "has a cursor that was not given here.");
    if (str_eqz(type, "time"))
        return read_time(value, out) ||
               bad(p, a, parameter, text,
                   "has a time that is neither Unix seconds nor an RFC 3339 date.");
    if (str_eqz(type, "id")) {
        out->kind = PLACE_ID;
        out->id = value;
        return value.len > 0 || bad(p, a, parameter, text, "has an empty id.");
    }
    return bad(p, a, parameter, text, "has an unknown type; there are `cursor:`, `time:`, `id:`.");
}

/* Items of the stream from old to new, deleted ones too. */
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

static struct str item_id(struct arena *a, const struct revision *row,
                          const struct feed_record *feeds, size_t n, bool has_elder)
{
    for (size_t i = 0; i < n; i++)
        if (feeds[i].id == row->feed_id)
            return form_item_id(a, row, &feeds[i], has_elder);
    return row->uid;
}

/* The check over the ids of a group. `elders`: which of them are not the first of their id, or
 * NULL. */
static uint32_t check_of(struct arena *a, const struct revision *rows, size_t n,
                         const struct feed_record *feeds, size_t n_feeds, const bool *elders)
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

/* The seq of the O-th item of the instant T, if the check over the ids up to it holds; else 0. */
static enum rc find_in_group(struct reader *r, const struct place *place, const struct view *s,
                             int64_t *seq, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct revision *rows = NULL;
    struct feed_record *feeds = NULL;
    struct view v;
    int64_t low, high;
    size_t n = 0, n_feeds = 0;
    bool holds, *elders;
    enum rc rc = reader_seq_at(r, place->from_us - 1, &low, err);

    *seq = 0;
    if (rc == RC_OK)
        rc = reader_seq_at(r, place->to_us, &high, err);
    if (rc != RC_OK || place->offset >= GROUP_MAX)
        return rc;
    v = ascending(s, low, high + 1, (size_t)place->offset + 1);
    rc = reader_rows(r, &v, &a, &rows, &n, err);
    if (rc == RC_OK)
        rc = reader_feeds(r, s->feed_ids, s->n_feeds, &a, &feeds, &n_feeds, err);
    if (rc != RC_OK || n != (size_t)place->offset + 1)
        return rc;
    holds = check_of(&a, rows, n, feeds, n_feeds, NULL) == place->check;
    if (!holds && s->n_feeds > 1 && n * s->n_feeds <= ELDERS_MAX) {
        elders = ARENA_ARRAY(&a, bool, n);
        rc = reader_elders(r, s->feed_ids, s->n_feeds, rows, n, elders, err);
        holds = rc == RC_OK && check_of(&a, rows, n, feeds, n_feeds, elders) == place->check;
    }
    if (holds)
        *seq = order_is_by_creation(s->order) ? rows[n - 1].first_seq : rows[n - 1].seq;
    return rc;
}

/* Publishers' own ids are looked up; those made here are compared, as far as is bearable. */
static enum rc find_id(struct reader *r, const struct place *place, const struct view *s,
                       int64_t *seq, struct err *err)
{
    int64_t after = 0, first = INT64_MAX;
    size_t looked = 0, n = SCAN_ROWS, i;
    enum rc rc = RC_OK;

    *seq = 0;
    for (i = 0; i < s->n_feeds && rc == RC_OK; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct known_entry *known;
        size_t n_known;

        rc = reader_known(r, s->feed_ids[i], &place->id, 1, NULL, 0, &a, &known, &n_known, err);
        if (rc != RC_OK || n_known == 0 || known->first_seq > first)
            continue;
        first = known->first_seq; /* of several feeds' items the oldest has the id */
        *seq = order_is_by_creation(s->order) ? first : known->seq;
    }
    if (rc == RC_OK && first != INT64_MAX)
        return RC_OK;
    while (rc == RC_OK && n == SCAN_ROWS && looked < SCAN_MAX &&
           str_starts(place->id, STR("urn:uuid:"))) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct view v = ascending(s, after, INT64_MAX, SCAN_ROWS);
        struct feed_record *feeds = NULL;
        struct revision *rows = NULL;
        size_t n_feeds = 0;

        rc = reader_rows(r, &v, &a, &rows, &n, err);
        if (rc == RC_OK)
            rc = reader_feeds(r, s->feed_ids, s->n_feeds, &a, &feeds, &n_feeds, err);
        for (i = 0; rc == RC_OK && i < n; i++) {
            after = order_is_by_creation(s->order) ? rows[i].first_seq : rows[i].seq;
            if (!str_eq(item_id(&a, &rows[i], feeds, n_feeds, false), place->id) &&
                (s->n_feeds == 1 ||
                 !str_eq(item_id(&a, &rows[i], feeds, n_feeds, true), place->id)))
                continue;
            *seq = after;
            return RC_OK;
        }
        looked += n;
    }
    return rc != RC_OK ? rc : err_set(err, RC_NOT_FOUND, "No item of this feed has the id.");
}

enum rc place_find(struct reader *r, const struct place *place, const struct view *s, bool since,
                   int64_t *bound, struct err *err)
{
    bool below = since != order_descends(s->order); /* the items wanted have greater seqs */
    int64_t seq = 0;
    enum rc rc = RC_OK;

    switch (place->kind) {
    case PLACE_NONE:
        *bound = below ? 0 : INT64_MAX;
        return RC_OK;
    case PLACE_SEQ:
        *bound = place->seq;
        return RC_OK;
    case PLACE_ID:
        return find_id(r, place, s, bound, err);
    case PLACE_GROUP:
        rc = find_in_group(r, place, s, &seq, err);
        if (rc == RC_OK && seq != 0) {
            *bound = seq;
            return RC_OK;
        }
        break;
    case PLACE_TIME:
        break;
    }
    if (rc == RC_OK)
        rc = reader_seq_at(r, below ? place->from_us - 1 : place->to_us, &seq, err);
    *bound = below ? seq : seq + 1;
    return rc;
}
