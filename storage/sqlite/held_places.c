/* storage/sqlite/held_places.c - see held_places.h. */
#include "storage/sqlite/held_places.h"

#include <string.h>

#include "storage/rows_places.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/stmt.h"

static void take_page(struct rows *r, struct held_place *p, int64_t feed_id)
{
    int64_t *pages = ARENA_ARRAY(&r->arena, int64_t, p->n_pages + 1);

    if (p->n_pages > 0)
        memcpy(pages, p->pages, p->n_pages * sizeof *pages);
    pages[p->n_pages++] = feed_id;
    p->pages = pages;
}

/* What a URL is for a feed. */
enum { URL_OWN = 1, URL_ALIAS, URL_PAGE };

static const char sql_place[] =
    "SELECT 1, id FROM feeds WHERE url = ?1 AND credential = ?2"
    " UNION ALL SELECT 2, feed_id FROM aliases WHERE url = ?1 AND credential = ?2"
    " UNION ALL SELECT 3, id FROM feeds WHERE page_url = ?1 AND credential = ?2 ORDER BY 1, 2";

static enum rc hold_place(struct db *db, struct rows *r, struct str url, struct str credential,
                          struct err *err)
{
    struct held_place *p = rows_place(r, url, credential);
    sqlite3_stmt *st;
    int got = -1;

    if (p != NULL)
        return RC_OK;
    p = rows_add_place(r, url, credential);
    st = stmt_start(db, err, sql_place, "se", url, credential);
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        int64_t id = col_int(st, 1);

        if (col_int(st, 0) == URL_OWN)
            p->owner = id;
        else if (col_int(st, 0) == URL_ALIAS)
            p->alias_of = id;
        else
            take_page(r, p, id);
    }
    p->was_alias = p->alias_of != 0;
    return got < 0 ? RC_IO : RC_OK;
}

/* The feed with this access key that has the URL. */
static const char sql_key[] =
    "SELECT id FROM feeds WHERE url = ?1 AND access_key = ?2"
    " UNION ALL SELECT f.id FROM aliases a JOIN feeds f ON f.id = a.feed_id"
    " WHERE a.url = ?1 AND f.access_key = ?2"
    " UNION ALL SELECT id FROM feeds WHERE page_url = ?1 AND access_key = ?2 LIMIT 1";

static enum rc load_name(struct db *db, struct rows *r, const struct want_name *w, struct err *err)
{
    struct str key = access_key_of(w->credential);
    enum rc rc = hold_place(db, r, w->url, w->credential, err);

    if (rc != RC_OK || str_is_null(key))
        return rc;
    return stmt_number(db, stmt_start(db, err, sql_key, "ss", w->url, key),
                       &rows_place(r, w->url, w->credential)->key_of, err);
}

static enum rc hold_names(struct db *db, struct rows *r, int64_t feed_id, struct err *err)
{
    int64_t n;
    enum rc rc;

    if (rows_names(r, feed_id) != NULL)
        return RC_OK;
    rc = aliases_count(db, feed_id, &n, err);
    if (rc == RC_OK)
        rows_add_names(r, feed_id)->n = n;
    return rc;
}

/* Most requests end at the feed's own URL; then nothing has to be known. */
static enum rc load_place(struct db *db, struct rows *r, const struct want_row *w, struct err *err)
{
    const struct held_feed *f = rows_feed(r, w->feed_id);
    const struct feed *feed = &f->row.feed;
    enum rc rc;

    if (f->is_missing || str_eq(w->text, feed->url))
        return RC_OK;
    rc = hold_place(db, r, w->text, feed->credential, err);
    if (rc == RC_OK)
        rc = hold_place(db, r, feed->url, feed->credential, err);
    return rc == RC_OK ? hold_names(db, r, w->feed_id, err) : rc;
}

enum rc held_places_load(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < w->places.n && rc == RC_OK; i++)
        rc = load_place(db, r, &w->places.at[i], err);
    for (size_t i = 0; i < w->n_names && rc == RC_OK; i++)
        rc = load_name(db, r, &w->names[i], err);
    return rc;
}

enum rc held_places_write(struct db *db, struct rows *r, struct err *err)
{
    const struct shelf *s = &r->shelves[ROW_PLACE];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_touched && rc == RC_OK; i++) {
        const struct held_place *p = (const struct held_place *)s->touched[i];

        if (p->alias_of != 0)
            rc = aliases_add(db, p->alias_of, p->url, p->credential, err);
        else if (p->was_alias)
            rc = aliases_drop(db, p->url, p->credential, err);
    }
    return rc;
}
