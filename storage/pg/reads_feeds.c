/* storage/pg/reads_feeds.c - feeds, their heads, and what the directory keeps of them. */
#include "storage/pg/reader.h"
#include "storage/pg/reads.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"
#include "storage/brief.h"

#define DUE_AT_ONCE 8192 /* rows of one trip */
#define FEEDS_AT_ONCE 1024

/* Reads the columns of FEED_SELECT; returns the column after them. */
static int read_row(const struct pg_answer *a, size_t row, struct arena *arena,
                    struct feed_row *out)
{
#define PG_ROW struct feed_row
    static const struct pg_column columns[] = {FEED_FIXED(PG_COLUMN) FEED_SAVED(PG_COLUMN)};
#undef PG_ROW
    int i;

    *out = (struct feed_row){.feed.upstream.is_current = true};
    i = pg_get_columns(a, row, 0, PG_COLUMNS(columns), arena, out);
    out->feed.n_subscriptions = (int)pg_get_int(a, row, i);
    return i + 1;
}

static void read_feed(const struct pg_answer *a, size_t row, struct arena *arena, struct feed *out)
{
#define PG_ROW struct feed_row
    static const struct pg_column upstream[] = {FEED_UPSTREAM(PG_COLUMN)};
#undef PG_ROW
    struct feed_row whole;
    int i = read_row(a, row, arena, &whole);

    i = pg_get_columns(a, row, i, PG_COLUMNS(upstream), arena, &whole);
    whole.feed.head = pg_get_str(a, row, i, arena);
    whole.feed.ext = pg_get_str(a, row, i + 1, arena);
    *out = whole.feed;
}

/* Append the feeds of an answer to a list. */
static void take_feeds(const struct pg_answer *rows, struct arena *a, struct feed **list, size_t *n,
                       size_t *cap)
{
    *list = mem_grow(*list, cap, *n + rows->n, sizeof **list);
    for (size_t i = 0; i < rows->n; i++)
        read_feed(rows, i, a, &(*list)[(*n)++]);
    stats_add(STAT_feed_loads_total, (int64_t)rows->n);
}

static enum rc read_all(struct db *db, struct arena *a, struct feed **list, size_t *n,
                        struct err *err)
{
    enum rc rc = db->reads->snapshot(db, err);
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    size_t cap = 0;

    *n = 0;
    for (size_t page = PG_PAGE_FIRST, got = page; got == page && rc == RC_OK;) {
        page = pg_next_page(page, FEEDS_AT_ONCE);
        pg_put_int(&r->params, *n == 0 ? 0 : (*list)[*n - 1].id);
        pg_put_int(&r->params, (int64_t)page);
        pg_ask(r, PG_SQL_feeds_after, &rows);
        rc = pg_hear(r, err);
        got = rows.n;
        if (rc == RC_OK)
            take_feeds(&rows, a, list, n, &cap);
    }
    db->reads->snapshot_end(db);
    return rc;
}

static enum rc read_some(struct db *db, const int64_t *ids, size_t n_ids, struct arena *a,
                         struct feed **list, size_t *n, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    size_t cap = 0;
    enum rc rc;

    pg_put_ints(&r->params, ids, n_ids);
    pg_ask(r, PG_SQL_feeds, &rows);
    rc = pg_hear(r, err);
    *n = 0;
    if (rc == RC_OK)
        take_feeds(&rows, a, list, n, &cap);
    return rc;
}

enum rc pg_feeds_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                       struct feed **out, size_t *n_out, struct err *err)
{
    struct feed *list = NULL;
    size_t n_found;
    enum rc rc = ids == NULL ? read_all(db, a, &list, &n_found, err)
                             : read_some(db, ids, n, a, &list, &n_found, err);

    if (rc == RC_OK) {
        *out = ARENA_ARRAY(a, struct feed, n_found + 1);
        if (n_found > 0)
            memcpy(*out, list, n_found * sizeof *list);
        *n_out = n_found;
    }
    mem_free(list);
    return rc;
}

enum rc pg_head_log_at(struct db *db, struct feed *feeds, const int64_t *seqs, size_t n,
                       struct arena *a, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_param *ids = pg_put_array(&r->params, PG_INT);
    struct pg_answer rows;
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        pg_add_int(ids, feeds[i].id);
    pg_put_ints(&r->params, seqs, n);
    pg_ask(r, PG_SQL_heads_at, &rows);
    rc = pg_hear(r, err);
    for (size_t i = 0; i < rows.n && rc == RC_OK; i++) {
        struct feed *f = &feeds[pg_get_int(&rows, i, 0) - 1];

        f->url = pg_get_str(&rows, i, 1, a);
        f->title = pg_get_str(&rows, i, 2, a);
        f->site_url = pg_get_str(&rows, i, 3, a);
        f->head = pg_get_str(&rows, i, 4, a);
        f->ext = pg_get_str(&rows, i, 5, a);
    }
    return rc;
}

enum rc pg_feeds_count(struct db *db, const int64_t *ids, size_t n, bool with_deleted, int64_t *out,
                       struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_put_ints(&r->params, ids, n);
    pg_put_bool(&r->params, with_deleted);
    pg_ask(r, PG_SQL_feeds_count, &a);
    rc = pg_hear(r, err);
    if (rc == RC_OK)
        *out = pg_number(&a, 0);
    return rc;
}

enum rc pg_feeds_horizon(struct db *db, const int64_t *ids, size_t n, bool all,
                         struct log_horizon *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    if (!all)
        pg_put_ints(&r->params, ids, n);
    pg_ask(r, all ? PG_SQL_all_horizon : PG_SQL_feeds_horizon, &a);
    rc = pg_hear(r, err);
    *out = (struct log_horizon){.seq = 0};
    if (rc == RC_OK && a.n > 0)
        *out = (struct log_horizon){pg_get_int(&a, 0, 0), pg_get_int(&a, 0, 1),
                                    all ? 0 : pg_get_int(&a, 0, 2)};
    return rc;
}

enum rc pg_gone_feeds(struct db *db, int64_t after, int64_t before, size_t max, int64_t *ids,
                      size_t *n, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_put_int(&r->params, after);
    pg_put_int(&r->params, before);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_gone_feeds, &a);
    rc = pg_hear(r, err);
    *n = rc == RC_OK ? a.n : 0;
    for (size_t i = 0; i < *n; i++)
        ids[i] = pg_get_int(&a, i, 0);
    return rc;
}

enum rc pg_keep_wishes(struct db *db, int64_t after, size_t max, bool all, struct keep_wishes *out,
                       size_t *n, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_put_int(&r->params, after);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, all ? PG_SQL_keep_all : PG_SQL_keep_wished, &a);
    rc = pg_hear(r, err);
    *n = rc == RC_OK ? a.n : 0;
    for (size_t i = 0; i < *n; i++)
        out[i] = (struct keep_wishes){.feed_id = pg_get_int(&a, i, 0),
                                      .own = {pg_get_int(&a, i, 1), pg_get_int(&a, i, 2)},
                                      .n_subs = pg_get_int(&a, i, 3),
                                      .least = {pg_get_int(&a, i, 4), pg_get_int(&a, i, 5)},
                                      .most = {pg_get_int(&a, i, 6), pg_get_int(&a, i, 7)}};
    return rc;
}

enum rc pg_feeds_listed(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                        struct feed_summary **out, size_t *n_out, struct err *err)
{
#define PG_ROW struct feed_summary
    static const struct pg_column columns[] = {FEED_LISTED(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_feeds_listed, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct feed_summary, rows.n + 1);
    *n_out = rows.n;
    for (size_t i = 0; i < rows.n; i++) {
        (*out)[i] = (struct feed_summary){.id = 0};
        pg_get_columns(&rows, i, 0, PG_COLUMNS(columns), a, &(*out)[i]);
    }
    return RC_OK;
}

enum rc pg_feeds_name(struct db *db, int64_t id, struct arena *a, struct str *url,
                      struct str *title, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_int(&r->params, id);
    pg_ask(r, PG_SQL_feeds_name, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    if (row.n == 0)
        return err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, id);
    *url = pg_get_str(&row, 0, 0, a);
    *title = pg_get_str(&row, 0, 1, a);
    return RC_OK;
}

enum rc pg_feeds_each_due(struct db *db, int64_t now, reader_due_fn *fn, void *ctx, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    int64_t after = 0;
    enum rc rc = RC_OK;

    for (size_t page = PG_PAGE_FIRST, got = page; got == page && rc == RC_OK;) {
        page = pg_next_page(page, DUE_AT_ONCE);
        pg_put_int(&r->params, now);
        pg_put_int(&r->params, after);
        pg_put_int(&r->params, (int64_t)page);
        pg_ask(r, PG_SQL_feeds_due, &rows);
        rc = pg_hear(r, err);
        got = rows.n;
        for (size_t i = 0; i < rows.n && rc == RC_OK; i++) {
            after = pg_get_int(&rows, i, 0);
            fn(ctx, after, pg_get_time(&rows, i, 1), (enum fetch_reason)pg_get_int(&rows, i, 2));
        }
    }
    return rc;
}

/* ---- what the directory keeps ---------------------------------------------------------------- */

/* The aliases of the feed with the number `of`, from row *at on, which moves behind them. Those of a feed that was made or
 * removed between the two statements are passed. */
static struct str *read_aliases(const struct pg_answer *a, size_t *at, int64_t of,
                                struct arena *arena, size_t *n)
{
    size_t first;
    struct str *out;

    while (*at < a->n && pg_get_int(a, *at, 0) < of)
        ++*at;
    for (first = *at; *at < a->n && pg_get_int(a, *at, 0) == of;)
        ++*at;
    *n = *at - first;
    out = *n == 0 ? NULL : ARENA_ARRAY(arena, struct str, *n);
    for (size_t i = 0; i < *n; i++)
        out[i] = pg_get_str(a, first + i, 1, arena);
    return out;
}

/* Rows of BRIEF, and the aliases of these feeds in the same order. */
struct brief_rows {
    struct pg_answer feeds, aliases;
    size_t at; /* in the aliases */
};

/* *number: under which its aliases stand. `saved`: rows that count in place of these, by that number; NULL: none do. */
static struct directory_feed read_brief(struct brief_rows *b, size_t i, const struct feed_row *const *saved,
                                        struct arena *a, int64_t *number)
{
#define PG_ROW struct feed_row
    static const struct pg_column columns[] = {FEED_BRIEF(PG_COLUMN)};
#undef PG_ROW
    struct feed_row row = {.fetched = false};
    int next = pg_get_columns(&b->feeds, i, 0, PG_COLUMNS(columns), a, &row);
    size_t n_aliases;
    struct str *list;

    *number = pg_get_int(&b->feeds, i, next);
    list = read_aliases(&b->aliases, &b->at, *number, a, &n_aliases);
    if (saved != NULL && saved[*number - 1] != NULL)
        row = *saved[*number - 1];
    return brief_of(&row, pg_get_time(&b->feeds, i, next + 2), list, n_aliases,
                    pg_get_int(&b->feeds, i, next + 1));
}

enum rc pg_briefs_load(struct db *db, const int64_t *ids, const struct feed_row *const *rows,
                       size_t n, struct arena *a, struct directory_feed *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct brief_rows b = {.at = 0};
    enum rc rc;

    pg_together(r);
    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_briefs, &b.feeds);
    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_brief_aliases, &b.aliases);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct directory_feed){.brief.id = 0};
    for (size_t i = 0; i < b.feeds.n; i++) {
        int64_t place;
        struct directory_feed one = read_brief(&b, i, rows, a, &place);

        out[place - 1] = one;
    }
    return RC_OK;
}

enum rc pg_briefs_after(struct db *db, int64_t after, size_t max, struct arena *a,
                        struct directory_feed *out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct brief_rows b = {.at = 0};
    int64_t id;
    enum rc rc;

    pg_together(r);
    pg_put_int(&r->params, after);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_briefs_after, &b.feeds);
    pg_put_int(&r->params, after);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_aliases_after, &b.aliases);
    rc = pg_hear(r, err);
    *n_out = rc == RC_OK ? b.feeds.n : 0;
    for (size_t i = 0; i < *n_out; i++)
        out[i] = read_brief(&b, i, NULL, a, &id);
    return rc;
}

enum rc pg_briefs_keys(struct db *db, const int64_t *ids, size_t n, size_t max, struct key_run *out,
                       struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, ids, n);
    pg_put_int(&r->params, (int64_t)max + 1);
    pg_ask(r, PG_SQL_brief_keys, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        out[i].n = 0;
        out[i].complete = true;
    }
    for (size_t i = 0; i < rows.n; i++) {
        struct key_run *run = &out[pg_get_int(&rows, i, 0) - 1];

        run->complete = run->n < max;
        if (run->complete)
            run->keys[run->n++] = (struct merge_key){
                pg_get_int(&rows, i, 1), pg_get_int(&rows, i, 2), pg_get_int(&rows, i, 3)};
    }
    return RC_OK;
}
