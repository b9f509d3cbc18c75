/* api/views/shapes.c - the members of a feed and of a subscription, in their order. */
#include "api/views/shapes.h"

#include "base/clock.h"
#include "api/views/asks.h"
#include "api/views/feed_why.h"
#include "feed/filter/filter.h"
#include "feed/text/json.h"
#include "feed/text/utf8.h"
#include "model/hub.h"
#include "model/pace.h"
#include "model/sinks.h"
#include "net/url.h"

/* Returns an RFC 3339 text; null for TIME_UNKNOWN. */
struct value *shape_time(struct arena *a, int64_t at)
{
    char text[CLOCK_TEXT];

    if (at == TIME_UNKNOWN)
        return value_null(a);
    clock_rfc3339(at, text);
    return value_text(a, str_dup(a, str_from(text)));
}

struct value *shape_text(struct arena *a, struct str s)
{
    return str_is_null(s) ? value_null(a) : value_text(a, utf8_of(a, s));
}

/* A publisher may name its hub and itself with a password. */
static struct value *shape_address(struct arena *a, struct str url)
{
    return url.len == 0 ? shape_text(a, url) : shape_text(a, url_public(a, url));
}

static struct value *name(struct arena *a, const char *z)
{
    return value_text(a, str_from(z));
}

/* Entries a day, as far as four digits after the point; null: no fetch has shown any yet, nor that none come. */
static struct value *rate_of(struct arena *a, const struct feed *feed)
{
    struct pace p;

    if (!pace_read(feed->pace, &p) || !pace_has_rate(&p))
        return value_null(a);
    return value_real(a, (double)(int64_t)(pace_rate(&p) * 10000 + 0.5) / 10000);
}

/* A wish of `keep` or `keep_entries`, as it may be given; null: none. */
static struct value *wish(struct arena *a, int64_t n)
{
    return n == 0 ? value_null(a) : value_int(a, n == KEEP_ALL ? 0 : n);
}

struct value *shape_feed(struct arena *a, const struct feed *feed, struct str own, const struct host_rests *rests,
                         const struct api_cfg *cfg)
{
    struct feed_next next = feed_why_next(a, feed, &cfg->levels, rests);
    bool exact = feed->level < 0 || feed->level > 2;
    struct value *v = value_dict(a);

    value_setz(a, v, "id", value_int(a, feed->id));
    value_set_textz(a, v, "url", feed->url);
    value_setz(a, v, "title", shape_text(a, own.len > 0 ? own : feed->title));
    value_setz(a, v, "publisher_title", shape_text(a, feed->title));
    value_setz(a, v, "state", name(a, feed_state_shown(feed->state, feed->n_errors)));
    value_setz(a, v, "level", exact ? value_null(a) : value_int(a, feed->level));
    value_setz(a, v, "period",
               value_int(a, feed_why_period_s(&cfg->levels, feed->level, feed->period_s, next.reason)));
    value_setz(a, v, "last_check", shape_time(a, feed->last_check_at));
    value_setz(a, v, "last_success", shape_time(a, feed->last_success_at));
    value_setz(a, v, "last_change", shape_time(a, feed->last_change_at));
    value_setz(a, v, "next_check", shape_time(a, next.at));
    value_setz(a, v, "next_reason", name(a, fetch_reason_name(next.reason)));
    value_setz(a, v, "why", value_text(a, next.why));
    value_setz(a, v, "rate", rate_of(a, feed));
    value_setz(a, v, "status",
               feed->last_status == 0 ? value_null(a) : value_int(a, feed->last_status));
    value_setz(a, v, "etag", shape_text(a, feed->etag));
    value_setz(a, v, "last_modified", shape_text(a, feed->last_modified));
    value_setz(a, v, "errors", value_int(a, feed->n_errors));
    value_setz(a, v, "last_error", shape_text(a, feed->last_error));
    value_setz(a, v, "entries", value_int(a, feed->n_entries));
    value_setz(a, v, "partial", value_bool(a, feed->partial));
    value_setz(a, v, "gap_since", shape_time(a, feed->gap_since));
    value_setz(a, v, "move_to", shape_text(a, feed->move.to));
    value_setz(a, v, "move_since", shape_time(a, feed->move.since));
    value_setz(a, v, "identity", name(a, identity_rule_name(feed->identity.rule)));
    value_setz(a, v, "identity_reason", shape_text(a, feed->identity.why));
    value_setz(a, v, "identity_since", shape_time(a, feed->identity.since_at));
    value_setz(a, v, "subscribers", value_int(a, feed->n_subscriptions));
    value_setz(a, v, "page_url", shape_text(a, feed->page_url));
    value_setz(a, v, "site_url", shape_text(a, feed->site_url));
    value_setz(a, v, "cursor", shape_text(a, feed->cursor));
    value_setz(a, v, "hub", shape_address(a, feed->upstream.hub));
    value_setz(
        a, v, "hub_protocol",
        feed->upstream.hub.len > 0
            ? value_text(a, feed->upstream.protocol == HUB_WEBSUB ? STR(HUB_SINK) : STR(CLOUD_SINK))
            : value_null(a));
    value_setz(a, v, "hub_topic", shape_address(a, feed->upstream.topic));
    value_setz(a, v, "hub_state",
               feed->upstream.hub.len > 0 ? name(a, upstream_state_name(feed->upstream.state))
                                          : value_null(a));
    value_setz(
        a, v, "hub_lease_end",
        shape_time(a, feed->upstream.hub.len > 0 ? feed->upstream.lease_end_at : TIME_UNKNOWN));
    value_setz(
        a, v, "hub_delivered",
        shape_time(a, feed->upstream.hub.len > 0 ? feed->upstream.delivered_at : TIME_UNKNOWN));
    value_setz(a, v, "hub_missed",
               value_bool(a, feed->upstream.hub.len > 0 && feed->upstream.trust < 0));
    value_setz(a, v, "hub_error", shape_text(a, feed->upstream.error));
    value_setz(a, v, "sanitize", value_bool(a, !feed->raw_html));
    value_setz(a, v, "mirror", value_bool(a, feed->mirror_from > 0));
    value_setz(a, v, "secrets", value_bool(a, !str_is_null(feed->secrets)));
    value_setz(a, v, "keep", wish(a, feed->keep.age_s));
    value_setz(a, v, "keep_entries", wish(a, feed->keep.entries));
    value_setz(a, v, "paused", value_bool(a, feed->is_paused));
    return v;
}

struct value *shape_folder(struct arena *a, struct str stored)
{
    struct value *v = NULL;

    return stored.len > 0 && json_read(a, stored, &v, NULL) == RC_OK && v->kind == VAL_LIST
               ? v
               : value_list(a);
}

static struct value *events_of(struct arena *a, unsigned events)
{
    struct value *v = value_list(a);

    for (size_t i = 0; i < SUB_EVENT_KINDS; i++)
        if ((events & 1u << i) != 0)
            value_push(a, v, name(a, sub_event_name(i)));
    return v;
}

static void set_list(struct arena *a, struct value *v, const char *key, const struct str_list *list)
{
    struct value *texts = value_list(a);

    for (size_t i = 0; i < list->n; i++)
        value_push(a, texts, shape_text(a, list->list[i]));
    if (list->n > 0)
        value_set(a, v, str_from(key), texts);
}

static void set_one(struct arena *a, struct value *v, const char *key, struct str text)
{
    if (!str_is_null(text))
        value_set(a, v, str_from(key), value_text(a, text));
}

struct value *shape_filter(struct arena *a, struct str text)
{
    struct value *v = value_dict(a);
    struct filter_wish wish;

    if (str_is_null(text) || !filter_wish_read(a, text, &wish))
        return value_null(a);
    set_one(a, v, "q", wish.q);
    set_list(a, v, "author", &wish.author);
    set_list(a, v, "category", &wish.category);
    set_list(a, v, "lang", &wish.lang);
    set_list(a, v, "has", &wish.has);
    set_one(a, v, "after", wish.after);
    set_one(a, v, "before", wish.before);
    return v;
}

struct value *shape_views(struct arena *a, struct str asks)
{
    struct str_list names = str_is_null(asks) ? (struct str_list){.n = 0} : asks_views(a, asks);
    struct value *list = value_list(a);

    for (size_t i = 0; i < names.n; i++)
        value_push(a, list, shape_text(a, names.list[i]));
    return list;
}

int64_t shape_lag_s(const struct sub_lag *lag, int64_t now_us)
{
    return lag->first_at_us == 0 || now_us < lag->first_at_us
               ? 0
               : (now_us - lag->first_at_us) / 1000000;
}

/* How many entries a delivery may have. */
static int64_t batch_of(const struct subscription *sub, const struct api_cfg *cfg)
{
    int of_sink = sinks_batch(sub->sink);

    if (sub->batch > 0)
        return sub->batch;
    return of_sink > 0 ? of_sink : cfg->push_entries;
}

/* Until when its endpoint is left alone, whichever of its subscriptions it has told. */
static int64_t held_until(const struct subscription *sub, const struct api_ports *ports)
{
    return str_is_null(sub->endpoint) ? TIME_UNKNOWN : ports->push_held(ports->ctx, sub->endpoint);
}

/* What keeps the list from being followed; null: nothing. */
static struct value *list_error(struct arena *a, const struct feed *list)
{
    return feed_is_list(list) ? shape_text(a, list->last_error)
                              : name(a, "the document is a feed, not a list of feeds");
}

/* The list that a subscription follows. */
static struct value *shape_list(struct arena *a, const struct subscription *sub,
                                const struct sub_beside *beside, const struct api_cfg *cfg)
{
    const struct feed *list = beside->list;
    struct value *v = value_dict(a);
    int64_t n_absent = 0;

    if (sub->list == NULL || list == NULL)
        return value_null(a);
    for (size_t i = 0; i < sub->n_feeds; i++)
        n_absent += sub->feeds[i].listed == LISTED_ABSENT;
    value_setz(a, v, "url", shape_text(a, sub->list->url));
    value_setz(a, v, "title",
               shape_text(a, sub->list->name.len > 0 ? sub->list->name : list->title));
    value_setz(a, v, "folder", shape_folder(a, sub->list->folder));
    value_setz(a, v, "feeds", value_int(a, (int64_t)sub->n_feeds));
    value_setz(a, v, "absent", value_int(a, n_absent));
    value_setz(a, v, "state", name(a, feed_state_shown(list->state, list->n_errors)));
    value_setz(a, v, "status",
               list->last_status == 0 ? value_null(a) : value_int(a, list->last_status));
    value_setz(a, v, "errors", value_int(a, list->n_errors));
    value_setz(a, v, "last_error", list_error(a, list));
    value_setz(a, v, "period",
               value_int(a, levels_period_s(&cfg->levels, list->level, list->period_s)));
    value_setz(a, v, "last_check", shape_time(a, list->last_check_at));
    value_setz(a, v, "last_success", shape_time(a, list->last_success_at));
    value_setz(a, v, "last_change", shape_time(a, list->last_change_at));
    value_setz(a, v, "next_check",
               shape_time(a, host_until_due(host_rests_of(beside->rests, list->url, list->next_reason),
                                            list->next_fetch_at)));
    return v;
}

static void set_feeds(struct arena *a, struct value *v, const struct subscription *sub)
{
    struct value *urls = value_list(a), *ids = value_list(a);
    struct value *names = value_list(a), *folders = value_list(a), *categories = value_list(a);

    for (size_t i = 0; i < sub->n_feeds; i++) {
        value_push(a, urls, shape_text(a, sub->feeds[i].url));
        value_push(a, ids, value_int(a, sub->feeds[i].feed_id));
        value_push(a, names, shape_text(a, sub->feeds[i].name));
        value_push(a, folders, shape_folder(a, sub->feeds[i].folder));
        value_push(a, categories, shape_text(a, sub->feeds[i].category));
    }
    value_setz(a, v, "urls", urls);
    value_setz(a, v, "feeds", ids);
    value_setz(a, v, "names", names);
    value_setz(a, v, "folders", folders);
    value_setz(a, v, "categories", categories);
}

struct value *shape_sub(struct arena *a, const struct subscription *sub,
                        const struct sub_beside *beside, const struct api_cfg *cfg)
{
    const struct sub_lag *lag = beside->lag;
    struct value *v = value_dict(a);

    value_setz(a, v, "id", value_int(a, sub->id));
    value_setz(a, v, "endpoint", shape_text(a, sub->endpoint));
    value_setz(a, v, "sink", shape_text(a, sub->sink));
    if (beside->is_brief)
        value_setz(a, v, "n_feeds", value_int(a, (int64_t)sub->n_feeds));
    else
        set_feeds(a, v, sub);
    value_setz(a, v, "list", shape_list(a, sub, beside, cfg));
    value_setz(a, v, "state", name(a, sub_state_name(sub->state)));
    value_setz(a, v, "events", events_of(a, sub->events));
    value_setz(a, v, "filter",
               shape_filter(a, str_is_null(sub->asks) ? sub->filter : asks_filter(a, sub->asks)));
    value_setz(a, v, "view", shape_views(a, sub->asks));
    value_setz(a, v, "batch", value_int(a, batch_of(sub, cfg)));
    value_setz(a, v, "keep", wish(a, sub->keep.age_s));
    value_setz(a, v, "keep_entries", wish(a, sub->keep.entries));
    value_setz(a, v, "position", value_int(a, sub->position));
    value_setz(a, v, "lag", lag == NULL ? value_null(a) : value_int(a, lag->n));
    value_setz(a, v, "lag_s",
               lag == NULL ? value_null(a) : value_int(a, shape_lag_s(lag, beside->now_us)));
    value_setz(a, v, "dead", value_int(a, beside->n_dead));
    value_setz(a, v, "created", shape_time(a, sub->created_at));
    value_setz(a, v, "next_try", shape_time(a, sub->next_try_at));
    value_setz(a, v, "held_until", shape_time(a, held_until(sub, &cfg->ports)));
    value_setz(a, v, "failing_since", shape_time(a, sub->failing_since));
    value_setz(a, v, "failures", value_int(a, sub->n_failures));
    value_setz(a, v, "delivered", value_int(a, sub->n_delivered));
    value_setz(a, v, "faults", value_int(a, sub->n_faults));
    value_setz(a, v, "last_error", shape_text(a, sub->last_error));
    return v;
}
