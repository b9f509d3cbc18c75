/* api/list_tree.h - an OPML list and the lists it includes (OPML 2.0: outlines of type include, or
 * link to something .opml), as one.
 *
 * Included lists are fetched as all documents are, by the same guard, a few at a time, each URL
 * once, so that a circle ends. All lists of a tree share the bounds of one: LIMIT_OPML_OUTLINES,
 * LIMIT_FETCH_BODY; further LIMIT_LISTS, LIMIT_LISTS_DEPTH and LIMIT_LISTS_MS. What is beyond them,
 * or cannot be had, is left out and says why; the rest counts.
 */
#pragma once

#include "api/call.h"
#include "feed/opml.h"

struct list_node {
    struct wanted_url url;      /* null: a document that was sent */
    struct str base;            /* of addresses in it: where it was in the end; null: none */
    int depth;                  /* 0: the tree's own list */
    struct opml opml;           /* empty when it was not read */
    struct list_node *included; /* one for each of opml.includes */
    struct str why;             /* it was not read because; null: it was, or was named before */
    struct list_node *next;     /* in the queue of those to fetch */
};

struct list_tree;
struct list_tree *list_tree_new(void);
void list_tree_free(struct list_tree **tp);

/* Read the tree's own list; `url` NULL: it was sent. `base`: of addresses in it; null: `url`.
 * Errors of opml_read(). */
enum rc list_tree_read(struct list_tree *t, const struct wanted_url *url, struct str base,
                       struct str body, struct str content_type, struct err *err) NODISCARD;

/* Fetch what it includes. True: there is nothing to fetch, `done` is not called. False: `done` will
 * be called, on another thread; until then the tree is not to be touched. Any thread. */
typedef void list_tree_done_fn(void *ctx);
bool list_tree_follow(struct list_tree *t, struct api *api, list_tree_done_fn *done,
                      void *ctx) NODISCARD;

/* The tree's own list, and memory that lives as long. */
const struct list_node *list_tree_root(const struct list_tree *t);

/* What a tree holds, in the order in which the documents name it, an included list's at its place.
 */
struct list_contents {
    struct listed_feed {
        const struct opml_feed *feed;
        const struct list_node *node; /* the list that names it */
        struct str *folders;          /* with those of the outlines that included its list */
        size_t n_folders;
    } * feeds;
    const struct list_node **failures; /* included lists that were not read: `why` tells */
    size_t n_feeds, n_failures;
};

/* In `a`, and as long as the tree lives. */
struct list_contents list_tree_contents(struct arena *a, const struct list_tree *t);
