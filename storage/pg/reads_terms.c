/* storage/pg/reads_terms.c - the index of words. */
#include "storage/pg/reader.h"
#include "storage/pg/reads.h"
#include "storage/term_text.h"

static const struct term_syntax syntax = {"'", ":*", " & ", " | "};

enum rc pg_index_place(struct db *db, struct index_place *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer a;
    enum rc rc;

    pg_ask(r, PG_SQL_index_place, &a);
    rc = pg_hear(r, err);
    *out = (struct index_place){.seq = 0};
    if (rc == RC_OK && a.n > 0)
        *out = (struct index_place){pg_get_int(&a, 0, 0), pg_get_int(&a, 0, 1),
                                    pg_get_int(&a, 0, 2)};
    return rc;
}

static void put_query(struct pg_reader *r, const struct term_query *q)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    term_text(&b, &syntax, q);
    pg_put_text(&r->params, buf_view(&b));
}

enum rc pg_terms_find(struct db *db, const struct term_query *q, int64_t after, int64_t before,
                      size_t max, struct arena *scratch UNUSED, int64_t *seqs, size_t *n_out,
                      struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    put_query(r, q);
    pg_put_int(&r->params, after);
    pg_put_int(&r->params, before);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_terms_find, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < rows.n; i++)
        seqs[i] = pg_get_int(&rows, i, 0);
    *n_out = rows.n;
    return RC_OK;
}

enum rc pg_terms_among(struct db *db, const struct term_query *q, const int64_t *seqs, size_t n,
                       struct arena *scratch UNUSED, bool *out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    put_query(r, q);
    pg_put_ints(&r->params, seqs, n);
    pg_ask(r, PG_SQL_terms_among, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = false;
    for (size_t i = 0; i < rows.n; i++)
        out[pg_get_int(&rows, i, 0) - 1] = true;
    return RC_OK;
}

enum rc pg_revision_keys(struct db *db, const int64_t *seqs, size_t n, struct revision_key *out,
                         struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer rows;
    enum rc rc;

    pg_put_ints(&r->params, seqs, n);
    pg_ask(r, PG_SQL_revision_keys, &rows);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct revision_key){.seq = 0};
    for (size_t i = 0; i < rows.n; i++) {
        size_t at = (size_t)pg_get_int(&rows, i, 0) - 1;

        out[at] = (struct revision_key){.seq = seqs[at],
                                        .feed_id = pg_get_int(&rows, i, 1),
                                        .kind = (enum revision_kind)pg_get_int(&rows, i, 2),
                                        .sort_at = pg_get_int(&rows, i, 3),
                                        .first_seq = pg_get_int(&rows, i, 4),
                                        .last_seq = pg_get_int(&rows, i, 5),
                                        .gone = pg_get_bool(&rows, i, 6)};
    }
    return RC_OK;
}
