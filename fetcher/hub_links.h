/* fetcher/hub_links.h - which hub tells of a feed's updates, and under which name (WebSub §4).
 *
 * Link fields of the answer come before links in the document, those of the feed before those of a
 * page that led to it. Pure but for the job it fills; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

#define HUBS_MAX 4

struct job;
struct feed_doc;
struct discovery;

struct hub_links {
    bool read;                 /* else nothing is known: the answer brought no document */
    bool from_page;            /* a page says it, the feed itself does not */
    struct str hubs[HUBS_MAX]; /* canonical, the publisher's order */
    size_t n;                  /* read and 0: there is none */
    struct str topic;          /* rel=self as written (absolute); else where the document was */
};

/* From the answer's Link fields alone: for one that says "as before". Nothing unless they name both
 * hub and topic. */
void hub_links_of_fields(struct job *job);

/* From Link fields and the feed's own links. */
void hub_links_of_feed(struct job *job, const struct feed_doc *doc);

/* From Link fields and the links in the head of a page; kept beside the job for when the feed that
 * it leads to names no hub. */
void hub_links_of_page(struct job *job, const struct discovery *page);
