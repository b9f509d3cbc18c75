/* api/hub/delivery.c - see delivery.h. A delivery draws the same document as a GET of its topic,
 * but only what comes after the subscriber's position. */
#include "api/hub/delivery.h"

#include "api/hub/topic.h"
#include "api/views/asks.h"
#include "api/views/draw.h"
#include "api/views/queries.h"
#include "feed/filter/filter.h"
#include "model/paths.h"
#include "net/url.h"

#define LOOK_MAX ((size_t)1 << 16) /* rows that one delivery judges: some seconds */

/* Split a topic's URL into our origin and a target. The URL began with our origin when it was
 * subscribed to; the origin may have changed since. False: it cannot be read. */
static bool split(struct arena *a, struct str url, struct str *origin, struct str *target)
{
    struct url_parts parts;
    struct str path;
    size_t at;

    if (url_parse(a, url, &parts, NULL) != RC_OK)
        return false;
    path = parts.url;
    if (!query_path_ends(str_split(&path, '?'), &at))
        return false;
    *origin = str_slice(parts.url, 0, at);
    *target = str_slice(parts.url, at, parts.url.len);
    return true;
}

/* Find the feeds of the query that have a document, without waiting. Those that it names by URL come first, because
 * links name them; of what it follows, the subscription has the feeds. */
static struct gathered *find_feeds(struct api *api, struct arena *a, const struct query *q,
                                   const struct subscription *sub, size_t *n)
{
    size_t n_followed = str_is_null(sub->asks) ? 0 : sub->n_feeds;
    struct gathered *items = ARENA_ARRAY(a, struct gathered, q->n_urls + n_followed + 1);

    *n = q->n_urls + n_followed;
    for (size_t i = 0; i < q->n_urls; i++)
        items[i].want = q->urls[i];
    for (size_t i = 0; i < n_followed; i++)
        items[q->n_urls + i] = (struct gathered){.id = sub->feeds[i].feed_id, .is_member = true};
    for (size_t i = 0; i < *n; i++)
        (void)gather_find(api, &items[i]);
    return items;
}

/* Draw it; what its filter has judged is bounded. RC_TIMEOUT: pages of the log are still being
 * counted, which goes on where it was left. What else is judged would be judged again. */
static enum rc draw(struct api *api, struct reader *r, const struct document_spec *spec,
                    struct buf *body, struct drawn *drawn, struct err *err)
{
    struct hunts *hunts = hunts_new(LOOK_MAX);
    enum rc rc;

    reader_by_steps(r, hunts);
    rc = draw_document(spec, api->store, r, body, drawn, err);
    reader_by_steps(r, NULL);
    if (rc == RC_TIMEOUT && hunts_are_cut(hunts))
        rc = err_set(err, RC_NOT_FOUND,
                     "so few entries match the topic that more than %zu had to be looked at",
                     LOOK_MAX);
    hunts_free(&hunts);
    return rc;
}

/* Read the topic as whoever subscribed to it. */
static bool read_topic(struct api *api, struct reader *r, struct ask *ask, const struct subscription *sub,
                       struct query *q)
{
    struct ask asker = {.caller = {.role = ROLE_NONE}};
    struct err err = ERR_INIT;
    struct problem p;

    if (!str_is_null(sub->asks) && (!asks_read(ask->arena, sub->asks, &asker) ||
                                    sub_book_refresh(api->subs, r, &err) != RC_OK))
        return false;
    *ask = topic_ask(api, ask->arena, ask->origin, ask->target, &asker.caller);
    ask->was_checked = true;
    return query_read(ask, q, &p);
}

/* Its filter. False: another version of the program has stored it. */
static bool take_filter(struct arena *a, const struct subscription *sub, const struct query *q, struct view *view)
{
    bool is_own = !str_is_null(sub->asks) && !str_is_null(sub->filter);

    view->filter = is_own ? filter_read(a, sub->filter) : str_is_null(sub->asks) ? q->lasting : NULL;
    return !is_own || view->filter != NULL;
}

enum rc api_draw_topic(struct api *api, struct reader *r, struct str url, const struct subscription *sub,
                       size_t max_entries, struct arena *a, struct buf *body,
                       struct topic_document *out, struct err *err)
{
    struct document_spec spec = {0};
    struct drawn drawn = {.position = sub->position};
    struct gathered *items;
    struct str origin, target;
    struct query q;
    struct ask ask;
    enum rc rc;
    size_t n;

    if (!split(a, url, &origin, &target))
        return err_set(err, RC_NOT_FOUND, "the topic cannot be read any more");
    ask = (struct ask){.arena = a, .origin = origin, .target = target};
    if (!read_topic(api, r, &ask, sub, &q))
        return err_set(err, RC_NOT_FOUND, "the topic cannot be read any more");
    items = find_feeds(api, a, &q, sub, &n);
    q.describe(&ask, q.own, items, n, &spec);
    if (spec.view.n_feeds == 0 && str_is_null(sub->asks))
        return err_set(err, RC_NOT_FOUND, "the feeds of this topic do not exist any more");
    spec.extent = EXTENT_DELIVERY;
    if (!take_filter(a, sub, &q, &spec.view))
        return err_set(err, RC_NOT_FOUND, "the filter of the subscription cannot be read any more");
    spec.view.after_seq = sub->position;
    spec.new_max = max_entries;
    rc = draw(api, r, &spec, body, &drawn, err);
    *out = (struct topic_document){.media_type = format_media_type(spec.view.format),
                                   .self = url,
                                   .hub = str_concat(a, origin, STR(PATH_HUB)),
                                   .n_entries = drawn.n_new,
                                   .news_at_us = drawn.news_at_us,
                                   .position = drawn.position,
                                   .is_last = drawn.is_last};
    return rc;
}
