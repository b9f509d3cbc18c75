/* storage/rows_hub.c - see rows_hub.h. */
#include "storage/rows_hub.h"

#include "base/assert.h"
#include "storage/rows_subs.h"

bool hub_intent_part(const struct hub_intent *in, size_t *i, struct hub_intent *part)
{
    size_t from = *i, n = 1;

    *part = *in;
    if (in->protocol == HUB_WEBSUB || in->n_feeds == 0) { /* none yet: what it follows is empty */
        *i = 1;
        return from == 0;
    }
    if (from >= in->n_feeds)
        return false;
    while (from + n < in->n_feeds && str_eq(in->feeds[from + n].url, in->feeds[from].url))
        n++;
    part->topic = in->feeds[from].url;
    part->feeds = in->feeds + from;
    part->n_feeds = n;
    *i = from + n;
    return true;
}

/* The key of a name: its number has the protocol and how long the callback is. */
static int64_t name_number(enum hub_protocol protocol, struct str callback)
{
    return (int64_t)callback.len * 16 + (int64_t)protocol;
}

struct held_intent *rows_intent(struct rows *r, int64_t id)
{
    return rows_find(r, ROW_INTENT, id, STR_NULL);
}

struct held_lease *rows_lease(struct rows *r, int64_t sub_id)
{
    return rows_find(r, ROW_LEASE, sub_id, STR_NULL);
}

struct held_hub_name *rows_hub_name(struct rows *r, enum hub_protocol protocol, struct str callback,
                                    struct str topic)
{
    return rows_find(r, ROW_HUB_NAME, name_number(protocol, callback),
                     str_concat(&r->arena, callback, topic));
}

struct held_intent *rows_add_intent(struct rows *r, int64_t id)
{
    return rows_add(r, ROW_INTENT, id, STR_NULL);
}

struct held_lease *rows_add_lease(struct rows *r, int64_t sub_id)
{
    return rows_add(r, ROW_LEASE, sub_id, STR_NULL);
}

struct held_hub_name *rows_add_hub_name(struct rows *r, enum hub_protocol protocol,
                                        struct str callback, struct str topic)
{
    return rows_add(r, ROW_HUB_NAME, name_number(protocol, callback),
                    str_concat(&r->arena, callback, topic));
}

int64_t rows_find_lease(struct rows *r, const struct hub_intent *in)
{
    const struct held_hub_name *name = rows_hub_name(r, in->protocol, in->callback, in->topic);
    const struct held_sub *sub = name->sub_id == 0 ? NULL : rows_sub(r, name->sub_id);

    return sub != NULL && sub->held.exists ? name->sub_id : 0;
}

void rows_new_intent(struct rows *r, const struct hub_intent *in)
{
    struct held_intent *row = in->id == 0 ? NULL : rows_intent(r, in->id);

    if (in->id == 0)
        row = rows_add_hidden(r, ROW_INTENT);
    else if (row == NULL)
        row = rows_add_intent(r, in->id);
    rows_create(r, ROW_INTENT, row);
    row->row = *in;
    r->n_intents++;
}

void rows_drop_intent(struct rows *r, struct held_intent *in)
{
    rows_drop(r, ROW_INTENT, in);
    r->n_intents--;
}

void rows_put_lease(struct rows *r, const struct hub_lease *lease, struct str callback)
{
    struct held_hub_name *name = rows_hub_name(r, lease->protocol, callback, lease->topic);
    struct held_lease *row = rows_lease(r, lease->sub_id);

    if (row == NULL)
        row = rows_add_lease(r, lease->sub_id);
    rows_create(r, ROW_LEASE, row);
    row->row = *lease;
    row->callback = callback;
    rows_touch(r, ROW_HUB_NAME, name);
    name->sub_id = lease->sub_id;
}

void rows_renew_at(struct rows *r, struct held_lease *lease, int64_t at)
{
    ASSERT(lease->held.exists);
    rows_touch(r, ROW_LEASE, lease);
    lease->row.renew_at = at;
}

/* The earlier of two times. */
static int64_t earlier(int64_t x, int64_t y)
{
    if (x == TIME_UNKNOWN || y == TIME_UNKNOWN)
        return x == TIME_UNKNOWN ? y : x;
    return x < y ? x : y;
}

int64_t rows_next_due(struct rows *r)
{
    int64_t at = r->hub_due->next_at;
    void *it = NULL;
    const struct held_lease *lease;

    while ((lease = shelf_next(&r->shelves[ROW_LEASE], &it)) != NULL) {
        const struct held_sub *sub = rows_sub(r, lease->row.sub_id);

        if (!lease->held.exists || (sub != NULL && !sub->held.exists))
            continue;
        at = earlier(at, lease->row.ends_at);
        at = earlier(at, lease->row.renew_at);
    }
    return at;
}
