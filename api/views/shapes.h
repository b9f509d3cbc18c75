/* api/views/shapes.h - turns stored rows into JSON objects with the members that docs/api.md lists.
 * Pure. */
#pragma once

#include "api/http/config.h"
#include "api/views/host_rests.h"
#include "model/feed.h"
#include "model/value.h"
#include "storage/pushes.h"

/* Returns a text; null when it is missing. Bytes that are not UTF-8 become U+FFFD. */
struct value *shape_text(struct arena *a, struct str s);

/* Returns a time as RFC 3339; null for TIME_UNKNOWN. */
struct value *shape_time(struct arena *a, int64_t at);

/* What GET answers of a feed, and of a subscription, that PATCH cannot change: with '|' between the
 * names (body.h). */
#define SHAPE_FEED_TOLD                                                                            \
    "url|title|publisher_title|state|level|period|last_check|last_success|last_change|next_check|next_reason|why|" \
    "rate|status|etag|last_modified|errors|last_error|entries|partial|gap_since|move_to|"          \
    "move_since|identity|identity_reason|identity_since|subscribers|page_url|site_url|cursor|hub|" \
    "hub_protocol|hub_topic|hub_state|hub_lease_end|hub_delivered|hub_missed|hub_error|sanitize|"  \
    "mirror|secrets|history|subscriptions|folder"
#define SHAPE_SUB_TOLD                                                                             \
    "urls|feeds|n_feeds|names|folders|categories|list|state|position|lag|lag_s|dead|created|"      \
    "next_try|held_until|failing_since|failures|delivered|faults|last_error|horizon"

/* `own`: the name that the caller has given to the feed; empty: none. */
struct value *shape_feed(struct arena *a, const struct feed *feed, struct str own, const struct host_rests *rests,
                         const struct api_cfg *cfg);
/* Returns the stored folders of a feed as a list of names. */
struct value *shape_folder(struct arena *a, struct str stored);

/* The filter of a subscription, by its canonical text: its conditions by the names of their
 * parameters. Null: none. */
struct value *shape_filter(struct arena *a, struct str text);

/* The names of the views that a subscription follows (asks.h); null: none. */
struct value *shape_views(struct arena *a, struct str asks);

/* What is shown of a subscription beside its row. */
struct sub_beside {
    bool is_brief;             /* `n_feeds` in the place of the lists of its feeds */
    const struct sub_lag *lag; /* NULL: nothing is pushed, or it cannot be */
    const struct feed *list;   /* the record of the list that it follows; NULL: it follows none */
    int64_t n_dead;            /* dead letters */
    int64_t now_us;            /* for the age of the lag */
    const struct host_rests *rests; /* set with `list` */
};

/* The age of the first revision that is still to be given, in seconds. */
int64_t shape_lag_s(const struct sub_lag *lag, int64_t now_us);

struct value *shape_sub(struct arena *a, const struct subscription *sub,
                        const struct sub_beside *beside, const struct api_cfg *cfg);
