/* api/views/draw_stream.c - see drawing.h. A piece of a Smart Feed: /smart, and its deliveries. */
#include "api/views/drawing.h"

#include <stdio.h>

#include "api/views/cursor_find.h"
#include "api/views/history.h"
#include "api/views/selflink.h"
#include "model/media_types.h"
#include "net/url.h"

/* Returns the cursor of a row: the seq by which the rows are ordered, and its time. */
static struct str cursor_of(struct drawing *d, int64_t seq, int64_t at_us)
{
    char *text = arena_alloc(&d->arena, CURSOR_TEXT);

    cursor_write_over(text, store_log_id(d->store), d->spec->edition, seq, d->floor, at_us);
    return str_from(text);
}

/* Get the cursor of the last item below `before`, of those that `filter` shows: that of the newest
 * revision, whose entry may have changed since; or, in the order of creation, that of the newest
 * entry. Empty: there is no item. */
static enum rc last_cursor(struct drawing *d, struct reader *r, const struct filter *filter,
                           int64_t before, struct str *out, struct err *err)
{
    bool by_creation = order_is_by_creation(d->spec->view.order);
    struct view v = drawing_view(d, by_creation ? VIEW_CREATED_DESC : VIEW_LOG_DESC, 0, before, 1);
    struct revision *rows;
    int64_t at_us;
    size_t n;
    enum rc rc;

    v.filter = filter;
    rc = reader_rows(r, &v, &d->arena, &rows, &n, err);
    *out = STR("");
    if (rc != RC_OK || n == 0)
        return rc;
    if (!by_creation) {
        *out = cursor_of(d, rows[0].seq, rows[0].at_us);
        return RC_OK;
    }
    rc = reader_created(r, rows, 1, &at_us, err);
    *out = cursor_of(d, rows[0].first_seq, at_us);
    return rc;
}

/* Get the cursor of an answer without items, before the items are read: the position in the
 * request, or the end of the feed (D27). With a filter, it is the end of what is looked at, also if
 * nothing of that matches; so the next request does not look at it again. */
static enum rc cursor_of_nothing(struct drawing *d, struct reader *r, int64_t until,
                                 struct str *out, struct err *err)
{
    const struct view *view = &d->spec->view;
    const struct cursor_spec *since = &d->spec->since;
    bool moves_on = view->filter != NULL && !order_descends(view->order);
    enum rc rc = RC_OK;

    *out = STR("");
    if (moves_on || str_is_null(since->token))
        rc = last_cursor(d, r, NULL, moves_on ? until : INT64_MAX, out, err);
    if (!str_is_null(since->token) && out->len == 0)
        *out = since->token;
    return rc;
}

/* Was something taken away that the reader would be given, and does not know of? From new to old, a
 * page that ends where nothing more is kept is followed by one that is only this problem. */
static enum rc check_history(struct drawing *d, struct reader *r, int64_t since, int64_t until,
                             bool *is_cut, struct err *err)
{
    const struct document_spec *spec = d->spec;
    bool descends = order_descends(spec->view.order);
    int64_t floor;
    enum rc rc;

    if (!descends)
        return spec->since.kind == CURSOR_NONE
                   ? history_floor(r, &spec->view, &d->floor, err)
                   : history_check(r, &spec->view, &spec->since, since, &d->floor, err);
    if (d->n_rows > spec->view.len || spec->is_last_page)
        return RC_OK;
    rc = history_check(r, &spec->view, &spec->until, until, &floor, err);
    *is_cut = rc == RC_GONE;
    return rc == RC_GONE && (d->n_rows > 0 || spec->since.kind == CURSOR_NONE) ? RC_OK : rc;
}

/* Read the requested rows, and one more to know whether a page follows. For a delivery, read its
 * rows, always from old to new. */
static enum rc read_items(struct drawing *d, struct reader *r, struct out_stream *stream,
                          bool *is_cut, struct err *err)
{
    const struct document_spec *spec = d->spec;
    bool by_creation = order_is_by_creation(spec->view.order);
    int64_t since = 0, until = 0;
    struct view v;
    enum rc rc;

    if (drawing_is_delivery(d)) {
        v = drawing_view(d, order_of_items(by_creation, false), spec->view.after_seq, INT64_MAX,
                         spec->new_max);
        rc = last_cursor(d, r, spec->view.filter, spec->view.after_seq + 1, &stream->prev_cursor,
                         err);
    } else {
        rc = cursor_find(r, &spec->since, &spec->view, true, &since, err);
        if (rc == RC_OK)
            rc = cursor_find(r, &spec->until, &spec->view, false, &until, err);
        if (rc == RC_OK && spec->since.kind == CURSOR_NONE && !order_descends(spec->view.order))
            rc = history_floor(r, &spec->view, &d->floor, err);
        if (rc == RC_OK)
            rc = cursor_of_nothing(d, r, until, &stream->last_cursor, err);
        if (rc == RC_OK)
            v = order_descends(spec->view.order)
                    ? drawing_view(d, spec->view.order, until, since, spec->view.len + 1)
                    : drawing_view(d, spec->view.order, since, until, spec->view.len + 1);
        if (rc == RC_OK && spec->is_last_page) /* read from the end; turned round later */
            v.order = order_of_items(by_creation, !order_descends(spec->view.order));
    }
    if (rc == RC_OK)
        rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);
    return rc == RC_OK && !drawing_is_delivery(d) ? check_history(d, r, since, until, is_cut, err)
                                                  : rc;
}

/* Add the URL of the items that follow, up to the same end. */
static void add_next(struct drawing *d, struct out_stream *stream)
{
    const struct cursor_spec *until = &d->spec->until;
    char max[24];

    snprintf(max, sizeof max, "%zu", d->spec->view.len);
    stream->next =
        selflink_set(&d->arena,
                     selflink_set(&d->arena, d->doc.self_url, "since",
                                  str_concat(&d->arena, STR("cursor%3A"), stream->last_cursor)),
                     "max", str_dup(&d->arena, str_from(max)));
    if (until->kind != CURSOR_NONE)
        stream->next =
            selflink_set(&d->arena, stream->next, "until", url_encode(&d->arena, until->given));
}

struct str drawing_cursor(struct drawing *d, size_t i)
{
    const struct revision *row = &d->rows[i];

    return order_is_by_creation(d->spec->view.order)
               ? cursor_of(d, row->first_seq, d->created_us[i])
               : cursor_of(d, row->seq, row->at_us);
}

enum rc drawing_stream_items(struct drawing *d, struct reader *r, struct err *err)
{
    enum rc rc;

    d->created_us = ARENA_ARRAY(&d->arena, int64_t, d->n_rows + 1);
    rc = reader_created(r, d->rows, d->n_rows, d->created_us, err);
    if (rc != RC_OK)
        return rc;
    rc = drawing_entries(d, r, err);
    if (rc != RC_OK)
        return rc;
    rc = drawing_tell_twins_apart(d, r, err);
    for (size_t i = 0, k = 0; i < d->n_rows && rc == RC_OK; i++)
        if (drawing_feed(d, d->rows[i].feed_id) != d->n_feeds)
            d->entries[k++].created_at = d->created_us[i] / 1000000;
    return rc;
}

/* How many items the stream has. Of a filtered one this is not known without reading it: -1. */
static enum rc count_items(struct reader *r, const struct view *view, int64_t *total,
                           struct err *err)
{
    *total = -1;
    return view->filter != NULL ? RC_OK
                                : reader_count(r, view->feed_ids, view->n_feeds, true, total, err);
}

enum rc draw_stream(struct drawing *d, struct reader *r, struct err *err)
{
    const struct document_spec *spec = d->spec;
    const struct view *view = &spec->view;
    bool by_creation = order_is_by_creation(view->order), is_cut = false, more;
    struct out_stream *stream = ARENA_NEW(&d->arena, struct out_stream);
    struct out_link *next = ARENA_NEW(&d->arena, struct out_link);
    enum rc rc;

    *stream = (struct out_stream){.prev_cursor = STR_NULL, .next = STR_NULL};
    rc = read_items(d, r, stream, &is_cut, err);
    if (rc == RC_OK)
        rc = reader_feeds_shown(r, view->feed_ids, view->n_feeds, &d->arena, &d->feeds, &d->n_feeds, err);
    if (rc == RC_OK)
        rc = count_items(r, view, &stream->total, err);
    if (rc != RC_OK)
        return rc;
    if (d->n_feeds == 0 && view->n_feeds > 0)
        return err_set(err, RC_NOT_FOUND, "The feed was removed just now.");
    more = !drawing_is_delivery(d) && d->n_rows > view->len;
    if (more)
        d->n_rows = view->len;
    more |= is_cut && d->n_rows > 0;
    if (spec->is_last_page) {
        drawing_reverse(d->rows, d->n_rows);
        more = false;
    }
    d->n_new = d->n_rows;
    d->is_last = d->n_rows < spec->new_max;
    d->position = view->after_seq;
    d->news_at_us = d->n_rows > 0 ? d->rows[0].at_us : 0;
    if (d->n_rows > 0)
        d->position = by_creation ? d->rows[d->n_rows - 1].first_seq : d->rows[d->n_rows - 1].seq;
    rc = drawing_stream_items(d, r, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < d->n_rows; i++)
        if (drawing_feed(d, d->rows[i].feed_id) != d->n_feeds &&
            d->rows[i].at_us / 1000000 > d->modified_at)
            d->modified_at = d->rows[i].at_us / 1000000;
    d->doc.repeats = true; /* items of two feeds with the same id are two items */
    d->doc.self_url = selflink_fill(&d->arena, spec->self, drawing_access_key, d);
    d->doc.id = spec->id;
    d->doc.title = spec->title;
    d->doc.stream = stream;
    if (d->n_rows > 0)
        stream->last_cursor = drawing_cursor(d, d->n_rows - 1);
    for (size_t i = 0; i < d->n_feeds; i++)
        if (d->feeds[i].last_change_at > d->modified_at)
            d->modified_at = d->feeds[i].last_change_at;
    d->doc.updated_at = d->modified_at != TIME_UNKNOWN ? d->modified_at : 0;
    if (more) {
        add_next(d, stream);
        *next = (struct out_link){STR("next"), STR(MEDIA_ATOM), stream->next};
        d->doc.links = next;
        d->doc.n_links = 1;
    }
    return rc;
}
