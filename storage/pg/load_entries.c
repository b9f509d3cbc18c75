/* storage/pg/load_entries.c - entries by uid, by id, by key, and their newest revisions. */
#include "storage/pg/load_priv.h"

#define PG_ROW struct entry_row
static const struct pg_column entry_columns[] = {PG_COLUMN(INT, id, id) ENTRY_KEY(
    PG_COLUMN) ENTRY_FIXED(PG_COLUMN) ENTRY_SAVED(PG_COLUMN) PG_COLUMN(MARKS, marks, marks)};
#undef PG_ROW

#define PG_ROW struct revision
static const struct pg_column revision_columns[] = {REVISION(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct content_row
static const struct pg_column content_columns[] = {PG_COLUMN(INT, entry_id, entry_id)
                                                       CONTENT(PG_COLUMN)};
#undef PG_ROW

/* Each with the date with which it is shown, and its content. */
#define ENTRIES                                                                                    \
    "SELECT e.id, " ENTRY_KEY(PG_WORD_E) ENTRY_FIXED(PG_WORD_E)                                    \
        ENTRY_SAVED(PG_WORD_E) "e.marks, coalesce(r.updated_at, r.published_at, r.at_us / "        \
                               "1000000), c.entry_id, " CONTENT(PG_WORD_C) "1::bigint FROM "
#define ENTRY_PARTS                                                                                \
    " LEFT JOIN revisions r ON r.seq = e.seq LEFT JOIN contents c ON c.entry_id = e.id"
#define ENTRY_LETTERS                                                                              \
    "i" ENTRY_KEY(PG_LETTER) ENTRY_FIXED(PG_LETTER)                                                \
        ENTRY_SAVED(PG_LETTER) "bii" CONTENT(PG_LETTER) "i"

/* A uid is found by its hash, for it may be too long for an index. */
static const char sql_entries[] =
    ENTRIES "unnest($1::bigint[], $2::text[]) AS w (feed_id, uid) JOIN entries e"
            " ON e.feed_id = w.feed_id AND hashtextextended(e.uid, 0) ="
            " hashtextextended(w.uid COLLATE \"C\", 0) AND e.uid = w.uid" ENTRY_PARTS;

static const char sql_entries_by_id[] =
    ENTRIES "unnest($1::bigint[]) AS w (id) JOIN entries e ON e.id = w.id" ENTRY_PARTS;

/* The newest ones of each key ($3). */
static const char sql_entries_by_key[] = ENTRIES
    "unnest($1::bigint[], $2::bigint[]) AS w (feed_id, key) CROSS JOIN LATERAL"
    " (SELECT k.entry_id FROM entry_keys k WHERE k.feed_id = w.feed_id AND k.key = w.key"
    " ORDER BY k.entry_id DESC LIMIT $3) AS k JOIN entries e ON e.id = k.entry_id" ENTRY_PARTS;

static const char sql_newest[] = "SELECT " REVISION_FACTS(PG_WORD_R) REVISION_TEXTS(
    PG_WORD_B) "e.id FROM unnest($1::bigint[])"
               " AS w (id) JOIN entries e ON e.id = w.id JOIN revisions r ON r.seq = e.seq"
               " JOIN bodies b ON b.id = r.body";

static void queue_keys(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *feeds, *keys;

    if (load->n_keys == 0)
        return;
    pg_params_reset(p);
    feeds = pg_put_array(p, PG_INT);
    keys = pg_put_array(p, PG_INT);
    for (size_t i = 0; i < load->n_keys; i++) {
        pg_add_int(feeds, load->keys[i].feed_id);
        pg_add_int(keys, load->keys[i].key);
    }
    pg_put_int(p, WANT_KEY_MOST);
    pg_queue(l, sql_entries_by_key, p, ENTRY_LETTERS, &load->key_rows);
}

void pg_queue_entries(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    pg_load_rows(l, p, sql_entries, &load->entries, ENTRY_LETTERS, &load->entry_rows);
    pg_load_ids(l, p, sql_entries_by_id, load->ids, load->n_ids, ENTRY_LETTERS, &load->id_rows);
    queue_keys(load, l, p);
    pg_load_ids(l, p, sql_newest, load->newest, load->n_newest,
                REVISION_FACTS(PG_LETTER) REVISION_TEXTS(PG_LETTER) "i", &load->newest_rows);
}

/* Hold row i of the answer, unless the entry is held already. */
static struct held_entry *take_entry(const struct pg_answer *a, size_t i, struct rows *r)
{
    struct entry_row row = {.id = 0};
    int at = pg_get_columns(a, i, 0, PG_COLUMNS(entry_columns), &r->arena, &row);
    struct held_entry *e = rows_entry(r, row.feed_id, row.uid);

    if (e != NULL)
        return e;
    e = rows_add_entry(r, row.feed_id, row.uid);
    e->row = row;
    e->was_seq = row.seq;
    e->had_marks = row.has_marks;
    e->old_marks = row.marks;
    e->shown_at = pg_get_time(a, i, at);
    e->has_content = !pg_is_null(a, i, at + 1);
    if (e->has_content)
        pg_get_columns(a, i, at + 1, PG_COLUMNS(content_columns), &r->arena, &e->content);
    return e;
}

static void take_by_uid(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->entry_rows.n; i++)
        take_entry(&load->entry_rows, i, r);
    for (size_t i = 0; i < load->key_rows.n; i++)
        take_entry(&load->key_rows, i, r);
    for (size_t i = 0; i < load->entries.n; i++)
        if (rows_entry(r, load->entries.at[i].feed_id, load->entries.at[i].text) == NULL)
            rows_add_entry(r, load->entries.at[i].feed_id, load->entries.at[i].text);
}

static void take_by_id(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->id_rows.n; i++) {
        int64_t id = pg_get_int(&load->id_rows, i, 0);
        struct held_entry *e = take_entry(&load->id_rows, i, r);

        if (rows_find(r, ROW_ENTRY_ID, id, STR_NULL) == NULL)
            rows_add_entry_id(r, id, e);
    }
    for (size_t i = 0; i < load->n_ids; i++)
        if (rows_find(r, ROW_ENTRY_ID, load->ids[i], STR_NULL) == NULL)
            rows_add_entry_id(r, load->ids[i], NULL);
    for (size_t i = 0; i < load->newest_rows.n; i++) {
        struct revision *newest = ARENA_NEW(&r->arena, struct revision);
        int at = pg_get_columns(&load->newest_rows, i, 0, PG_COLUMNS(revision_columns), &r->arena,
                                newest);

        rows_entry_by_id(r, pg_get_int(&load->newest_rows, i, at))->newest = newest;
    }
}

void pg_take_entries(const struct pg_load *load, struct rows *r)
{
    take_by_uid(load, r);
    take_by_id(load, r);
}
