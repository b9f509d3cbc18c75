/* storage/pg/reads_subs.c - subscriptions, their deliveries and dead letters, hubs, and hosts that
 * rest. */
#include "storage/pg/reader.h"
#include "storage/pg/reads.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "storage/hub_feeds.h"
#include "storage/placed.h"

#define SUBS_AT_ONCE 4096 /* rows of one trip */
#define UPSTREAMS_AT_ONCE 4096

/* Reads the columns of SUB_SELECT; returns the column after them, which has the row's number. */
static int read_sub(const struct pg_answer *a, size_t row, struct arena *arena,
                    struct subscription *out)
{
#define PG_ROW struct subscription
    static const struct pg_column columns[] = {SUB_FIXED(PG_COLUMN) SUB_SAVED(PG_COLUMN)};
#undef PG_ROW
    int i;

    *out = (struct subscription){.id = 0};
    i = pg_get_columns(a, row, 0, PG_COLUMNS(columns), arena, out);
    out->last_error = pg_get_str(a, row, i, arena);
    return i + 1;
}

/* The feeds of the subscription with this number, from row *at on, which moves behind them. Those
 * of one that was gone between two statements are passed over. */
static void read_feeds(const struct pg_answer *a, size_t *at, int64_t number, struct arena *arena,
                       struct subscription *out)
{
    struct placed_feed *feeds;
    size_t first, n;

    while (*at < a->n && pg_get_int(a, *at, 0) < number)
        ++*at;
    for (first = *at; *at < a->n && pg_get_int(a, *at, 0) == number; ++*at)
        ;
    n = *at - first;
    if (n == 0)
        return;
    feeds = mem_alloc(n * sizeof *feeds);
    for (size_t i = 0; i < n; i++)
        feeds[i] = (struct placed_feed){
            pg_get_int(a, first + i, 6),
            {pg_get_int(a, first + i, 1), pg_get_str(a, first + i, 2, arena),
             pg_get_str(a, first + i, 3, arena), pg_get_str(a, first + i, 4, arena),
             pg_get_str(a, first + i, 5, arena), (enum listed)pg_get_int(a, first + i, 7)}};
    placed_set(feeds, n, arena, out);
    mem_free(feeds);
}

static enum rc hear_subs(struct pg_reader *r, const struct pg_answer *subs,
                         const struct pg_answer *feeds, struct arena *a, struct subscription **out,
                         size_t *n_out, struct err *err)
{
    enum rc rc = pg_hear(r, err);
    size_t at = 0;

    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct subscription, subs->n + 1);
    for (size_t i = 0; i < subs->n; i++) {
        int number = read_sub(subs, i, a, &(*out)[i]);

        read_feeds(feeds, &at, pg_get_int(subs, i, number), a, &(*out)[i]);
    }
    *n_out = subs->n;
    return RC_OK;
}

enum rc pg_subs_after(struct db *db, int64_t after_id, size_t max, struct arena *a,
                      struct subscription **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer subs, feeds;

    pg_together(r);
    pg_put_int(&r->params, after_id);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_subs_after, &subs);
    pg_put_int(&r->params, after_id);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_sub_feeds_after, &feeds);
    return hear_subs(r, &subs, &feeds, a, out, n_out, err);
}

enum rc pg_subs_listed(struct db *db, int64_t after_id, size_t max, struct arena *a,
                       struct sub_summary **out, size_t *n_out, struct err *err)
{
#define PG_ROW struct sub_summary
    static const struct pg_column columns[] = {SUB_LISTED(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, after_id);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_subs_listed, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct sub_summary, rows.n + 1);
    *n_out = rows.n;
    for (size_t i = 0; i < rows.n; i++) {
        struct sub_summary *row = &(*out)[i];

        *row = (struct sub_summary){.id = 0};
        row->n_feeds = pg_get_int(&rows, i, pg_get_columns(&rows, i, 0, PG_COLUMNS(columns), a, row));
    }
    return RC_OK;
}

/* A copy of a list; the list is freed. */
static void *move_list(struct arena *a, void *list, size_t n, size_t size)
{
    void *copy = arena_alloc(a, n * size + 1);

    if (n > 0)
        memcpy(copy, list, n * size);
    mem_free(list);
    return copy;
}

static enum rc read_all_subs(struct db *db, struct arena *a, struct subscription **out,
                             size_t *n_out, struct err *err)
{
    enum rc rc = db->reads->snapshot(db, err);
    struct subscription *list = NULL, *some;
    size_t n = 0, cap = 0;

    for (size_t page = PG_PAGE_FIRST, got = page; got == page && rc == RC_OK;) {
        page = pg_next_page(page, SUBS_AT_ONCE);
        rc = pg_subs_after(db, n == 0 ? 0 : list[n - 1].id, page, a, &some, &got, err);
        if (rc != RC_OK)
            break;
        list = mem_grow(list, &cap, n + got, sizeof *list);
        for (size_t i = 0; i < got; i++)
            list[n++] = some[i];
    }
    db->reads->snapshot_end(db);
    *out = move_list(a, list, n, sizeof *list);
    *n_out = n;
    return rc;
}

enum rc pg_subs_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                      struct subscription **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer subs, feeds;

    if (ids == NULL)
        return read_all_subs(db, a, out, n_out, err);
    pg_together(r);
    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_subs, &subs);
    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_sub_feeds, &feeds);
    return hear_subs(r, &subs, &feeds, a, out, n_out, err);
}

enum rc pg_subs_of_list(struct db *db, int64_t feed_id, struct arena *a, struct list_followers *out,
                        struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, feed_id);
    pg_ask(r, PG_SQL_subs_of_list, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = (struct list_followers){.subs = ARENA_ARRAY(a, int64_t, rows.n + 1)};
    for (size_t i = 0; i < rows.n; i++)
        if (pg_get_int(&rows, i, 1) == LISTED_LIST)
            out->subs[out->n++] = pg_get_int(&rows, i, 0);
    out->n_others = rows.n - out->n;
    return RC_OK;
}

enum rc pg_subs_pushed(struct db *db, struct push_sub *subs, size_t n, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *ids = ARENA_ARRAY(&scratch, int64_t, n + 1);
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows, feeds;
    size_t at = 0;
    enum rc rc;

    for (size_t i = 0; i < n; i++) {
        ids[i] = subs[i].id;
        subs[i].sub = NULL;
        subs[i].credential = subs[i].settings = STR_NULL;
        subs[i].wants_dead = false;
    }
    pg_together(r);
    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_subs_pushed, &rows);
    pg_put_ints(&r->params, ids, n);
    pg_ask(r, PG_SQL_sub_feeds, &feeds);
    rc = pg_hear(r, err);
    for (size_t i = 0; i < rows.n && rc == RC_OK; i++) {
        struct subscription sub;
        int number = read_sub(&rows, i, &scratch, &sub);
        struct push_sub *p = &subs[pg_get_int(&rows, i, number) - 1];

        p->sub = ARENA_NEW(p->arena, struct subscription);
        read_sub(&rows, i, p->arena, p->sub);
        p->credential = pg_get_str(&rows, i, number + 1, p->arena);
        p->settings = pg_get_str(&rows, i, number + 2, p->arena);
        p->wants_dead = pg_get_int(&rows, i, number + 3) > 0;
        read_feeds(&feeds, &at, pg_get_int(&rows, i, number), p->arena, p->sub);
    }
    return rc;
}

enum rc pg_subs_asking(struct db *db, struct arena *a, int64_t **out, size_t *n_out,
                          struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_ask(r, PG_SQL_subs_asking, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, int64_t, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = pg_get_int(&rows, i, 0);
    *n_out = rows.n;
    return RC_OK;
}

enum rc pg_subs_find(struct db *db, struct str sink, struct str endpoint, struct str settings,
                     struct str owner, int64_t *id, int64_t *n_owned, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_text(&r->params, sink);
    pg_put_text(&r->params, endpoint);
    pg_put_text(&r->params, settings);
    pg_put_text(&r->params, owner);
    pg_ask(r, PG_SQL_subs_find, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *id = pg_get_int(&row, 0, 0);
    *n_owned = pg_get_int(&row, 0, 1);
    return RC_OK;
}

enum rc pg_subs_settings(struct db *db, int64_t id, struct arena *a, struct str *out,
                         struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_int(&r->params, id);
    pg_ask(r, PG_SQL_sub_settings, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    if (row.n == 0)
        return err_set(err, RC_NOT_FOUND, "there is no subscription %" PRId64, id);
    *out = pg_get_str(&row, 0, 0, a);
    return RC_OK;
}

/* ---- deliveries ------------------------------------------------------------------------------ */

enum rc pg_deliveries_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                         struct delivery_note **out, size_t *n_out, struct err *err)
{
#define PG_ROW struct delivery_note
    static const struct pg_column columns[] = {DELIVERY_NOTE(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_param *slots;
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, sub_id);
    slots = pg_put_array(&r->params, PG_INT);
    for (int64_t i = 0; i < DELIVERIES_KEPT; i++)
        pg_add_int(slots, i);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_deliveries, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct delivery_note, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        (*out)[i] = (struct delivery_note){.at_us = 0};
        (*out)[i].error = pg_get_str(
            &rows, i, pg_get_columns(&rows, i, 0, PG_COLUMNS(columns), a, &(*out)[i]), a);
    }
    *n_out = rows.n;
    return RC_OK;
}

static enum rc hear_dead(struct pg_reader *r, const struct pg_answer *rows, struct arena *a,
                         struct dead_letter **out, size_t *n_out, struct err *err)
{
#define PG_ROW struct dead_letter
    static const struct pg_column columns[] = {DEAD_LETTER(PG_COLUMN)};
#undef PG_ROW
    enum rc rc = pg_hear(r, err);

    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct dead_letter, rows->n + 1);
    for (size_t i = 0; i < rows->n; i++) {
        (*out)[i] = (struct dead_letter){.id = 0};
        (*out)[i].id =
            pg_get_int(rows, i, pg_get_columns(rows, i, 0, PG_COLUMNS(columns), a, &(*out)[i]));
    }
    *n_out = rows->n;
    return RC_OK;
}

enum rc pg_dead_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                   struct dead_letter **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;

    pg_put_int(&r->params, sub_id);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_dead, &rows);
    return hear_dead(r, &rows, a, out, n_out, err);
}

enum rc pg_dead_wanted(struct db *db, int64_t sub_id, struct arena *a, struct dead_letter **out,
                       size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;

    pg_put_int(&r->params, sub_id);
    pg_ask(r, PG_SQL_dead_wanted, &rows);
    return hear_dead(r, &rows, a, out, n_out, err);
}

enum rc pg_dead_counts(struct db *db, int64_t first, int64_t last, struct arena *a,
                       struct dead_count **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, first);
    pg_put_int(&r->params, last);
    pg_ask(r, PG_SQL_dead_counts, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct dead_count, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct dead_count){pg_get_int(&rows, i, 0), pg_get_int(&rows, i, 1)};
    *n_out = rows.n;
    return RC_OK;
}

/* ---- hubs ------------------------------------------------------------------------------------ */

enum rc pg_hub_intents_after(struct db *db, int64_t id, size_t max, struct arena *a,
                             struct hub_intent **out, size_t *n_out, struct err *err)
{
#define PG_ROW struct hub_intent
    static const struct pg_column columns[] = {HUB_INTENT(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, id);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_hub_intents, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct hub_intent, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        int feeds;

        (*out)[i] = (struct hub_intent){.id = 0};
        feeds = pg_get_columns(&rows, i, 0, PG_COLUMNS(columns), a, &(*out)[i]);
        hub_feeds_read(a, pg_get_str(&rows, i, feeds, a), &(*out)[i]);
    }
    *n_out = rows.n;
    return RC_OK;
}

enum rc pg_hub_lease(struct db *db, int64_t sub_id, struct arena *a, struct hub_lease *out,
                     struct err *err)
{
#define PG_ROW struct hub_lease
    static const struct pg_column columns[] = {HUB_LEASE(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_int(&r->params, sub_id);
    pg_ask(r, PG_SQL_hub_lease, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    if (row.n == 0)
        return err_set(err, RC_NOT_FOUND, "subscription %" PRId64 " has no lease", sub_id);
    *out = (struct hub_lease){.sub_id = sub_id};
    pg_get_columns(&row, 0, 0, PG_COLUMNS(columns), a, out);
    return RC_OK;
}

enum rc pg_host_rests(struct db *db, struct arena *a, struct host_rest **out, size_t *n_out,
                      struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_ask(r, PG_SQL_host_rests, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *n_out = rows.n;
    *out = ARENA_ARRAY(a, struct host_rest, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct host_rest){.host = pg_get_str(&rows, i, 0, a),
                                       .cool_ms = pg_get_int(&rows, i, 1),
                                       .gentle_ms = pg_get_int(&rows, i, 2)};
    return RC_OK;
}

/* Append the rows of an answer to a list, in which there is room. */
static void take_upstreams(const struct pg_answer *rows, struct arena *a, struct upstream *list,
                           size_t *n)
{
#define PG_ROW struct upstream
    static const struct pg_column columns[] = {UPSTREAM(PG_COLUMN)};
#undef PG_ROW

    for (size_t i = 0; i < rows->n; i++) {
        list[*n] = (struct upstream){.token = STR_NULL};
        pg_get_columns(rows, i, 0, PG_COLUMNS(columns), a, &list[(*n)++]);
    }
}

enum rc pg_upstreams_of(struct db *db, const struct str *tokens, size_t n_tokens, struct arena *a,
                        struct upstream **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_param *array = pg_put_array(&r->params, PG_TEXT);
    struct pg_answer rows;
    enum rc rc;

    for (size_t i = 0; i < n_tokens; i++)
        pg_add_text(&r->params, array, tokens[i]);
    pg_ask(r, PG_SQL_upstreams_of, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct upstream, rows.n + 1);
    *n_out = 0;
    take_upstreams(&rows, a, *out, n_out);
    return RC_OK;
}

/* Append to a list those after the last one of it. *got: how many. */
static enum rc read_upstreams(struct pg_reader *r, size_t max, struct arena *a,
                              struct upstream **list, size_t *n, size_t *cap, size_t *got,
                              struct err *err)
{
    struct pg_answer rows;
    enum rc rc;

    pg_put_text(&r->params, *n == 0 ? STR("") : (*list)[*n - 1].token);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_upstreams_after, &rows);
    rc = pg_hear(r, err);
    *got = rows.n;
    if (rc != RC_OK)
        return rc;
    *list = mem_grow(*list, cap, *n + rows.n, sizeof **list);
    take_upstreams(&rows, a, *list, n);
    return RC_OK;
}

/* Those that are not current come first; both parts stay in their order. */
static struct upstream *current_last(struct arena *a, const struct upstream *list, size_t n)
{
    struct upstream *out = ARENA_ARRAY(a, struct upstream, n + 1);
    size_t at = 0;

    for (int is_current = 0; is_current < 2; is_current++)
        for (size_t i = 0; i < n; i++)
            if (list[i].is_current == (is_current == 1))
                out[at++] = list[i];
    return out;
}

enum rc pg_upstreams(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                     struct err *err)
{
    enum rc rc = db->reads->snapshot(db, err);
    struct upstream *list = NULL;
    size_t n = 0, cap = 0;

    for (size_t page = PG_PAGE_FIRST, got = page; got == page && rc == RC_OK;) {
        page = pg_next_page(page, UPSTREAMS_AT_ONCE);
        rc = read_upstreams(pg_reader_of(db), page, a, &list, &n, &cap, &got, err);
    }
    db->reads->snapshot_end(db);
    *out = current_last(a, list, n);
    *n_out = n;
    mem_free(list);
    return rc;
}

enum rc pg_tokens(struct db *db, struct arena *a, struct token **out, size_t *n_out,
                  struct err *err)
{
#define PG_ROW struct token
    static const struct pg_column columns[] = {TOKEN(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, TOKENS_MAX);
    pg_ask(r, PG_SQL_tokens, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct token, rows.n + 1);
    *n_out = rows.n;
    for (size_t i = 0; i < rows.n; i++)
        pg_get_columns(&rows, i, 0, PG_COLUMNS(columns), a, &(*out)[i]);
    return RC_OK;
}

enum rc pg_views(struct db *db, struct arena *a, struct named_view **out, size_t *n_out,
                 struct err *err)
{
#define PG_ROW struct named_view
    static const struct pg_column columns[] = {NAMED_VIEW(PG_COLUMN)};
#undef PG_ROW
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_int(&r->params, VIEWS_MAX);
    pg_ask(r, PG_SQL_views, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct named_view, rows.n + 1);
    *n_out = rows.n;
    for (size_t i = 0; i < rows.n; i++)
        pg_get_columns(&rows, i, 0, PG_COLUMNS(columns), a, &(*out)[i]);
    return RC_OK;
}
