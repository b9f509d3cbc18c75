/* api/views/history.c - see history.h. */
#include "api/views/history.h"

#include "model/cursor.h"

/* What is not before this time is not before what was taken. */
static bool is_later(const struct cursor_spec *at, const struct history_end *end)
{
    return (at->kind == CURSOR_TIME || at->kind == CURSOR_GROUP) && at->from_us > end->at_us;
}

enum rc history_check(struct reader *r, const struct view *view, const struct cursor_spec *at,
                      int64_t seq, int64_t *floor, struct err *err)
{
    struct history_end end;
    enum rc rc = reader_history_end(r, view->feed_ids, view->n_feeds, view->all_feeds, &end, err);

    if (rc != RC_OK)
        return rc;
    *floor = is_later(at, &end) ? end.seq : at->floor;
    if (end.seq <= seq || end.seq <= *floor)
        return RC_OK;
    return err_set(err, RC_GONE,
                   "A part of what follows this position was taken away, because it was old. What "
                   "is kept follows the cursor `horizon`.");
}

enum rc history_floor(struct reader *r, const struct view *view, int64_t *floor, struct err *err)
{
    struct history_end end;
    enum rc rc = reader_history_end(r, view->feed_ids, view->n_feeds, view->all_feeds, &end, err);

    if (rc == RC_OK)
        *floor = end.seq;
    return rc;
}

void history_put_kept(struct store *s, struct arena *a, int64_t floor, struct str edition,
                      struct problem *p)
{
    char *text = arena_alloc(a, CURSOR_TEXT);

    cursor_write_over(text, store_log_id(s), edition, 0, floor, 0);
    p->horizon = str_from(text);
}

void history_put(struct ask *ask, int64_t floor, struct str edition, struct problem *p)
{
    history_put_kept(ask->api->store, ask->arena, floor, edition, p);
}

void history_tell(struct ask *ask, const struct view *view, struct str edition, struct problem *p)
{
    history_put(ask, store_horizon(ask->api->store, view->feed_ids, view->n_feeds, view->all_feeds),
                edition, p);
}
