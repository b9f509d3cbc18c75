/* storage/sqlite/held_past.c - see held_past.h. */
#include "storage/sqlite/held_past.h"

#include "storage/rows_past.h"
#include "storage/sqlite/archives.h"

/* ---- reading --------------------------------------------------------------------------------- */

static void hold_archive(void *ctx, const struct archive_row *row)
{
    struct rows *r = ctx;
    struct held_archive *a = rows_archive(r, row->feed_id, row->url);

    if (a != NULL)
        return;
    a = rows_add_archive(r, row->feed_id, row->url);
    a->row = *row;
    a->is_there = a->was_there = true;
}

static enum rc load_counts(struct db *db, struct held_past *p, struct err *err)
{
    enum rc rc = archives_count(db, p->feed_id, &p->n_archives, &p->last_read, err);

    p->loaded->counts = rc == RC_OK;
    return rc;
}

static enum rc load_past(struct db *db, struct rows *r, const struct want_past *w, struct err *err)
{
    const struct held_feed *f = rows_feed(r, w->feed_id);
    struct held_past *p = rows_past(r, w->feed_id);
    enum rc rc = RC_OK;

    if (p == NULL)
        p = rows_add_past(r, w->feed_id);
    /* a feed that is not `partial` has no such documents, so they are not looked for */
    if ((f->row.feed.partial || w->leads_on) && !p->loaded->open) {
        rc = archives_each_open(db, w->feed_id, &r->arena, hold_archive, r, err);
        p->loaded->open = rc == RC_OK;
    }
    if (rc == RC_OK && w->leads_on && !p->loaded->counts)
        rc = load_counts(db, p, err);
    if (rc == RC_OK && w->has_graves && !p->loaded->n_graves) {
        rc = tombstones_count(db, w->feed_id, &p->n_graves, err);
        p->loaded->n_graves = rc == RC_OK;
    }
    return rc;
}

static enum rc load_archive(struct db *db, struct rows *r, const struct want_row *w,
                            struct err *err)
{
    struct archive_row row;
    bool found;
    enum rc rc;

    if (rows_archive(r, w->feed_id, w->text) != NULL)
        return RC_OK;
    rc = archives_find(db, w->feed_id, w->text, &r->arena, &row, &found, err);
    if (rc == RC_OK && found)
        hold_archive(r, &row);
    else if (rc == RC_OK)
        rows_add_archive(r, w->feed_id, w->text);
    return rc;
}

static enum rc load_grave(struct db *db, struct rows *r, const struct want_row *w, struct err *err)
{
    int64_t when_us;
    enum rc rc;

    if (rows_grave(r, w->feed_id, w->text) != NULL)
        return RC_OK;
    rc = tombstones_find(db, w->feed_id, w->text, &when_us, err);
    if (rc == RC_OK)
        rows_add_grave(r, w->feed_id, w->text)->when_us = when_us;
    return rc;
}

static bool is_missing(struct rows *r, int64_t feed_id)
{
    return rows_feed(r, feed_id)->is_missing;
}

enum rc held_past_load(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < w->n_pasts && rc == RC_OK; i++)
        if (!is_missing(r, w->pasts[i].feed_id))
            rc = load_past(db, r, &w->pasts[i], err);
    for (size_t i = 0; i < w->archives.n && rc == RC_OK; i++)
        if (!is_missing(r, w->archives.at[i].feed_id))
            rc = load_archive(db, r, &w->archives.at[i], err);
    for (size_t i = 0; i < w->graves.n && rc == RC_OK; i++)
        if (!is_missing(r, w->graves.at[i].feed_id))
            rc = load_grave(db, r, &w->graves.at[i], err);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc write_archive(struct db *db, const struct held_archive *a, struct err *err)
{
    if (a->is_there)
        return archives_put(db, &a->row, err);
    return a->was_there ? archives_drop(db, a->row.feed_id, a->row.url, err) : RC_OK;
}

enum rc held_past_write(struct db *db, struct rows *r, struct err *err)
{
    const struct shelf *pasts = &r->shelves[ROW_PAST], *archives = &r->shelves[ROW_ARCHIVE],
                       *graves = &r->shelves[ROW_GRAVE];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < pasts->n_touched && rc == RC_OK; i++) {
        const struct held_past *p = (const struct held_past *)pasts->touched[i];

        if (p->drops_graves)
            rc = tombstones_clear(db, p->feed_id, err);
    }
    for (size_t i = 0; i < archives->n_touched && rc == RC_OK; i++)
        rc = write_archive(db, (const struct held_archive *)archives->touched[i], err);
    for (size_t i = 0; i < graves->n_touched && rc == RC_OK; i++) {
        const struct held_grave *g = (const struct held_grave *)graves->touched[i];

        if (g->when_us != TIME_UNKNOWN)
            rc = tombstones_put(db, g->feed_id, g->uid, g->when_us, err);
    }
    return rc;
}
