/* api/lists/opml_list.h - OPML lists that requests name. They are fetched, parsed, and kept for a
 * while.
 *
 * Requests that wait for the same list share one fetch. While the publisher fails, the old list is
 * used. */
#pragma once

#include "api/http/request.h"

struct opml_lists;
struct opml_lists *opml_lists_new(void);
void opml_lists_free(struct opml_lists **lp);

/* The feeds of a list and of the lists that it includes: canonical http(s) URLs, each once. */
struct feed_list {
    struct str title; /* null */
    struct wanted_url *urls;
    size_t n;
};

/* Why there is no list. */
struct list_failure {
    enum rc rc;
    int status; /* HTTP status of the publisher; 0: none */
    int64_t rest_s; /* as in struct gathered */
    struct str text;
    bool not_opml; /* a document came, but it is not a list */
};

/* Called on the request's loop, either before opml_list_get() returns or later, unless the client
 * has left. The list is in the request's arena. `list` NULL: it could not be had, and `failure`
 * says why. */
typedef void opml_list_fn(struct request *req, const struct feed_list *list,
                          const struct list_failure *failure, void *ctx);
void opml_list_get(struct request *req, const struct wanted_url *url, opml_list_fn *done,
                   void *ctx);
