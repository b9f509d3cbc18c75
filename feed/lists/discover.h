/* feed/lists/discover.h - finds feeds that an HTML page announces, and other places where they may
 * be. Pure.
 *
 * A page announces a feed by a link element whose rel has `alternate` and whose type is a feed type
 * (RSS, Atom, RDF, JSON Feed, and their x- and text/ variants), or whose rel has `feed`. Elements
 * in comments, scripts and the like do not count. All other finds are guesses: they are worth a try
 * when nothing is announced. Each href is resolved against the first base element, or else against
 * the page's URL; a base of javascript: or data: counts as none. Doubles are dropped, and what
 * is neither http, https nor feed (which means http). The order is that of the document. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum discover_kind {
    DISCOVER_NONE,
    DISCOVER_ANNOUNCED,
    /* guesses, the best first: */
    DISCOVER_VAGUE,   /* rel=alternate of a type that may be anything (text/xml, application/json,
                         ...); rel=service.feed */
    DISCOVER_SERVICE, /* rel=service: an Atom service document, which lists feeds (RFC 5023) */
    DISCOVER_MARKED,  /* an a element with a feed type, or rel=feed */
    DISCOVER_NAMED,   /* an a element to the same site, with an address that looks like a feed's */
};

struct discovered_feed {
    struct str href;  /* absolute when page_url is */
    struct str type;  /* media type, lower case, parameters cut; null when missing */
    struct str title; /* null when missing */
    enum discover_kind kind;
};

#define DISCOVER_HUBS 4

struct discovery {
    struct discovered_feed *feeds, *guesses;
    size_t n_feeds, n_guesses;
    /* link elements in the page's head (WebSub §4): those with rel=hub in their order, and the
     * first with rel=self. Absolute like href; null: none */
    struct str hubs[DISCOVER_HUBS], self;
    size_t n_hubs;
};

/* Find feeds and hubs in a page. *out is in the arena. `content_type` (may be null) may name the
 * charset. */
void discover_page(struct arena *a, struct str html, struct str page_url, struct str content_type,
                   struct discovery *out);

/* The kind of a link with these attributes, in a page or in a Link field. `type` as in
 * discovered_feed. */
enum discover_kind discover_link(struct str rel, struct str type);

/* Sort feeds or guesses, the best first: by kind; then links that are not named as feeds of
 * comments; then links to the site of the page; then in their present order. Formats count as
 * equal: the publisher's first choice comes first. */
void discover_order(struct str page_url, struct discovered_feed *list, size_t n);

/* The usual addresses of feeds on the site of a page, at most DISCOVER_USUAL_MAX. */
#define DISCOVER_USUAL_MAX 10
size_t discover_usual(struct arena *a, struct str page_url, struct str **out);

/* The absolute URLs of the collections in an Atom service document. Returns 0 when the document is
 * not a service document. */
size_t discover_service(struct arena *a, struct str body, struct str url, struct str content_type,
                        struct str **out);
