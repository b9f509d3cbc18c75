/* api/views/pull.h - shared by /feed, /feeds and /opml, which make a document from a list of
 * URLs. */
#pragma once

#include "api/http/request.h"
#include "api/views/documents.h"
#include "api/views/filtering.h"
#include "api/views/feeds_asked.h"
#include "feed/write/writer.h"

struct pull {
    struct feeds_asked asked;
    struct view view;      /* without its feeds */
    struct filtering what; /* its filter */
    bool type_given;
    size_t page; /* 0: the document has no pages */
    bool merged;
    struct str id_seed; /* the text from which the id of a merged or filtered document is derived */
    struct str title;   /* merged */
    /* the `url` parameters as they are in the target, for the self link */
    const struct wanted_url *link_urls;
    size_t n_link_urls;
    bool link_is_feed;     /* link_urls are the feeds themselves */
    size_t n_members;      /* feeds that are named by sets */
    bool has_sets, is_own; /* as in struct feeds_asked */
    int64_t edition;       /* has_sets: sub_book_shown() before they were read */
    int64_t names;         /* store_names() before the feeds were looked up */
};

/* Read the parameters type (or Accept), len, skip, page, order, unique, and the filter. */
bool pull_read(struct ask *ask, struct pull *q, struct problem *p) NODISCARD;

/* Describe the document. `own` is a struct pull; see query.h. */
void pull_describe(struct ask *ask, void *own, const struct gathered *items, size_t n,
                   struct document_spec *out);

/* Gather the feeds, then answer. `q` and `asked` live in the request's arena. */
void pull_serve(struct request *req, struct pull *q, const struct feeds_asked *asked);

/* Returns the id of a merged document: a urn:uuid made of the URLs in the request. It stays the
 * same when some of the feeds cannot be reached. */
struct str pull_merged_id(struct arena *a, struct str seed);
