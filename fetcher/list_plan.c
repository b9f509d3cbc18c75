/* fetcher/list_plan.c - see list_plan.h. */
#include "fetcher/list_plan.h"

#include "base/limits.h"
#include "base/map.h"
#include "model/folders.h"

struct plan {
    struct arena *a;
    const struct subscription *sub;
    const struct list_answer *in;
    struct list_sync *out;
    struct feed_ref *added;
    struct list_change *changed;
    int64_t *dropped;
    bool *is_named; /* of each feed of the subscription: the answer has it */
    size_t max_unknown, n_left;
    bool is_equal; /* the answer names those that the one before it named */
};

static struct str folder_of(const struct plan *p, const struct list_item *item)
{
    return folders_within(p->a, p->out->folder, item->ref.details.folder);
}

static void change(struct plan *p, const struct sub_feed *feed, struct str name, struct str folder,
                   enum listed listed)
{
    if (feed->listed == listed && str_eq(feed->name, name) && str_eq(feed->folder, folder))
        return;
    p->changed[p->out->n_changed++] = (struct list_change){feed->feed_id, name, folder, listed};
}

static void add(struct plan *p, const struct list_item *item)
{
    struct feed_ref *ref = &p->added[p->out->n_added];
    bool is_unknown = item->feed_id == 0;

    p->is_equal = false;
    if (p->sub->n_feeds + p->out->n_added >= LIST_FEEDS_MAX ||
        (is_unknown && p->max_unknown == 0)) {
        p->n_left++;
        return;
    }
    p->max_unknown -= is_unknown;
    *ref = item->ref;
    ref->details.folder = folder_of(p, item);
    p->out->n_added++;
}

static void take_items(struct plan *p)
{
    AUTO(map_forget) struct map by_id = MAP_INIT;

    for (size_t i = 0; i < p->sub->n_feeds; i++) {
        const int64_t *id = &p->sub->feeds[i].feed_id;

        map_put(&by_id, str_of((const char *)id, sizeof *id), &p->sub->feeds[i]);
    }
    for (size_t i = 0; i < p->in->n; i++) {
        const struct list_item *item = &p->in->items[i];
        const struct sub_feed *feed =
            map_get(&by_id, str_of((const char *)&item->feed_id, sizeof item->feed_id));

        if (feed == NULL) {
            add(p, item);
            continue;
        }
        p->is_named[feed - p->sub->feeds] = true;
        p->is_equal &= feed->listed == LISTED_PRESENT;
        change(p, feed, item->ref.details.name, folder_of(p, item), LISTED_PRESENT);
    }
}

/* Mark what the answer lacks. */
static void mark_absent(struct plan *p)
{
    for (size_t i = 0; i < p->sub->n_feeds; i++) {
        const struct sub_feed *feed = &p->sub->feeds[i];

        if (p->is_named[i] || feed->listed != LISTED_PRESENT)
            continue;
        p->is_equal = false;
        change(p, feed, feed->name, feed->folder, LISTED_ABSENT);
    }
}

/* The last two answers were equal: what both lacked goes. */
static void drop_absent(struct plan *p)
{
    for (size_t i = 0; i < p->sub->n_feeds; i++)
        if (p->sub->feeds[i].listed == LISTED_ABSENT)
            p->dropped[p->out->n_dropped++] = p->sub->feeds[i].feed_id;
}

size_t list_plan(struct arena *a, const struct subscription *sub, const struct list_answer *in,
                 size_t max_unknown, struct list_sync *out)
{
    struct plan p = {.a = a,
                     .sub = sub,
                     .in = in,
                     .out = out,
                     .added = ARENA_ARRAY(a, struct feed_ref, in->n + 1),
                     .changed = ARENA_ARRAY(a, struct list_change, sub->n_feeds + 1),
                     .dropped = ARENA_ARRAY(a, int64_t, sub->n_feeds + 1),
                     .is_named = ARENA_ARRAY(a, bool, sub->n_feeds + 1),
                     .max_unknown = max_unknown,
                     .is_equal = !in->is_cut};

    *out = (struct list_sync){.sub_id = sub->id,
                              .folder = sub->list == NULL ? STR_NULL : sub->list->folder,
                              .added = p.added,
                              .changed = p.changed,
                              .dropped = p.dropped};
    if (in->n > 0) {
        take_items(&p);
        if (!in->is_cut)
            mark_absent(&p);
    }
    if (in->is_same || (in->n > 0 && p.is_equal))
        drop_absent(&p);
    return p.n_left;
}
