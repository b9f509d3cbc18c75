/* api/opml_list.h - OPML lists that requests name: fetched, parsed, kept for a while.
 *
 * A list is fetched once for all who wait for it, and served stale while its publisher fails.
 */
#pragma once

#include "api/call.h"

struct opml_lists;
struct opml_lists *opml_lists_new(void);
void opml_lists_free(struct opml_lists **lp);

/* The feeds of a list and of those it includes: canonical, each once, only http(s). */
struct feed_list {
    struct str title; /* null */
    struct wanted_url *urls;
    size_t n;
};

/* Why there is none. */
struct list_failure {
    enum rc rc;
    int status; /* publisher's; 0: none */
    struct str text;
    bool not_opml; /* it came, and is no list */
};

/* Runs on the call's loop, at once or later, unless the client has left; the list is in the call's
 * arena. `list` NULL: it failed. */
typedef void opml_list_fn(struct call *c, const struct feed_list *list,
                          const struct list_failure *failure, void *ctx);
void opml_list_get(struct call *c, const struct wanted_url *url, opml_list_fn *done, void *ctx);
