/* storage/sqlite/held_places.c - see held_places.h. */
#include "storage/sqlite/held_places.h"

#include "storage/rows_places.h"
#include "storage/sqlite/feeds.h"

static enum rc hold_place(struct db *db, struct rows *r, struct str url, struct str credential,
                          struct err *err)
{
    int64_t owner, alias_of;
    struct held_place *p;
    enum rc rc;

    if (rows_place(r, url, credential) != NULL)
        return RC_OK;
    rc = feeds_find_own(db, url, credential, &owner, err);
    if (rc == RC_OK)
        rc = aliases_find(db, url, credential, &alias_of, err);
    if (rc != RC_OK)
        return rc;
    p = rows_add_place(r, url, credential);
    p->owner = owner;
    p->alias_of = alias_of;
    p->was_alias = alias_of != 0;
    return RC_OK;
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
