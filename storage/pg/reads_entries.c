/* storage/pg/reads_entries.c - entries by uid, by key, counted; contents that are to be asked for.
 */
#include "storage/pg/reader.h"
#include "storage/pg/reads.h"

#include "base/mem.h"

#define CONTENT_FEEDS_AT_ONCE 8192

static void put_texts(struct pg_params *p, const struct str *texts, size_t n)
{
    struct pg_param *array = pg_put_array(p, PG_TEXT);

    for (size_t i = 0; i < n; i++)
        pg_add_text(p, array, str_is_null(texts[i]) ? STR("") : texts[i]);
}

static void get_digest(const struct pg_answer *a, size_t row, int column, unsigned char out[16])
{
    struct str s = pg_get_bytes(a, row, column);

    if (s.len == 16)
        memcpy(out, s.ptr, 16);
    else
        memset(out, 0, 16);
}

enum rc pg_entries_of_uids(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                           const struct str *uids, size_t n_uids, struct arena *a,
                           struct uid_match **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, feed_ids, n_feeds);
    put_texts(&r->params, uids, n_uids);
    pg_ask(r, PG_SQL_entries_of_uids, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct uid_match, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        (*out)[i] = (struct uid_match){.of = (size_t)pg_get_int(&rows, i, 0) - 1,
                                       .feed_id = pg_get_int(&rows, i, 1),
                                       .first_seq = pg_get_int(&rows, i, 2),
                                       .seq = pg_get_int(&rows, i, 3),
                                       .sort_at = pg_get_int(&rows, i, 4),
                                       .deleted = pg_get_int(&rows, i, 5) != 0,
                                       .has_iri = pg_get_bool(&rows, i, 6)};
        get_digest(&rows, i, 7, (*out)[i].essence);
    }
    *n_out = rows.n;
    return RC_OK;
}

static void read_entry(const struct pg_answer *a, size_t row, struct arena *arena,
                       struct entry_row *out)
{
#define PG_ROW struct entry_row
    static const struct pg_column columns[] = {ENTRY_KEY(PG_COLUMN) ENTRY_FIXED(PG_COLUMN)
                                                   ENTRY_SAVED(PG_COLUMN)};
#undef PG_ROW
    int i;

    *out = (struct entry_row){.id = 0};
    i = pg_get_columns(a, row, 0, PG_COLUMNS(columns), arena, out);
    out->has_marks = marks_unpack(pg_get_bytes(a, row, i), &out->marks);
    out->id = pg_get_int(a, row, i + 1);
}

enum rc pg_entries_known(struct db *db, int64_t feed_id, const struct str *uids, size_t n_uids,
                         const int64_t *keys, size_t n_keys, size_t max, struct arena *a,
                         struct entry_row **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer of_uids, of_keys;
    enum rc rc;

    pg_together(r);
    pg_put_int(&r->params, feed_id);
    put_texts(&r->params, uids, n_uids);
    pg_ask(r, PG_SQL_entries_known, &of_uids);
    pg_put_int(&r->params, feed_id);
    pg_put_ints(&r->params, keys, n_keys);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_entries_of_keys, &of_keys);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *n_out = of_uids.n + of_keys.n;
    *out = mem_alloc(*n_out * sizeof **out + 1);
    for (size_t i = 0; i < of_uids.n; i++)
        read_entry(&of_uids, i, a, &(*out)[i]);
    for (size_t i = 0; i < of_keys.n; i++)
        read_entry(&of_keys, i, a, &(*out)[of_uids.n + i]);
    return RC_OK;
}

enum rc pg_entries_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                         int64_t *n, int64_t *n_deleted, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_ints(&r->params, feed_ids, n_feeds);
    pg_put_int(&r->params, seq);
    pg_ask(r, PG_SQL_entries_since, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *n = pg_get_int(&row, 0, 0);
    *n_deleted = pg_get_int(&row, 0, 1);
    return RC_OK;
}

#define FEEDS_AT_ONCE 64
#define ROWS_AT_ONCE 2048 /* of a feed */

/* Ask for deletions in the next revisions of the last `n` feeds, at most `max` of each, from from[]
 * on. *n_left: how many feeds have more; they come first now, with their new from[]. */
static enum rc look_for_deletions(struct pg_reader *r, int64_t *ids, int64_t *from, size_t n,
                                  size_t max, size_t *n_left, bool *out, struct err *err)
{
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, ids, n);
    pg_put_ints(&r->params, from, n);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_deletions_since, &rows);
    rc = pg_hear(r, err);
    *n_left = 0;
    for (size_t i = 0; i < rows.n && rc == RC_OK; i++) {
        *out |= pg_get_bool(&rows, i, 3);
        if (pg_get_int(&rows, i, 1) < (int64_t)max)
            continue;
        ids[*n_left] = ids[pg_get_int(&rows, i, 0) - 1];
        from[(*n_left)++] = pg_get_int(&rows, i, 2) + 1;
    }
    return rc;
}

/* A client may be far behind, so this goes in trips that are short. */
enum rc pg_deletions_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                           bool *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *ids = ARENA_ARRAY(&scratch, int64_t, n_feeds + 1);
    int64_t *from = ARENA_ARRAY(&scratch, int64_t, n_feeds + 1);
    enum rc rc = db->reads->snapshot(db, err);
    size_t page = PG_PAGE_FIRST, n = n_feeds;

    _Static_assert(REV_DELETED == 2, "a number in the statement");
    *out = false;
    for (size_t i = 0; i < n; i++) {
        ids[i] = feed_ids[i];
        from[i] = seq;
    }
    while (n > 0 && !*out && rc == RC_OK) {
        size_t now = n < FEEDS_AT_ONCE ? n : FEEDS_AT_ONCE, left;

        now = now < page ? now : page;
        rc = look_for_deletions(pg_reader_of(db), ids + n - now, from + n - now, now, page, &left,
                                out, err);
        n -= now - left;
        page = pg_next_page(page, ROWS_AT_ONCE);
    }
    db->reads->snapshot_end(db);
    return rc;
}

enum rc pg_entries_between(struct db *db, const int64_t *feed_ids, size_t n_feeds, bool by_creation,
                           int64_t from, int64_t to, int64_t max, int64_t *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_put_ints(&r->params, feed_ids, n_feeds);
    pg_put_bool(&r->params, by_creation);
    pg_put_int(&r->params, from);
    pg_put_int(&r->params, to);
    pg_put_int(&r->params, max);
    pg_ask(r, PG_SQL_entries_between, &a);
    rc = pg_hear(r, err);
    if (rc == RC_OK)
        *out = pg_number(&a, 0);
    return rc;
}

enum rc pg_entries_oldest(struct db *db, int64_t feed_id, int64_t *at, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_put_int(&r->params, feed_id);
    pg_ask(r, PG_SQL_entries_oldest, &a);
    rc = pg_hear(r, err);
    if (rc == RC_OK)
        *at = pg_number(&a, TIME_UNKNOWN);
    return rc;
}

enum rc pg_content_pending(struct db *db, int64_t feed_id, int64_t now, struct arena *a,
                           struct pending_content *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_int(&r->params, feed_id);
    pg_put_int(&r->params, now);
    pg_ask(r, PG_SQL_content_pending, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = (struct pending_content){.entry_id = 0};
    if (row.n > 0)
        *out = (struct pending_content){pg_get_int(&row, 0, 0), pg_get_int(&row, 0, 1),
                                        (int)pg_get_int(&row, 0, 2), pg_get_str(&row, 0, 3, a),
                                        pg_get_str(&row, 0, 4, a)};
    return RC_OK;
}

/* It is called at the start only, and needs no snapshot. */
enum rc pg_content_feeds(struct db *db, reader_content_fn *fn, void *ctx, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows = {.n = 0};
    int64_t after = 0;
    enum rc rc = RC_OK;

    for (size_t page = PG_PAGE_FIRST, got = page; got == page && rc == RC_OK;) {
        page = pg_next_page(page, CONTENT_FEEDS_AT_ONCE);
        pg_put_int(&r->params, after);
        pg_put_int(&r->params, (int64_t)page);
        pg_ask(r, PG_SQL_content_feeds, &rows);
        rc = pg_hear(r, err);
        got = rows.n;
        for (size_t i = 0; i < rows.n && rc == RC_OK; i++)
            fn(ctx, after = pg_get_int(&rows, i, 0));
    }
    return rc;
}
