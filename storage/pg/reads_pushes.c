/* storage/pg/reads_pushes.c - what a subscription gets next. Two statements of one call travel
 * together. */
#include "storage/pg/reader.h"
#include "storage/pg/reads.h"

/* What of a subscription its statements use; the feeds come before. */
static void put_wishes(struct pg_params *p, const struct subscription *sub, int64_t position)
{
    pg_put_int(p, position);
    pg_put_int(p, sub->events);
    pg_put_bool(p, sub->with_initial);
}

/* The event in the columns from `i` on. */
static struct feed_event event_at(const struct pg_answer *a, size_t row, int i, struct arena *arena)
{
    return (struct feed_event){.seq = pg_get_int(a, row, i),
                               .at_us = pg_get_int(a, row, i + 1),
                               .feed_id = pg_get_int(a, row, i + 2),
                               .kind = (enum feed_event_kind)pg_get_int(a, row, i + 3),
                               .detail = pg_get_str(a, row, i + 4, arena)};
}

static bool wants_events(const struct subscription *sub)
{
    return (sub->events & SUB_FEED) != 0;
}

enum rc pg_push_leads(struct db *db, const int64_t *feed_ids, size_t n,
                      const struct subscription *sub, struct arena *a, struct push_lead *out,
                      struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer firsts, events = {.n = 0};
    enum rc rc;

    pg_together(r);
    pg_put_ints(&r->params, feed_ids, n);
    put_wishes(&r->params, sub, sub->position);
    pg_ask(r, PG_SQL_push_leads, &firsts);
    if (wants_events(sub)) {
        pg_put_ints(&r->params, feed_ids, n);
        pg_put_int(&r->params, sub->position);
        pg_ask(r, PG_SQL_event_leads, &events);
    }
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct push_lead){.first = 0};
    for (size_t i = 0; i < firsts.n; i++)
        out[pg_get_int(&firsts, i, 0) - 1].first = pg_get_int(&firsts, i, 1);
    for (size_t i = 0; i < events.n; i++)
        out[pg_get_int(&events, i, 0) - 1].event = event_at(&events, i, 1, a);
    return RC_OK;
}

enum rc pg_push_batch(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t first,
                      size_t max, int64_t *seqs, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    size_t n = 0;
    enum rc rc;

    pg_put_int(&r->params, feed_id);
    put_wishes(&r->params, sub, first - 1);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_push_batch, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (; n < rows.n && pg_get_int(&rows, n, 1) == pg_get_int(&rows, 0, 1); n++)
        seqs[n] = pg_get_int(&rows, n, 0);
    *n_out = n;
    return RC_OK;
}

enum rc pg_push_run(struct db *db, const int64_t *feed_ids, size_t n,
                    const struct subscription *sub, size_t max, struct arena *a, int64_t *seqs,
                    size_t *n_seqs, struct feed_event **events, size_t *n_events, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows, told = {.n = 0};
    enum rc rc;

    pg_together(r);
    pg_put_ints(&r->params, feed_ids, n);
    put_wishes(&r->params, sub, sub->position);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_push_run, &rows);
    if (wants_events(sub)) {
        pg_put_ints(&r->params, feed_ids, n);
        pg_put_int(&r->params, sub->position);
        pg_put_int(&r->params, (int64_t)max);
        pg_ask(r, PG_SQL_event_run, &told);
    }
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < rows.n; i++)
        seqs[i] = pg_get_int(&rows, i, 0);
    *events = ARENA_ARRAY(a, struct feed_event, told.n + 1);
    for (size_t i = 0; i < told.n; i++)
        (*events)[i] = event_at(&told, i, 0, a);
    *n_seqs = rows.n;
    *n_events = told.n;
    return RC_OK;
}

enum rc pg_push_count(struct db *db, const int64_t *feed_ids, size_t n,
                      const struct subscription *sub, int64_t max, int64_t *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows, events = {.n = 0};
    enum rc rc;

    pg_together(r);
    pg_put_ints(&r->params, feed_ids, n);
    put_wishes(&r->params, sub, sub->position);
    pg_put_int(&r->params, max);
    pg_ask(r, PG_SQL_push_count, &rows);
    if (wants_events(sub)) {
        pg_put_ints(&r->params, feed_ids, n);
        pg_put_int(&r->params, sub->position);
        pg_ask(r, PG_SQL_event_count, &events);
    }
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = pg_number(&rows, 0) + pg_number(&events, 0);
    if (*out > max)
        *out = max;
    return RC_OK;
}

enum rc pg_feed_event(struct db *db, int64_t seq, struct arena *a, struct feed_event *out,
                      struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer row;
    enum rc rc;

    pg_put_int(&r->params, seq);
    pg_ask(r, PG_SQL_feed_event, &row);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = row.n == 0 ? (struct feed_event){.seq = 0} : event_at(&row, 0, 0, a);
    return RC_OK;
}
