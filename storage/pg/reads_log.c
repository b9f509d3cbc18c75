/* storage/pg/reads_log.c - rows of the log, and the keys of views. */
#include "storage/pg/reader.h"
#include "storage/pg/reads.h"
#include "storage/pg/writer.h"

static enum rc ask_number(struct db *db, enum pg_statement_id sql, int64_t *out, struct err *err)
{
    struct pg_answer a;
    enum rc rc;

    pg_ask(pg_reader_of(db), sql, &a);
    rc = pg_hear(pg_reader_of(db), err);
    if (rc == RC_OK)
        *out = pg_number(&a, 0);
    return rc;
}

enum rc pg_last_seq(struct db *db, int64_t *out, struct err *err)
{
    return ask_number(db, PG_SQL_last_seq, out, err);
}

enum rc pg_size(struct db *db, int64_t *bytes, int64_t *n_free, struct err *err)
{
    *n_free = 0;
    return ask_number(db, PG_SQL_database_size, bytes, err);
}

enum rc pg_free_inside(struct db *db, int64_t *bytes, struct err *err)
{
    return ask_number(db, PG_SQL_database_free, bytes, err);
}

static void read_feeds(const struct pg_answer *rows, size_t row, struct arena *a,
                       struct log_notice *out)
{
    size_t n;
    const int64_t *ids = pg_get_ints(rows, row, 3, a, &out->n_feeds);
    const int64_t *bits = pg_get_ints(rows, row, 4, a, &n);
    const int64_t *firsts = pg_get_ints(rows, row, 5, a, &n);

    out->feeds = ARENA_ARRAY(a, struct feed_notice, out->n_feeds + 1);
    out->has_keys = ARENA_ARRAY(a, bool, out->n_feeds + 1);
    for (size_t i = 0; i < out->n_feeds; i++) {
        int64_t told = bits[i] & ~NOTICE_BY_HAND;
        int64_t answer = told & NOTICE_MERGED ? 0 : told / NOTICE_ANSWER;

        out->feeds[i] =
            (struct feed_notice){.feed_id = ids[i],
                                 .merged_into = told & NOTICE_MERGED ? told / 256 : 0,
                                 .first_seq = firsts[i],
                                 .has_event = told & NOTICE_EVENT,
                                 .is_new = told & NOTICE_NEW,
                                 .is_pinged = told & NOTICE_PINGED,
                                 .is_wanted = told & NOTICE_WANTED,
                                 .is_by_hand = bits[i] & NOTICE_BY_HAND,
                                 .is_answered = answer > 0,
                                 .answer = answer > 0 ? (enum rc)(answer - 1) : RC_OK};
        out->has_keys[i] = bits[i] & (NOTICE_NEWS | NOTICE_KEYS);
    }
}

static void read_settled(const struct pg_answer *rows, size_t row, struct arena *a,
                         struct commit_notice *out)
{
    size_t n;
    const int64_t *intents = pg_get_ints(rows, row, 8, a, &out->n_settled);
    const int64_t *verdicts = pg_get_ints(rows, row, 9, a, &n);
    const int64_t *codes = pg_get_ints(rows, row, 10, a, &n);
    const int64_t *statuses = pg_get_ints(rows, row, 11, a, &n);
    struct hub_settled *list = ARENA_ARRAY(a, struct hub_settled, out->n_settled + 1);

    for (size_t i = 0; i < out->n_settled; i++)
        list[i] = (struct hub_settled){intents[i], verdicts[i] & VERDICT_CONFIRMED,
                                       verdicts[i] & VERDICT_UNREACHED, (enum rc)codes[i],
                                       (int)statuses[i]};
    out->settled = list;
}

static void read_notice(const struct pg_answer *rows, size_t row, int64_t node, struct arena *a,
                        struct log_notice *out)
{
    *out = (struct log_notice){.n = pg_get_int(rows, row, 0)};
    out->told.is_foreign = pg_get_int(rows, row, 1) != node;
    out->told.last_seq = pg_get_int(rows, row, 2);
    out->told.sub_ids = pg_get_ints(rows, row, 6, a, &out->told.n_subs);
    out->told.tried_sub_ids = pg_get_ints(rows, row, 7, a, &out->told.n_tried_subs);
    out->told.has_hub_news = pg_get_bool(rows, row, 12);
    out->told.has_view_news = pg_get_bool(rows, row, 13);
    read_feeds(rows, row, a, out);
    read_settled(rows, row, a, &out->told);
}

enum rc pg_notices(struct db *db, int64_t after, size_t max, struct arena *a,
                   struct log_place *place, struct log_notice **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer log, rows;
    enum rc rc;

    pg_ask(r, PG_SQL_log_place, &log);
    pg_put_int(&r->params, after);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_notices, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *place =
        (struct log_place){pg_get_int(&log, 0, 0), pg_get_int(&log, 0, 1), pg_get_int(&log, 0, 2),
                           pg_get_int(&log, 0, 3), pg_get_int(&log, 0, 4)};
    *out = ARENA_ARRAY(a, struct log_notice, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        read_notice(&rows, i, r->node, a, &(*out)[i]);
    *n_out = rows.n;
    return RC_OK;
}

static void read_revision(const struct pg_answer *a, size_t row, struct arena *arena,
                          struct revision *out)
{
#define PG_ROW struct revision
    static const struct pg_column columns[] = {REVISION_FACTS(PG_COLUMN)};
#undef PG_ROW
    int i;

    *out = (struct revision){.seq = 0};
    i = pg_get_columns(a, row, 0, PG_COLUMNS(columns), arena, out);
    out->title = pg_get_str(a, row, i, arena);
    out->link = pg_get_str(a, row, i + 1, arena);
    out->summary = pg_get_str(a, row, i + 2, arena);
    out->author = pg_get_str(a, row, i + 3, arena);
    out->doc = pg_get_str(a, row, i + 4, arena);
    out->ext = pg_get_str(a, row, i + 5, arena);
    out->first_seq = pg_get_int(a, row, i + 6);
    out->uid = pg_get_str(a, row, i + 7, arena);
    out->last_seq = pg_get_int(a, row, i + 8);
    out->gone = pg_get_bool(a, row, i + 9);
    out->id_url = pg_get_str(a, row, i + 11, arena);
    out->prev_seq = pg_get_int(a, row, i + 12);
}

enum rc pg_revisions_by_seq(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                            struct arena *a, struct revision **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows = {.n = 0};
    enum rc rc = RC_OK;

    pg_put_ints(&r->params, seqs, n);
    pg_ask(r, with_overlays ? PG_SQL_revisions_shown : PG_SQL_revisions, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct revision, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        read_revision(&rows, i, a, &(*out)[i]);
    *n_out = rows.n;
    return RC_OK;
}

enum rc pg_revisions_times(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                           struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, seqs, n);
    pg_ask(r, PG_SQL_revision_times, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        at_us[i] = 0;
    for (size_t i = 0; i < rows.n; i++)
        at_us[pg_get_int(&rows, i, 0) - 1] = pg_get_int(&rows, i, 1);
    return RC_OK;
}

enum rc pg_revisions_at(struct db *db, int64_t at_us, int64_t last, int64_t *seq, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_put_int(&r->params, at_us);
    pg_put_int(&r->params, last);
    pg_ask(r, PG_SQL_seq_at, &a);
    rc = pg_hear(r, err);
    if (rc == RC_OK)
        *seq = pg_number(&a, 0);
    return rc;
}

enum rc pg_newest_keys(struct db *db, const struct view *v, size_t max,
                       struct arena *scratch UNUSED, int64_t *seqs, int64_t *iris, size_t *n_out,
                       struct err *err)
{
    bool has_numbers = v->order == VIEW_RECEIVED || v->order == VIEW_CHANGED;
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, v->feed_ids, v->n_feeds);
    pg_put_int(&r->params, v->after_seq);
    pg_put_int(&r->params, v->before_seq);
    pg_put_int(&r->params, (int64_t)max);
    if (!has_numbers)
        pg_put_int(&r->params, filter_before_at(v->filter));
    pg_ask(r,
           v->order == VIEW_RECEIVED  ? PG_SQL_view_received
           : v->order == VIEW_CHANGED ? PG_SQL_view_changed
                                      : PG_SQL_view_newest,
           &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < rows.n; i++) {
        seqs[i] = pg_get_int(&rows, i, 0);
        iris[i] = pg_get_int(&rows, i, 1);
    }
    *n_out = rows.n;
    return RC_OK;
}

static const struct {
    enum pg_statement_id of_feeds, of_all;
} views[] = {
    [VIEW_LOG] = {PG_SQL_view_log, PG_SQL_view_log_all},
    [VIEW_LOG_DESC] = {PG_SQL_view_log_desc, PG_SQL_view_log_all_desc},
    [VIEW_MODIFIED] = {PG_SQL_view_modified, PG_SQL_view_modified_all},
    [VIEW_MODIFIED_DESC] = {PG_SQL_view_modified_desc, PG_SQL_view_modified_all_desc},
    [VIEW_CREATED] = {PG_SQL_view_created, PG_SQL_view_created_all},
    [VIEW_CREATED_DESC] = {PG_SQL_view_created_desc, PG_SQL_view_created_all_desc},
};

enum rc pg_view_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch UNUSED,
                     int64_t *seqs, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    if (!v->all_feeds)
        pg_put_ints(&r->params, v->feed_ids, v->n_feeds);
    pg_put_int(&r->params, v->after_seq);
    pg_put_int(&r->params, v->before_seq);
    pg_put_bool(&r->params, v->with_deleted);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, v->all_feeds ? views[v->order].of_all : views[v->order].of_feeds, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < rows.n; i++)
        seqs[i] = pg_get_int(&rows, i, 0);
    *n_out = rows.n;
    return RC_OK;
}
