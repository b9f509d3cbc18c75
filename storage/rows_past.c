/* storage/rows_past.c - see rows_past.h. */
#include "storage/rows_past.h"

#include "base/assert.h"

struct held_past *rows_past(struct rows *r, int64_t feed_id)
{
    return rows_find(r, ROW_PAST, feed_id, STR_NULL);
}

struct held_archive *rows_archive(struct rows *r, int64_t feed_id, struct str url)
{
    return rows_find(r, ROW_ARCHIVE, feed_id, url);
}

struct held_grave *rows_grave(struct rows *r, int64_t feed_id, struct str uid)
{
    return rows_find(r, ROW_GRAVE, feed_id, uid);
}

struct held_past *rows_add_past(struct rows *r, int64_t feed_id)
{
    struct held_past *p = rows_add(r, ROW_PAST, feed_id, STR_NULL);

    p->feed_id = feed_id;
    p->loaded = ARENA_NEW(&r->arena, struct past_loaded);
    return p;
}

struct held_archive *rows_add_archive(struct rows *r, int64_t feed_id, struct str url)
{
    struct past_loaded *of = rows_past(r, feed_id)->loaded;
    struct held_archive *a = rows_add(r, ROW_ARCHIVE, feed_id, url);

    a->row = (struct archive_row){.feed_id = feed_id, .url = str_dup(&r->arena, url)};
    a->next = of->archives;
    of->archives = a;
    return a;
}

struct held_grave *rows_add_grave(struct rows *r, int64_t feed_id, struct str uid)
{
    struct past_loaded *of = rows_past(r, feed_id)->loaded;
    struct held_grave *g = rows_add(r, ROW_GRAVE, feed_id, uid);

    g->feed_id = feed_id;
    g->uid = str_dup(&r->arena, uid);
    g->when_us = TIME_UNKNOWN;
    g->next = of->graves;
    of->graves = g;
    return g;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The feed's past, which will be changed. */
static struct held_past *change_past(struct rows *r, int64_t feed_id)
{
    struct held_past *p = rows_past(r, feed_id);

    ASSERT(p != NULL);
    rows_touch(r, ROW_PAST, p);
    return p;
}

bool archive_is_open(const struct held_archive *a)
{
    return a->is_there && (a->row.state == ARCHIVE_UNREAD || a->row.state == ARCHIVE_CUT);
}

/* The highest `order` of the feed's documents. */
static int64_t last_order(const struct held_past *p)
{
    int64_t last = p->last_read;

    for (const struct held_archive *a = p->loaded->archives; a != NULL; a = a->next)
        if (a->is_there && a->row.order > last)
            last = a->row.order;
    return last;
}

static void want(struct rows *r, int64_t feed_id, struct str url, int64_t walk, bool reads_again)
{
    struct held_past *p = change_past(r, feed_id);
    struct held_archive *a = rows_archive(r, feed_id, url);
    bool is_again;

    ASSERT(a != NULL && p->loaded->counts);
    is_again = a->is_there && a->row.state == ARCHIVE_READ && reads_again;
    if (!is_again && (a->is_there || p->n_archives > ARCHIVES_MAX))
        return;
    rows_touch(r, ROW_ARCHIVE, a);
    a->row.state = is_again || p->n_archives < ARCHIVES_MAX ? ARCHIVE_UNREAD : ARCHIVE_TOO_MANY;
    a->row.order = last_order(p) + 1;
    a->row.walk = walk;
    a->row.try_at = 0;
    a->row.failures = 0;
    a->is_there = true;
    p->n_archives += !is_again;
}

void past_want(struct rows *r, int64_t feed_id, struct str url, int64_t walk)
{
    want(r, feed_id, url, walk, walk > 0 && past_was_read(r, feed_id, url, walk));
}

void past_want_again(struct rows *r, int64_t feed_id, struct str url, int64_t walk)
{
    want(r, feed_id, url, walk, true);
}

bool past_was_read(struct rows *r, int64_t feed_id, struct str url, int64_t walk)
{
    const struct held_archive *a = rows_archive(r, feed_id, url);

    return a != NULL && a->is_there && a->row.state == ARCHIVE_READ && a->row.walk != walk;
}

void past_read(struct rows *r, struct held_archive *a)
{
    struct held_past *p = change_past(r, a->row.feed_id);

    rows_touch(r, ROW_ARCHIVE, a);
    a->row.state = ARCHIVE_READ;
    if (a->row.order > p->last_read)
        p->last_read = a->row.order;
}

void past_failed(struct rows *r, struct held_archive *a, int64_t try_at, bool was_cut)
{
    rows_touch(r, ROW_ARCHIVE, a);
    a->row.try_at = try_at;
    a->row.failures++;
    if (was_cut)
        a->row.state = ARCHIVE_CUT;
}

/* Is x to be read before y? */
static bool is_before(const struct held_archive *x, const struct held_archive *y)
{
    if (x->row.order != y->row.order)
        return x->row.order > y->row.order;
    return str_cmp(x->row.url, y->row.url) > 0; /* feeds that were merged may have equal ones */
}

const struct held_archive *past_next(struct rows *r, int64_t feed_id, int64_t now)
{
    const struct held_past *p = rows_past(r, feed_id);
    const struct held_archive *next = NULL;

    for (const struct held_archive *a = p->loaded->archives; a != NULL; a = a->next)
        if (archive_is_open(a) && a->row.try_at <= now && (next == NULL || is_before(a, next)))
            next = a;
    return next;
}

bool past_is_pending(struct rows *r, int64_t feed_id, struct str but)
{
    const struct held_past *p = rows_past(r, feed_id);

    for (const struct held_archive *a = p->loaded->archives; a != NULL; a = a->next)
        if (a->is_there && a->row.state != ARCHIVE_READ && !str_eq(a->row.url, but))
            return true;
    return false;
}

void past_forget(struct rows *r, int64_t feed_id, int64_t order)
{
    struct held_past *p = change_past(r, feed_id);

    for (struct held_archive *a = p->loaded->archives; a != NULL; a = a->next) {
        if (!a->is_there || a->row.state == ARCHIVE_READ || a->row.order >= order ||
            (a->row.state == ARCHIVE_CUT && order != INT64_MAX))
            continue;
        rows_touch(r, ROW_ARCHIVE, a);
        a->is_there = false;
        p->n_archives--;
    }
}

/* ---- tombstones ------------------------------------------------------------------------------ */

void past_bury(struct rows *r, int64_t feed_id, struct str uid, int64_t when_us)
{
    struct held_past *p = change_past(r, feed_id);
    struct held_grave *g = rows_grave(r, feed_id, uid);

    ASSERT(g != NULL && p->loaded->n_graves);
    if (g->when_us >= when_us) /* TIME_UNKNOWN is less than any time */
        return;
    rows_touch(r, ROW_GRAVE, g);
    p->n_graves += g->when_us == TIME_UNKNOWN;
    g->when_us = when_us;
}

void past_drop_graves(struct rows *r, int64_t feed_id)
{
    struct held_past *p = change_past(r, feed_id);

    p->drops_graves = true;
    p->n_graves = 0;
    for (struct held_grave *g = p->loaded->graves; g != NULL; g = g->next) {
        if (g->when_us == TIME_UNKNOWN)
            continue;
        rows_touch(r, ROW_GRAVE, g);
        g->when_us = TIME_UNKNOWN;
    }
}
