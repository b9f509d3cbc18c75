/* storage/pg/load_subs.c - subscriptions with their feeds and dead letters; the locks. */
#include "storage/pg/load_priv.h"

#include <stdlib.h>

#include "storage/rows_subs.h"

#define PG_ROW struct held_sub
#define SUB_OF_ROW(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column sub_columns[] = {SUB_FIXED(SUB_OF_ROW) SUB_SAVED(
    SUB_OF_ROW) SUB_SECRETS(PG_COLUMN) PG_COLUMN(TEXT, last_error, row.last_error)};
#undef PG_ROW

#define PG_ROW struct sub_feed
static const struct pg_column sub_feed_columns[] = {SUB_FEED(PG_COLUMN)};
#undef PG_ROW

/* What is read after the lock is as the last owner of the lock has left it. */
static const char sql_lock[] =
    "SELECT id FROM feeds WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

static const char sql_lock_subs[] =
    "SELECT id FROM subscriptions WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

static const char sql_subs[] = "SELECT " SUB_FIXED(PG_WORD) SUB_SAVED(PG_WORD)
    SUB_SECRETS(PG_WORD) "last_error FROM subscriptions WHERE id = ANY($1)";
#define SUB_LETTERS SUB_FIXED(PG_LETTER) SUB_SAVED(PG_LETTER) SUB_SECRETS(PG_LETTER) "s"

static const char sql_dead[] = "SELECT sub_id, id, seq, wanted FROM dead_letters"
                               " WHERE sub_id = ANY($1) ORDER BY sub_id, id";

static const char sql_listed[] =
    "SELECT " SUB_FEED(PG_WORD) "sub_id, place FROM sub_feeds"
                                " WHERE sub_id = ANY($1) ORDER BY sub_id, place, feed_id";

/* The feeds that URLs name ($1, $2), and all those of the subscriptions $3. */
#define MATCHES                                                                                    \
    "unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS w (sub_id, url, i) CROSS JOIN LATERAL"    \
    " (SELECT s.feed_id FROM sub_feeds s WHERE s.sub_id = w.sub_id"                                \
    " AND hashtextextended(s.url, 0) = hashtextextended(w.url COLLATE \"C\", 0)"                   \
    " AND s.url = w.url"                                                                           \
    " UNION SELECT s.feed_id FROM feeds f JOIN sub_feeds s ON s.sub_id = w.sub_id"                 \
    " AND s.feed_id = f.id WHERE " SAME_URL(                                                       \
        "f.url") " UNION SELECT s.feed_id FROM feeds f JOIN sub_feeds s ON s.sub_id = w.sub_id"    \
                 " AND s.feed_id = f.id WHERE hashtextextended(f.page_url, 0) ="                   \
                 " hashtextextended(w.url COLLATE \"C\", 0) AND f.page_url = w.url"                \
                 " UNION SELECT s.feed_id FROM aliases a JOIN sub_feeds s ON s.sub_id = w.sub_id"  \
                 " AND s.feed_id = a.feed_id WHERE " SAME_URL("a.url") ") AS m"
#define FEEDS_OF_SUBS                                                                              \
    "SELECT feed_id FROM sub_feeds WHERE sub_id = ANY($3) UNION SELECT m.feed_id FROM " MATCHES
static const char sql_lock_more[] =
    "SELECT id FROM feeds WHERE id = ANY(ARRAY(" FEEDS_OF_SUBS " UNION SELECT unnest($4::bigint[])"
    ")) ORDER BY id FOR NO KEY UPDATE";
static const char sql_whole[] = FEEDS "ANY(ARRAY(" FEEDS_OF_SUBS "))";
static const char sql_matches[] =
    "SELECT w.i - 1, m.feed_id FROM " MATCHES " ORDER BY w.i, m.feed_id";

/* A statement with MATCHES in it. */
static void queue_of_subs(struct pg_load *load, struct pg_link *l, struct pg_params *p,
                          const char *sql, const char *letters, struct pg_answer *out)
{
    struct pg_param *subs, *urls;

    pg_params_reset(p);
    subs = pg_put_array(p, PG_INT);
    urls = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_matches; i++) {
        pg_add_int(subs, load->matches[i].sub_id);
        pg_add_text(p, urls, load->matches[i].url);
    }
    if (sql != sql_matches)
        pg_put_ints(p, load->whole, load->n_whole);
    if (sql == sql_lock_more)
        pg_put_ints(p, load->feeds, load->n_feeds);
    pg_queue(l, sql, p, letters, out);
}

/* What belongs to a subscription does not change while it is locked, so its feeds can be locked
 * after it. */
void pg_queue_locks(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    pg_load_ids(l, p, sql_lock_subs, load->subs, load->n_subs, "i", NULL);
    if (load->n_whole + load->n_matches > 0)
        queue_of_subs(load, l, p, sql_lock_more, "i", &load->locked_rows);
    else
        pg_load_ids(l, p, sql_lock, load->feeds, load->n_feeds, "i", NULL);
}

void pg_queue_subs(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    pg_load_ids(l, p, sql_subs, load->subs, load->n_subs, SUB_LETTERS, &load->sub_rows);
    pg_load_ids(l, p, sql_dead, load->deads, load->n_deads, "iiii", &load->dead_rows);
    pg_load_ids(l, p, sql_listed, load->listed, load->n_listed, SUB_FEED(PG_LETTER) "ii",
                &load->listed_rows);
    if (load->n_whole + load->n_matches > 0)
        queue_of_subs(load, l, p, sql_whole, FEED_LETTERS, &load->whole_rows);
    if (load->n_matches > 0)
        queue_of_subs(load, l, p, sql_matches, "ii", &load->match_rows);
}

static void take_rows(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *rows = &load->sub_rows;

    for (size_t i = 0; i < load->n_subs; i++)
        if (rows_sub(r, load->subs[i]) == NULL)
            rows_add_sub(r, load->subs[i]);
    for (size_t i = 0; i < rows->n; i++) {
        struct held_sub *sub = rows_sub(r, pg_get_int(rows, i, 0));

        pg_get_columns(rows, i, 0, PG_COLUMNS(sub_columns), &r->arena, sub);
        sub->held.exists = sub->held.is_stored = true;
    }
}

static void take_dead(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *dead = &load->dead_rows;

    for (size_t i = 0; i < load->n_deads; i++)
        rows_sub(r, load->deads[i])->has_dead = true;
    for (size_t i = 0; i < dead->n; i++) {
        struct held_sub *sub = rows_sub(r, pg_get_int(dead, i, 0));
        struct held_dead *d = rows_add_dead(r, sub);

        d->held.exists = d->held.is_stored = true;
        d->row = (struct dead_letter){.id = pg_get_int(dead, i, 1),
                                      .sub_id = sub->row.id,
                                      .at.seq = pg_get_int(dead, i, 2),
                                      .wanted = pg_get_int(dead, i, 3) != 0};
    }
}

static void take_listed(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->listed_rows;

    for (size_t i = 0; i < load->n_listed; i++)
        rows_sub(r, load->listed[i])->has_feeds = true;
    for (size_t i = 0; i < a->n; i++) {
        struct sub_feed row = {.feed_id = 0};
        int at = pg_get_columns(a, i, 0, PG_COLUMNS(sub_feed_columns), &r->arena, &row);
        struct held_sub *sub = rows_sub(r, pg_get_int(a, i, at));
        struct held_sub_feed *feed = rows_add_sub_feed(r, sub, row.feed_id);

        feed->row = row;
        feed->place = pg_get_int(a, i, at + 1);
        feed->held.exists = feed->held.is_stored = true;
    }
}

static void take_matches(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->match_rows;
    size_t at = 0;

    for (size_t i = 0; i < load->n_matches; i++) {
        const struct want_match *want = &load->matches[i];
        struct held_match *m = rows_match(r, want->sub_id, want->url);
        size_t n = 0;

        while (at + n < a->n && pg_get_int(a, at + n, 0) == (int64_t)i)
            n++;
        if (m == NULL) {
            m = rows_add_match(r, want->sub_id, want->url);
            m->feed_ids = ARENA_ARRAY(&r->arena, int64_t, n + 1);
            for (; m->n < n; m->n++)
                m->feed_ids[m->n] = pg_get_int(a, at + m->n, 1);
        }
        at += n;
    }
}

void pg_take_subs(const struct pg_load *load, struct rows *r)
{
    take_rows(load, r);
    take_dead(load, r);
    take_listed(load, r);
    take_matches(load, r);
}

static int compare_ids(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return (a > b) - (a < b);
}

/* The statements after the lock see what was committed meanwhile: a feed may have taken a URL that
 * was looked for. That one is not locked. */
bool pg_were_locked(const struct pg_load *load, struct arena *a)
{
    const struct pg_answer *locked = &load->locked_rows, *rows = &load->whole_rows;
    int64_t *ids = ARENA_ARRAY(a, int64_t, locked->n + 1);
    bool were = true;

    for (size_t i = 0; i < locked->n; i++)
        ids[i] = pg_get_int(locked, i, 0);
    qsort(ids, locked->n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < rows->n && were; i++) {
        int64_t id = pg_get_int(rows, i, 0);

        were = bsearch(&id, ids, locked->n, sizeof id, compare_ids) != NULL;
    }
    for (size_t i = 0; i < load->match_rows.n && were; i++) {
        int64_t id = pg_get_int(&load->match_rows, i, 1);

        were = bsearch(&id, ids, locked->n, sizeof id, compare_ids) != NULL;
    }
    return were;
}
