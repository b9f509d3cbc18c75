/* api/views/query.h - what /feed, /feeds, /smart and the entry documents of archives have in
 * common: which feeds they show, and how the document is described once those are known.
 *
 * A GET has its query read by its handler; a topic of the hub is read by query_read()
 * (queries.h). Both end in the same functions, so each parameter has one meaning. Any thread: an
 * ask belongs to one.
 */
#pragma once

#include "api/http/ask.h"
#include "api/views/documents.h"
#include "api/views/gather.h"

struct query {
    struct wanted_url *urls; /* its feeds; in the ask's arena */
    size_t n_urls;
    bool needs_all; /* if one of the feeds is missing, the document is a different one */
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

/* The URL of our hub, or null when there is none. */
struct str query_hub(struct ask *ask);

/* `Link: <hub>; rel="hub", <self>; rel="self"` and the links of `more` (null: none), as one line
 * with its end. The hub is left out when there is none or the document is not a topic. Key marks
 * (selflink.h) are filled in. Null: the field would be too long for many clients. */
struct str query_link_field(struct ask *ask, struct str self, bool is_topic, struct str more);
