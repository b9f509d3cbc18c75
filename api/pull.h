/* api/pull.h - what /feed, /feeds and /opml have in common: from a list of URLs to a document. */
#pragma once

#include "api/call.h"
#include "api/gather.h"
#include "api/render.h"
#include "feed/writer.h"

struct pull {
    struct view view; /* but for its feeds */
    bool type_given;
    size_t page; /* 0: the document has no pages */
    bool merged;
    struct str id_seed; /* merged: what the document's id is derived from */
    struct str title;   /* merged */
    /* the `url` parameters as they stand in the target, for the self link */
    const struct wanted_url *link_urls;
    size_t n_link_urls;
    bool link_is_feed; /* they are the feeds themselves */
};

/* type or Accept, len, skip. */
bool pull_read(struct call *c, struct pull *q, struct problem *p) NODISCARD;

/* What to draw for `own`, a struct pull: see topic.h. */
void pull_describe(struct call *c, void *own, const struct gathered *items, size_t n,
                   struct render_spec *out);

/* Gather the feeds, then answer. `q` lives in the call's arena. */
void pull_serve(struct call *c, struct pull *q, const struct wanted_url *urls, size_t n);

/* The id of a merged document, urn:uuid of what was asked for: the same whatever part of it can be
 * reached at the moment. */
struct str pull_merged_id(struct arena *a, struct str seed);

/* The origin of links to ourselves: configured, or "http://" and the Host field. */
struct str pull_origin(struct call *c);
