/* storage/pg/load_past.c - documents of the past of feeds, and tombstones. */
#include "storage/pg/load_priv.h"

#include "storage/rows_past.h"

#define PG_ROW struct archive_row
static const struct pg_column archive_columns[] = {ARCHIVE(PG_COLUMN)
                                                       PG_COLUMN(INT, feed_id, feed_id)};
#undef PG_ROW

/* The documents of the past that are still to be read; a feed that is not `partial` has none, so
 * they are not looked for, unless a document leads to more ($2). */
static const char sql_pasts[] =
    "SELECT " ARCHIVE(PG_WORD_A) "a.feed_id FROM unnest($1::bigint[], $2::boolean[])"
                                 " AS w (id, leads_on) JOIN feeds f ON f.id = w.id"
                                 " JOIN archives a ON a.feed_id = f.id AND a.state IN (0, 2, 3)"
                                 " WHERE w.leads_on OR f.partial = 1";

static const char sql_archives[] =
    "SELECT " ARCHIVE(PG_WORD_A) "a.feed_id FROM unnest($1::bigint[], $2::text[]) AS w (id, url)"
                                 " JOIN archives a ON a.feed_id = w.id"
                                 " AND hashtextextended(a.url, 0) ="
                                 " hashtextextended(w.url COLLATE \"C\", 0) AND a.url = w.url";

static const char sql_counts[] =
    "SELECT w.id, (SELECT count(*) FROM archives a WHERE a.feed_id = w.id),"
    " (SELECT coalesce(max(a.place), 0) FROM archives a WHERE a.feed_id = w.id AND a.state = 1)"
    " FROM unnest($1::bigint[]) AS w (id)";

static const char sql_n_graves[] =
    "SELECT w.id, (SELECT count(*) FROM graves g WHERE g.feed_id = w.id)"
    " FROM unnest($1::bigint[]) AS w (id)";

static const char sql_graves[] =
    "SELECT g.when_us, g.feed_id, g.uid FROM unnest($1::bigint[], $2::text[]) AS w (id, uid)"
    " JOIN graves g ON g.feed_id = w.id AND hashtextextended(g.uid, 0) ="
    " hashtextextended(w.uid COLLATE \"C\", 0) AND g.uid = w.uid";

static void queue_pasts(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *feeds, *leads_on;

    if (load->n_pasts == 0)
        return;
    pg_params_reset(p);
    feeds = pg_put_array(p, PG_INT);
    leads_on = pg_put_array(p, PG_BOOL);
    for (size_t i = 0; i < load->n_pasts; i++) {
        pg_add_int(feeds, load->pasts[i]->feed_id);
        pg_add_bool(leads_on, load->pasts[i]->leads_on);
    }
    pg_queue(l, sql_pasts, p, ARCHIVE(PG_LETTER) "i", &load->past_rows);
}

void pg_queue_past(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    queue_pasts(load, l, p);
    pg_load_rows(l, p, sql_archives, &load->archives, ARCHIVE(PG_LETTER) "i", &load->archive_rows);
    pg_load_ids(l, p, sql_counts, load->counts, load->n_counts, "iii", &load->count_rows);
    pg_load_ids(l, p, sql_n_graves, load->n_graves, load->n_n_graves, "ii", &load->n_grave_rows);
    pg_load_rows(l, p, sql_graves, &load->graves, "iis", &load->grave_rows);
}

static void take_archives(const struct pg_answer *a, struct rows *r)
{
    for (size_t i = 0; i < a->n; i++) {
        struct archive_row row = {.feed_id = 0};
        struct held_archive *held;

        pg_get_columns(a, i, 0, PG_COLUMNS(archive_columns), &r->arena, &row);
        if (rows_archive(r, row.feed_id, row.url) != NULL)
            continue;
        held = rows_add_archive(r, row.feed_id, row.url);
        held->row = row;
        held->is_there = held->was_there = true;
    }
}

static bool is_missing(struct rows *r, int64_t feed_id)
{
    return rows_feed(r, feed_id)->is_missing;
}

static void take_pasts(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->n_pasts; i++) {
        const struct want_past *want = load->pasts[i];
        struct held_past *p = rows_past(r, want->feed_id);

        if (is_missing(r, want->feed_id))
            continue;
        if (p == NULL)
            p = rows_add_past(r, want->feed_id);
        p->loaded->open |= want->leads_on || rows_feed(r, want->feed_id)->row.feed.partial;
    }
    take_archives(&load->past_rows, r);
    take_archives(&load->archive_rows, r);
    for (size_t i = 0; i < load->archives.n; i++) {
        const struct want_row *want = &load->archives.at[i];

        if (!is_missing(r, want->feed_id) && rows_archive(r, want->feed_id, want->text) == NULL)
            rows_add_archive(r, want->feed_id, want->text);
    }
}

static void take_counts(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->count_rows.n; i++) {
        struct held_past *p = rows_past(r, pg_get_int(&load->count_rows, i, 0));

        if (p == NULL)
            continue;
        p->n_archives = pg_get_int(&load->count_rows, i, 1);
        p->last_read = pg_get_int(&load->count_rows, i, 2);
        p->loaded->counts = true;
    }
    for (size_t i = 0; i < load->n_grave_rows.n; i++) {
        struct held_past *p = rows_past(r, pg_get_int(&load->n_grave_rows, i, 0));

        if (p == NULL)
            continue;
        p->n_graves = pg_get_int(&load->n_grave_rows, i, 1);
        p->loaded->n_graves = true;
    }
}

static void take_graves(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->grave_rows;

    for (size_t i = 0; i < load->graves.n; i++) {
        const struct want_row *want = &load->graves.at[i];

        if (!is_missing(r, want->feed_id) && rows_grave(r, want->feed_id, want->text) == NULL)
            rows_add_grave(r, want->feed_id, want->text);
    }
    for (size_t i = 0; i < a->n; i++)
        rows_grave(r, pg_get_int(a, i, 1), pg_get_bytes(a, i, 2))->when_us = pg_get_int(a, i, 0);
}

void pg_take_past(const struct pg_load *load, struct rows *r)
{
    take_pasts(load, r);
    take_counts(load, r);
    take_graves(load, r);
}
