/* storage/rows_subs.c - see rows_subs.h. */
#include "storage/rows_subs.h"

#include <string.h>

#include "base/assert.h"
#include "model/folders.h"
#include "storage/rows_hub.h"

struct held_sub *rows_sub(struct rows *r, int64_t id)
{
    return rows_find(r, ROW_SUB, id, STR_NULL);
}

struct held_sub *rows_add_sub(struct rows *r, int64_t id)
{
    struct held_sub *sub = rows_add(r, ROW_SUB, id, STR_NULL);

    sub->row.id = id;
    return sub;
}

struct held_sub *rows_new_sub(struct rows *r)
{
    int64_t id = rows_draw(r, NEW_SUB);
    struct held_sub *sub = rows_sub(r, id);

    if (sub == NULL)
        sub = rows_add_sub(r, id);
    rows_create(r, ROW_SUB, sub);
    sub->row =
        (struct subscription){.id = id, .next_try_at = TIME_UNKNOWN, .failing_since = TIME_UNKNOWN};
    sub->has_feeds = sub->has_dead = true;
    return sub;
}

/* ---- feeds ----------------------------------------------------------------------------------- */

/* The key of a row of sub_feeds is made of both numbers. */
static struct str feed_key(const int64_t *feed_id)
{
    return str_of((const char *)feed_id, sizeof *feed_id);
}

/* Make room for one more in a list in the arena. */
static void *grow(struct rows *r, void *list, size_t n, size_t *cap)
{
    void **grown;

    if (n < *cap)
        return list;
    *cap = n == 0 ? 4 : 2 * n;
    grown = ARENA_ARRAY(&r->arena, void *, *cap);
    if (n > 0)
        memcpy(grown, list, n * sizeof *grown);
    return grown;
}

static bool stands_among(const struct held_sub *sub, const struct held_sub_feed *feed)
{
    for (size_t i = 0; feed->sub_id != 0 && i < sub->n_feeds; i++)
        if (sub->feeds[i] == feed)
            return true;
    return false;
}

struct held_sub_feed *rows_add_sub_feed(struct rows *r, struct held_sub *sub, int64_t feed_id)
{
    struct held_sub_feed *feed = rows_find(r, ROW_SUB_FEED, sub->row.id, feed_key(&feed_id));

    if (feed == NULL) /* else it was dropped before, or is left of an operation that was undone */
        feed = rows_add(r, ROW_SUB_FEED, sub->row.id, feed_key(&feed_id));
    if (stands_among(sub, feed))
        return feed;
    feed->sub_id = sub->row.id;
    feed->row.feed_id = feed_id;
    sub->feeds = grow(r, sub->feeds, sub->n_feeds, &sub->cap_feeds);
    sub->feeds[sub->n_feeds++] = feed;
    return feed;
}

struct held_sub_feed *rows_sub_feed(struct rows *r, int64_t sub_id, int64_t feed_id)
{
    struct held_sub_feed *feed = rows_find(r, ROW_SUB_FEED, sub_id, feed_key(&feed_id));

    return feed != NULL && feed->held.exists ? feed : NULL;
}

struct held_match *rows_match(struct rows *r, int64_t sub_id, struct str url)
{
    return rows_find(r, ROW_MATCH, sub_id, url);
}

struct held_match *rows_add_match(struct rows *r, int64_t sub_id, struct str url)
{
    return rows_add(r, ROW_MATCH, sub_id, url);
}

struct held_websubs *rows_websubs(struct rows *r, int64_t feed_id)
{
    return rows_find(r, ROW_WEBSUBS, feed_id, STR_NULL);
}

struct held_websubs *rows_add_websubs(struct rows *r, int64_t feed_id)
{
    return rows_add(r, ROW_WEBSUBS, feed_id, STR_NULL);
}

/* A subscription has got the feed. */
static void note_websub(struct rows *r, const struct held_sub *sub, int64_t feed_id)
{
    struct held_websubs *of = rows_websubs(r, feed_id);
    int64_t *ids;

    if (of == NULL || !str_eqz(sub->row.sink, HUB_SINK))
        return;
    ids = ARENA_ARRAY(&r->arena, int64_t, of->n + 1);
    if (of->n > 0)
        memcpy(ids, of->sub_ids, of->n * sizeof *ids);
    rows_touch(r, ROW_WEBSUBS, of);
    ids[of->n++] = sub->row.id;
    of->sub_ids = ids;
}

void rows_join_feed(struct rows *r, struct held_sub *sub, int64_t place, const struct sub_feed *row)
{
    struct held_sub_feed *feed;

    ASSERT(sub->held.is_touched && sub->has_feeds);
    if (rows_sub_feed(r, sub->row.id, row->feed_id) != NULL)
        return;
    feed = rows_add_sub_feed(r, sub, row->feed_id);
    rows_create(r, ROW_SUB_FEED, feed);
    feed->place = place;
    feed->row = *row;
    rows_count_subs(r, row->feed_id, 1);
    note_websub(r, sub, row->feed_id);
}

void rows_drop_sub_feed(struct rows *r, struct held_sub_feed *feed)
{
    rows_drop(r, ROW_SUB_FEED, feed);
    rows_count_subs(r, feed->row.feed_id, -1);
}

int64_t rows_next_place(const struct held_sub *sub)
{
    int64_t place = 0;

    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i]->held.exists && sub->feeds[i]->place >= place)
            place = sub->feeds[i]->place + 1;
    return place;
}

size_t rows_count_feeds(const struct held_sub *sub)
{
    size_t n = 0;

    for (size_t i = 0; i < sub->n_feeds; i++)
        n += sub->feeds[i]->held.exists;
    return n;
}

/* What is there, changed as rows_rename_feeds() says. */
static struct str renamed(struct str old, struct str new)
{
    if (!str_is_null(new))
        old = new;
    return old.len == 0 ? STR_NULL : old;
}

struct held_sub_feed *rows_list_of(const struct held_sub *sub)
{
    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i]->held.exists && sub->feeds[i]->row.listed == LISTED_LIST)
            return sub->feeds[i];
    return NULL;
}

/* The name and the folder of a list have changed. */
static void rename_list(struct rows *r, struct held_sub *sub, struct held_sub_feed *list,
                        struct str name, struct str folder)
{
    struct str was = list->row.folder;

    rows_touch(r, ROW_SUB_FEED, list);
    list->row.name = renamed(list->row.name, name);
    list->row.folder = renamed(list->row.folder, folder);
    for (size_t i = 0; i < sub->n_feeds && !str_is_null(folder); i++) {
        struct held_sub_feed *feed = sub->feeds[i];

        if (!feed->held.exists || feed == list)
            continue;
        rows_touch(r, ROW_SUB_FEED, feed);
        feed->row.folder = folders_within(&r->arena, list->row.folder,
                                          folders_without(&r->arena, was, feed->row.folder));
    }
}

void rows_rename_feeds(struct rows *r, struct held_sub *sub, struct str name, struct str folder)
{
    struct held_sub_feed *list = rows_list_of(sub);

    ASSERT(sub->has_feeds);
    if (list != NULL) {
        rename_list(r, sub, list, name, folder);
        return;
    }
    for (size_t i = 0; i < sub->n_feeds; i++) {
        struct held_sub_feed *feed = sub->feeds[i];

        if (!feed->held.exists)
            continue;
        rows_touch(r, ROW_SUB_FEED, feed);
        feed->row.name = renamed(feed->row.name, name);
        feed->row.folder = renamed(feed->row.folder, folder);
    }
}

/* With the row of the subscription the database drops those of its feeds and dead letters, and its
 * lease. So only those that would be written need be touched. */
void rows_end_sub(struct rows *r, struct held_sub *sub)
{
    struct held_lease *lease = rows_lease(r, sub->row.id);

    ASSERT(sub->has_feeds);
    if (lease != NULL && lease->held.is_touched)
        rows_drop(r, ROW_LEASE, lease);
    rows_drop(r, ROW_SUB, sub);
    for (size_t i = 0; i < sub->n_feeds; i++) {
        struct held_sub_feed *feed = sub->feeds[i];

        if (!feed->held.exists)
            continue;
        rows_count_subs(r, feed->row.feed_id, -1);
        if (feed->held.is_touched)
            rows_drop(r, ROW_SUB_FEED, feed);
    }
    for (size_t i = 0; i < sub->n_dead; i++)
        if (sub->dead[i]->held.is_touched)
            rows_drop(r, ROW_DEAD, sub->dead[i]);
}

/* ---- the delivery log -------------------------------------------------------------------------
 */

void rows_add_note(struct rows *r, struct held_sub *sub, const struct delivery_note *note)
{
    struct held_note *line = rows_add_hidden(r, ROW_NOTE);

    ASSERT(sub->held.is_touched);
    line->sub_id = sub->row.id;
    line->slot = sub->row.n_calls++ % DELIVERIES_KEPT;
    line->note = note;
    rows_create(r, ROW_NOTE, line);
}

/* ---- dead letters ---------------------------------------------------------------------------- */

/* Nobody looks for a dead letter but through its subscription. */
struct held_dead *rows_add_dead(struct rows *r, struct held_sub *sub)
{
    struct held_dead *dead = rows_add_hidden(r, ROW_DEAD);

    sub->dead = grow(r, sub->dead, sub->n_dead, &sub->cap_dead);
    sub->dead[sub->n_dead++] = dead;
    return dead;
}

static void refuse(struct rows *r, struct held_dead *dead, const struct dead_letter *d)
{
    rows_change(r, ROW_DEAD, dead, DEAD_WRITES_REFUSAL);
    dead->row.refused_at = d->refused_at;
    dead->row.status = d->status;
    dead->row.answer = d->answer;
    dead->row.wanted = false;
}

/* Drop the oldest ones that are too many. */
static void drop_oldest(struct rows *r, struct held_sub *sub)
{
    size_t n = 0;

    for (size_t i = 0; i < sub->n_dead; i++)
        n += sub->dead[i]->held.exists;
    for (size_t i = 0; n > DEAD_LETTERS_KEPT; i++)
        if (sub->dead[i]->held.exists) {
            rows_drop(r, ROW_DEAD, sub->dead[i]);
            n--;
        }
}

void rows_dead_add(struct rows *r, struct held_sub *sub, const struct dead_letter *d)
{
    struct held_dead *dead;
    bool is_known = false;

    ASSERT(sub->has_dead && sub->held.is_touched);
    for (size_t i = 0; i < sub->n_dead; i++) {
        dead = sub->dead[i];
        if (!dead->held.exists || dead->row.at.seq != d->at.seq)
            continue;
        refuse(r, dead, d);
        is_known = true;
    }
    if (is_known)
        return;
    dead = rows_add_dead(r, sub);
    rows_create(r, ROW_DEAD, dead);
    dead->row = *d;
    dead->row.id = 0;
    dead->row.sub_id = sub->row.id;
    drop_oldest(r, sub);
}

/* The ones with this id, or all when it is 0: those that are not dropped. */
static bool is_meant(const struct held_dead *dead, int64_t id)
{
    return dead->held.exists && (id == 0 || dead->row.id == id);
}

void rows_dead_refused(struct rows *r, struct held_sub *sub, const struct dead_letter *d)
{
    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++)
        if (is_meant(sub->dead[i], d->id))
            refuse(r, sub->dead[i], d);
}

void rows_dead_delivered(struct rows *r, struct held_sub *sub, int64_t first, int64_t last)
{
    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++) {
        struct held_dead *dead = sub->dead[i];

        if (dead->held.exists && dead->row.at.seq >= first && dead->row.at.seq <= last)
            rows_drop(r, ROW_DEAD, dead);
    }
}

size_t rows_dead_drop(struct rows *r, struct held_sub *sub, int64_t id)
{
    size_t n = 0;

    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++)
        if (is_meant(sub->dead[i], id)) {
            rows_drop(r, ROW_DEAD, sub->dead[i]);
            n++;
        }
    return n;
}

size_t rows_dead_want(struct rows *r, struct held_sub *sub, int64_t id)
{
    size_t n = 0;

    ASSERT(sub->has_dead);
    for (size_t i = 0; i < sub->n_dead; i++)
        if (is_meant(sub->dead[i], id)) {
            rows_change(r, ROW_DEAD, sub->dead[i], DEAD_WRITES_WANTED);
            sub->dead[i]->row.wanted = true;
            n++;
        }
    return n;
}
