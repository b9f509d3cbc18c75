/* fetcher/upstream_links.h - finds the upstream hubs that tell of a feed's updates, and the topic
 * to subscribe to (WebSub section 4); and the upstream cloud (`cloud` of RSS).
 *
 * Link fields of the answer take precedence over links in the document. Links of the feed take
 * precedence over links of the web page that led to it. A cloud comes after all hubs, because it
 * only says that there is news. The functions fill job->hubs, and are pure otherwise. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "fetcher/upstream_rules.h"

#define UPSTREAM_HUBS_MAX 4

struct job;
struct feed_doc;
struct discovery;

struct upstream_links {
    bool read;      /* false: nothing is known, because the answer had no document */
    bool from_page; /* the links are from a web page, not from the feed itself */
    bool of_fields; /* the document was not read: nothing is known of its cloud */
    struct upstream_hub hubs[UPSTREAM_HUBS_MAX]; /* the publisher's order */
    size_t n;         /* 0 while `read` is set: the feed has no hub and no cloud */
    struct str topic; /* rel=self as written (absolute); else where the document was */
};

/* Use only the Link fields of the answer. This is for answers that say that the document is the
 * same as before. Does nothing unless the fields name both a hub and a topic. */
void upstream_links_of_fields(struct job *job);

/* Use the Link fields and the feed's own links. `url` is the URL of the document; it is the topic
 * when the feed names no topic.
 */
void upstream_links_of_feed(struct job *job, const struct feed_doc *doc, struct str url);

/* Use the Link fields and the links in the head of a web page. The result is kept in the job, and
 * is used when the page leads to a feed that names no hub. */
void upstream_links_of_page(struct job *job, const struct discovery *page);
