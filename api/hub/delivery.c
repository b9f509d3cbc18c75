/* api/hub/delivery.c - see delivery.h. A delivery draws the same document as a GET of its topic,
 * but only what comes after the subscriber's position. */
#include "api/hub/delivery.h"

#include "api/hub/topic.h"
#include "api/views/draw.h"
#include "api/views/queries.h"
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

/* Find the feeds of the query that have a document, without waiting. */
static struct gathered *find_feeds(struct api *api, struct arena *a, const struct query *q)
{
    struct gathered *items = ARENA_ARRAY(a, struct gathered, q->n_urls + 1);

    for (size_t i = 0; i < q->n_urls; i++) {
        items[i].want = q->urls[i];
        gather_find(api, &items[i]);
    }
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

enum rc api_draw_topic(struct api *api, struct reader *r, struct str url, int64_t after_seq,
                       size_t max_entries, struct arena *a, struct buf *body,
                       struct topic_document *out, struct err *err)
{
    struct document_spec spec = {0};
    struct drawn drawn = {.position = after_seq};
    struct str origin, target;
    struct problem p;
    struct query q;
    struct ask ask;
    enum rc rc;

    if (!split(a, url, &origin, &target))
        return err_set(err, RC_NOT_FOUND, "the topic cannot be read any more");
    ask = topic_ask(api, a, origin, target);
    if (!query_read(&ask, &q, &p))
        return err_set(err, RC_NOT_FOUND, "the topic cannot be read any more");
    q.describe(&ask, q.own, find_feeds(api, a, &q), q.n_urls, &spec);
    if (spec.view.n_feeds == 0)
        return err_set(err, RC_NOT_FOUND, "the feeds of this topic do not exist any more");
    spec.extent = EXTENT_DELIVERY;
    spec.view.filter = q.lasting;
    spec.view.after_seq = after_seq;
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
