/* api/views/query.h - shared by /feed, /feeds, /smart and the entry documents of archives: which
 * feeds a document shows, and how it is described once these are known.
 *
 * The query of a GET is read by its handler, that of a hub's topic by query_read() (queries.h).
 * Both use the same functions, so each parameter has one meaning. Any thread; each ask belongs to
 * one thread. */
#pragma once

#include "api/http/ask.h"
#include "api/views/documents.h"
#include "api/views/gather.h"

struct feeds_asked;

struct query {
    const struct feeds_asked *asked; /* its feeds; in the ask's arena */
    struct wanted_url *urls;         /* those that are named by URLs */
    size_t n_urls;
    bool needs_all;               /* without one of the feeds it would be a different document */
    const struct filter *lasting; /* what matters in them, when it is pushed: ages count from the
                                     time of each revision. NULL: all */
    /* Fill in the spec, once it is known which of the feeds are ready. `own` belongs to the
     * resource. */
    void (*describe)(struct ask *ask, void *own, const struct gathered *items, size_t n,
                     struct document_spec *out);
    void *own;
};

/* Read the query from ask->params. False: *p says what is wrong with it. */
typedef bool query_read_fn(struct ask *ask, struct query *q, struct problem *p);

/* Put the ids of the ready items into the spec, ascending, without doubles. Returns the id of each
 * item, for the self link; 0 if the item is not ready. */
int64_t *query_feeds(struct arena *a, const struct gathered *items, size_t n,
                     struct document_spec *spec);

/* Returns the URL of our hub, and of our rssCloud; null when there is none. */
struct str query_hub(struct ask *ask);
struct str query_cloud(struct ask *ask);

/* Are `n` links as long as that to the document short enough for a Link field? */
bool query_link_fits(struct ask *ask, struct str self, size_t n);

/* Returns `Link: <hub>; rel="hub", <self>; rel="self"` and the links of `more` (null: none), as
 * one line with its end. There is no hub in it if we have none or the document is not a topic.
 * Marks for access keys (selflink.h) are filled in. Null: the field would be too long for many
 * clients. */
struct str query_link_field(struct ask *ask, struct str self, bool is_topic, struct str more);
