/* api/lists/list_tree.h - reads an OPML list together with the lists that it includes (OPML 2.0:
 * outlines of type include, or of type link to an address that ends in .opml).
 *
 * Included lists are fetched like all documents: the same guard checks their addresses. A few are
 * fetched at a time. Each URL is fetched once, so lists that include each other do not loop. All
 * lists of a tree together may have LIMIT_OPML_OUTLINES outlines and LIMIT_FETCH_BODY bytes.
 * LIMIT_LISTS, LIMIT_LISTS_DEPTH and LIMIT_LISTS_MS limit their number, depth and time. A list that
 * exceeds a limit or cannot be fetched is left out, and its `why` gives the reason; the other lists
 * are used.
 */
#pragma once

#include "api/http/request.h"
#include "feed/lists/opml.h"

struct list_node {
    struct wanted_url url;      /* null: the client sent the document itself */
    struct str base;            /* base of addresses in it: its URL after redirects; null: none */
    int depth;                  /* 0: the tree's own list */
    struct opml opml;           /* empty when it was not read */
    struct list_node *included; /* one for each of opml.includes */
    struct str why;             /* why it was not read; null: it was read, or was named before */
    struct list_node *next;     /* the next list in the queue of lists to fetch */
};

struct list_tree;
struct list_tree *list_tree_new(void);
void list_tree_free(struct list_tree **tp);

/* Before it is read: each list that it includes counts as a first fetch of this caller
 * (api/http/first_fetches.h). Those that are too many are left out. */
void list_tree_charge(struct list_tree *t, struct api *api, const struct api_cfg *cfg,
                      const struct caller *caller);

/* Read the tree's own list. `url`: its URL; NULL: the client sent the list itself. `base`: the base
 * of addresses in the list; null: `url` is used. Errors are those of opml_read(). */
enum rc list_tree_read(struct list_tree *t, const struct wanted_url *url, struct str base,
                       struct str body, struct str content_type, struct err *err) NODISCARD;

/* Fetch the included lists. True: there is nothing to fetch, and `done` is not called. False:
 * `done` will be called on another thread; do not touch the tree until then. Any thread. */
typedef void list_tree_done_fn(void *ctx);
bool list_tree_follow(struct list_tree *t, struct api *api, list_tree_done_fn *done,
                      void *ctx) NODISCARD;

/* Returns the tree's own list, which lives as long as the tree. */
const struct list_node *list_tree_root(const struct list_tree *t);

/* The feeds of a tree, in the order of the documents. The feeds of an included list come where the
 * list is included. */
struct list_contents {
    struct listed_feed {
        const struct opml_feed *feed;
        const struct list_node *node; /* the list that names it */
        struct str *folders; /* including the folders around the outlines that include its list */
        size_t n_folders;
    } * feeds;
    const struct list_node **failures; /* included lists that were not read; see `why` */
    size_t n_feeds, n_failures;
};

/* Returns the feeds of a tree. The arrays are in `a`; they are valid as long as both `a` and the
 * tree live. */
struct list_contents list_tree_contents(struct arena *a, const struct list_tree *t);
