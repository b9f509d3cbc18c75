/* storage/pg/load_places.c - whose a URL is, what it means, and the times of positions. */
#include "storage/pg/load_priv.h"

#include <string.h>

#include "storage/rows_places.h"

/* What a URL means under a credential, or under an access key: which feed has it as its own, as an
 * alias, as its page; and which has it and the key. */
#define ITS_PAGE                                                                                   \
    "hashtextextended(f.page_url, 0) = hashtextextended(w.url COLLATE \"C\", 0)"                   \
    " AND f.page_url = w.url"
#define SAME_CREDENTIAL(column)                                                                    \
    " AND md5(" column ") = md5(w.credential) AND " column " = w.credential"
static const char sql_names[] =
    "SELECT w.i - 1, x.kind, x.id FROM unnest($1::text[], $2::text[], $3::text[])"
    " WITH ORDINALITY AS w (url, credential, key, i) CROSS JOIN LATERAL"
    " (SELECT 1::bigint AS kind, f.id FROM feeds f WHERE " SAME_URL("f.url") SAME_CREDENTIAL(
        "f.credential") " UNION ALL SELECT 2, a.feed_id FROM aliases a"
                        " WHERE " SAME_URL("a.url") SAME_CREDENTIAL(
                            "a.credential") " UNION ALL SELECT 3, f.id FROM feeds f WHERE " ITS_PAGE
                                            " AND f.credential = w.credential"
                                            " UNION ALL (SELECT 4, k.id FROM (SELECT 1 AS o, f.id"
                                            " FROM feeds f WHERE " SAME_URL(
                                                "f.url") " AND f.access_key = w.key"
                                                         " UNION ALL SELECT 2, f.id FROM aliases a"
                                                         " JOIN feeds f ON f.id = a.feed_id"
                                                         " WHERE " SAME_URL(
                                                             "a.url") " AND f.access_key = w.key"
                                                                      " UNION ALL SELECT 3, f.id"
                                                                      " FROM feeds f "
                                                                      "WHERE " ITS_PAGE
                                                                      " AND f.access_key = w.key) k"
                                                                      " ORDER BY k.o, k.id LIMIT "
                                                                      "1))"
                                                                      " x ORDER BY w.i, x.kind,"
                                                                      " x.id";
enum { NAME_OWN = 1, NAME_ALIAS, NAME_PAGE, NAME_KEY };

static const char sql_times[] =
    "SELECT w.seq, coalesce((SELECT r.at_us FROM revisions r WHERE r.seq <= w.seq"
    " ORDER BY r.seq DESC LIMIT 1), 0) FROM unnest($1::bigint[]) AS w (seq)";

/* Whose is the URL that a feed may take, and whose is its own; and how many aliases has the feed?
 * Most requests end at the feed's own URL; then nothing has to be known. */
static const char sql_places[] =
    "SELECT f.id, p.url, f.credential, coalesce((SELECT o.id FROM feeds o WHERE"
    " md5(o.url) = md5(p.url) AND md5(o.credential) = md5(f.credential) AND o.url = p.url"
    " AND o.credential = f.credential), 0), coalesce((SELECT a.feed_id FROM aliases a WHERE"
    " md5(a.url) = md5(p.url) AND md5(a.credential) = md5(f.credential) AND a.url = p.url"
    " AND a.credential = f.credential), 0), (SELECT count(*) FROM aliases a"
    " WHERE a.feed_id = f.id) FROM unnest($1::bigint[], $2::text[]) AS w (id, url)"
    " JOIN feeds f ON f.id = w.id CROSS JOIN LATERAL (VALUES (w.url), (f.url)) AS p (url)"
    " WHERE w.url <> f.url";

static void queue_names(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *urls, *credentials, *keys;

    if (load->n_names == 0)
        return;
    pg_params_reset(p);
    urls = pg_put_array(p, PG_TEXT);
    credentials = pg_put_array(p, PG_TEXT);
    keys = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_names; i++) {
        struct str credential = load->names[i].credential;

        pg_add_text(p, urls, load->names[i].url);
        pg_add_text(p, credentials, str_is_null(credential) ? STR("") : credential);
        pg_add_text(p, keys, access_key_of(credential));
    }
    pg_queue(l, sql_names, p, "iii", &load->name_rows);
}

void pg_queue_places(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    queue_names(load, l, p);
    pg_load_ids(l, p, sql_times, load->times, load->n_times, "ii", &load->time_rows);
    pg_load_rows(l, p, sql_places, &load->places, "issiii", &load->place_rows);
}

static void take_places(const struct pg_answer *a, struct rows *r)
{
    for (size_t i = 0; i < a->n; i++) {
        int64_t feed_id = pg_get_int(a, i, 0);
        struct str url = pg_get_bytes(a, i, 1), credential = pg_get_bytes(a, i, 2);
        struct held_place *p;

        if (rows_names(r, feed_id) == NULL)
            rows_add_names(r, feed_id)->n = pg_get_int(a, i, 5);
        if (rows_place(r, url, credential) != NULL)
            continue;
        p = rows_add_place(r, url, credential);
        p->owner = pg_get_int(a, i, 3);
        p->alias_of = pg_get_int(a, i, 4);
        p->was_alias = p->alias_of != 0;
    }
}

static void take_page(struct rows *r, struct held_place *p, int64_t feed_id)
{
    int64_t *pages = ARENA_ARRAY(&r->arena, int64_t, p->n_pages + 1);

    if (p->n_pages > 0)
        memcpy(pages, p->pages, p->n_pages * sizeof *pages);
    pages[p->n_pages++] = feed_id;
    p->pages = pages;
}

static void take_name(const struct pg_answer *a, size_t i, struct held_place *p, struct rows *r)
{
    int64_t id = pg_get_int(a, i, 2);

    switch (pg_get_int(a, i, 1)) {
    case NAME_OWN:
        p->owner = id;
        break;
    case NAME_ALIAS:
        p->alias_of = id;
        p->was_alias = true;
        break;
    case NAME_PAGE:
        take_page(r, p, id);
        break;
    default:
        p->key_of = id;
    }
}

/* A place that is held for a feed that may take it does not know of pages yet. It is not changed:
 * names are loaded before anything is computed. */
static void take_names(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->name_rows;
    size_t at = 0;

    for (size_t i = 0; i < load->n_names; i++) {
        const struct want_name *want = &load->names[i];
        struct held_place *p = rows_place(r, want->url, want->credential);

        if (p == NULL)
            p = rows_add_place(r, want->url, want->credential);
        p->n_pages = 0;
        for (; at < a->n && pg_get_int(a, at, 0) == (int64_t)i; at++)
            take_name(a, at, p, r);
    }
    for (size_t i = 0; i < load->time_rows.n; i++) {
        int64_t seq = pg_get_int(&load->time_rows, i, 0);
        struct held_time *time = rows_find(r, ROW_TIME, seq, STR_NULL);

        if (time == NULL)
            time = rows_add(r, ROW_TIME, seq, STR_NULL);
        time->at_us = pg_get_int(&load->time_rows, i, 1);
    }
}

void pg_take_places(const struct pg_load *load, struct rows *r)
{
    take_places(&load->place_rows, r);
    take_names(load, r);
}
