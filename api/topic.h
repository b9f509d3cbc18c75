/* api/topic.h - topics of the hub: what /feed, /feeds, /smart and the entry documents of archives
 * have in common, seen from a subscriber.
 *
 * A topic is a URL of ours. It is read by the code that reads a request for it, with Atom as what
 * the client likes best, so that there is one meaning of each parameter.
 */
#pragma once

#include "api/gather.h"
#include "api/render.h"

struct topic {
    struct wanted_url *urls; /* its feeds */
    size_t n_urls;
    bool needs_all; /* without one of them it is another document */
    /* What to draw, once the feeds are known (sorted ids without doubles in the spec): as a GET of
     * the topic would. `own` is the resource's. */
    void (*describe)(struct call *c, void *own, const struct gathered *items, size_t n,
                     struct render_spec *out);
    void *own;
};

/* Read the topic's parameters from c->params. A resource's own; false: the problem says why. */
typedef bool topic_read_fn(struct call *c, struct topic *t, struct problem *p);
bool feed_topic(struct call *c, struct topic *t, struct problem *p); /* feed.c */
bool feeds_topic(struct call *c, struct topic *t, struct problem *p);
bool smart_topic(struct call *c, struct topic *t, struct problem *p);  /* smart.c */
bool simple_topic(struct call *c, struct topic *t, struct problem *p); /* archive.c */
bool archive_topic(struct call *c, struct topic *t, struct problem *p);
bool history_topic(struct call *c, struct topic *t, struct problem *p);
bool pmh_topic(struct call *c, struct topic *t, struct problem *p);

/* Ids of those items that are ready, ascending, without doubles, into the spec; returns for each
 * item its id, 0 when it is not ready, for the self link. Nothing is ready: spec->n_ids is 0. */
int64_t *topic_ids(struct arena *a, const struct gathered *items, size_t n,
                   struct render_spec *spec);

/* The part of a topic's URL behind one of `origins`, as a target ("/feed?..."): compared after
 * normalising; *origin is that one. Null: it is no URL of ours. */
struct str topic_target(struct arena *a, struct str url, const struct str *origins,
                        size_t n_origins, struct str *origin);

/* Read a topic: its target below an origin of ours. `c` is a call made for it alone: its api, cfg
 * and arena count, and the rest is set. */
bool topic_read(struct call *c, struct str origin, struct str target, struct topic *t,
                struct problem *p) NODISCARD;

/* The hub's URL, or null when there is no hub. */
struct str topic_hub(struct call *c);

/* `Link: <hub>; rel="hub", <self>; rel="self"` (the first one for topics only, when there is a
 * hub), and the links of `more` (null: none) in the same line, with its end; null for a link too
 * long for a field. Key marks (selflink.h) are filled in. */
struct str topic_link_field(struct call *c, struct str self, bool is_topic, struct str more);
