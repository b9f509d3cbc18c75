/* storage/rows_upstreams.c - see rows_upstreams.h. */
#include "storage/rows_upstreams.h"

#include "base/assert.h"
#include "base/digest.h"
#include "storage/store.h"
#include "storage/tables.h"

/* ---- what is compared ---- */

#define MARK_CURRENT 1 /* this bit of a mark says whether the row is the current one of its feed   \
                        */
#define MARK_SET 2     /* a mark is never UPSTREAM_ANY */

static void fold(uint64_t *mark, const void *p, size_t n)
{
    uint64_t both[2] = {*mark, digest_seeded64(n == 0 ? "" : p, n)};

    *mark = digest_seeded64(both, sizeof both);
}

static void fold_int(uint64_t *mark, int64_t n)
{
    fold(mark, &n, sizeof n);
}

#define MARK(kind, column, member) MARK_##kind(row.member)
#define MARK_TEXT(member) fold(&mark, (member).ptr, (member).len);
#define MARK_INT(member) fold_int(&mark, (int64_t)(member));
#define MARK_TIME(member) fold_int(&mark, (member));

uint64_t store_upstream_mark(const struct upstream *u)
{
    struct upstream row = *u;
    uint64_t mark = 0;

    row.is_current = false;
    UPSTREAM_KEPT(MARK)
    return (mark & ~(uint64_t)MARK_CURRENT) | MARK_SET | (u->is_current ? MARK_CURRENT : 0);
}

bool upstream_is_known(struct rows *r, struct str token, uint64_t known,
                       const struct upstream *then)
{
    const struct held_upstream_row *row = rows_upstream(r, token);
    uint64_t stored;

    if (known == UPSTREAM_ANY)
        return true;
    if (!row->held.exists)
        return then == NULL;
    stored = store_upstream_mark(&row->row);
    if (then != NULL && store_upstream_mark(then) == stored)
        return true;
    /* another row of the feed may have become current, but that one is not to be displaced again */
    if (then != NULL && then->is_current && known & MARK_CURRENT && !(stored & MARK_CURRENT))
        return false;
    return (stored | MARK_CURRENT) == (known | MARK_CURRENT);
}

/* ---- rows ---- */

struct held_upstream_row *rows_upstream(struct rows *r, struct str token)
{
    return rows_find(r, ROW_UPSTREAM, 0, token);
}

struct held_upstream_row *rows_add_upstream_row(struct rows *r, struct str token)
{
    return rows_add(r, ROW_UPSTREAM, 0, token);
}

/* The feed's row shows its current upstream subscription, or none (NULL). */
static void show(struct rows *r, int64_t feed_id, const struct upstream *u)
{
    static const struct upstream none = {
        .is_current = true, .lease_end_at = TIME_UNKNOWN, .delivered_at = TIME_UNKNOWN};
    struct held_feed *f = rows_feed(r, feed_id);

    if (f == NULL || f->is_missing)
        return;
    rows_touch(r, ROW_FEED, f);
    f->row.feed.upstream = u == NULL ? none : *u;
}

/* Of the held ones of the feed, the one that is current now; NULL: none of them is. */
static struct held_upstream_row *current_of(struct rows *r, int64_t feed_id)
{
    struct held_upstream_row *u;
    void *it = NULL;

    while ((u = shelf_next(&r->shelves[ROW_UPSTREAM], &it)) != NULL)
        if (u->held.exists && u->row.is_current && u->row.feed_id == feed_id)
            return u;
    return NULL;
}

/* The row becomes the current one of its feed; no other one is any more. */
static void take_current(struct rows *r, struct held_upstream_row *row, int64_t feed_id)
{
    struct held_upstream_row *u;
    void *it = NULL;

    while ((u = shelf_next(&r->shelves[ROW_UPSTREAM], &it)) != NULL) {
        bool was_it = u->row.is_current || u->held.changes & UPSTREAM_TAKES_CURRENT;

        if (u == row || u->row.feed_id != feed_id || !was_it)
            continue;
        rows_touch(r, ROW_UPSTREAM, u);
        u->row.is_current = false;
        u->held.changes &= ~(unsigned)UPSTREAM_TAKES_CURRENT;
    }
    rows_change(r, ROW_UPSTREAM, row, UPSTREAM_TAKES_CURRENT);
}

void rows_put_upstream(struct rows *r, const struct upstream *u)
{
    struct held_upstream_row *row = rows_upstream(r, u->token);
    bool was_current = row->held.exists && row->row.is_current && row->row.feed_id == u->feed_id;
    int trust = row->held.exists ? row->row.trust : 0;
    int64_t delivered_at = row->held.exists ? row->row.delivered_at : TIME_UNKNOWN;

    if (u->is_current)
        take_current(r, row, u->feed_id);
    if (row->held.is_stored && !row->held.exists) /* it was dropped: nothing of it stays */
        rows_change(r, ROW_UPSTREAM, row, UPSTREAM_WRITES_TRUST);
    rows_create(r, ROW_UPSTREAM, row);
    row->row = *u;
    row->row.trust = trust;
    row->row.delivered_at = delivered_at;
    if (u->is_current || was_current)
        show(r, u->feed_id, u->is_current ? &row->row : NULL);
}

void rows_drop_upstream(struct rows *r, struct str token)
{
    struct held_upstream_row *row = rows_upstream(r, token);

    if (!row->held.exists)
        return;
    if (row->row.is_current)
        show(r, row->row.feed_id, NULL);
    rows_drop(r, ROW_UPSTREAM, row);
}

/* What happened to the current one is done to its row, if that one is held. */
static void happen(struct rows *r, struct held_upstream_row *row, const struct held_upstream *u)
{
    rows_change(r, ROW_UPSTREAM, row, UPSTREAM_WRITES_TRUST);
    if (u->delivered_at != 0)
        row->row.trust = TRUST_FULL;
    if (u->delivered_at != 0 || u->announced_at != 0)
        row->row.delivered_at = u->delivered_at != 0 ? u->delivered_at : u->announced_at;
    else if (row->row.trust == u->trust_was)
        row->row.trust = u->trust;
}

void rows_add_upstream(struct rows *r, const struct held_upstream *u)
{
    struct held_upstream_row *row = current_of(r, u->feed_id);
    const struct held_feed *f = rows_feed(r, u->feed_id);

    struct held_upstream listed = *u;

    listed.before.delivered_at = TIME_UNKNOWN;
    listed.before.trust = u->trust_was;
    if (f != NULL && !f->is_missing) {
        listed.before.delivered_at = f->row.feed.upstream.delivered_at;
        listed.before.trust = f->row.feed.upstream.trust;
    }
    if (row != NULL)
        happen(r, row, u);
    else if (f == NULL || f->is_missing || !str_is_null(f->row.feed.upstream.hub))
        rows_list_upstream(r, &listed);
}
