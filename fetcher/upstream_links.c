/* fetcher/upstream_links.c - see upstream_links.h. */
#include "fetcher/upstream_links.h"

#include <inttypes.h>

#include "base/limits.h"
#include "base/log.h"
#include "feed/lists/discover.h"
#include "fetcher/job.h"
#include "fetcher/upstream_cloud.h"
#include "model/document.h"
#include "net/http_fields.h"
#include "net/url.h"

#define FIELD_LINKS 64    /* in the Link fields of an answer */
#define DOCUMENT_LINKS 64 /* in a document's head */

static bool has_rel(struct str rels, const char *rel)
{
    while (!str_is_null(rels)) {
        struct str word = str_split(&rels, ' ');

        if (str_ieqz(str_trim(word), rel))
            return true;
    }
    return false;
}

/* The hub gets the topic as the publisher wrote it. Only a relative URL is made absolute. */
static struct str absolute(struct arena *a, const struct job *job, struct str href)
{
    struct url_parts parts;

    return url_parse(a, href, &parts, NULL) == RC_OK ? str_dup(a, href)
                                                     : url_resolve(a, job->final_url, href);
}

static void add(struct job *job, struct upstream_links *l, struct str rel, struct str href)
{
    struct arena *a = job->arena;
    struct url_parts parts;

    href = str_trim(href);
    if (href.len == 0 || href.len > LIMIT_URL)
        return;
    if (has_rel(rel, "self") && str_is_null(l->topic))
        l->topic = absolute(a, job, href);
    if (!has_rel(rel, "hub") || l->n == UPSTREAM_HUBS_MAX ||
        url_parse(a, url_resolve(a, job->final_url, href), &parts, NULL) != RC_OK)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->hubs[i].url, parts.url))
            return;
    l->hubs[l->n++] = (struct upstream_hub){parts.url, HUB_WEBSUB, STR_NULL};
}

static struct upstream_links from_fields(struct job *job)
{
    struct upstream_links l = {.topic = STR_NULL};
    struct str rest = job->link_field, href, rel, type;

    for (int i = 0; i < FIELD_LINKS && http_next_link(job->arena, &rest, &href, &rel, &type); i++)
        add(job, &l, rel, href);
    return l;
}

/* Use the links of the document where the Link fields name none. */
static struct upstream_links joined(struct job *job, struct upstream_links fields,
                                    const struct upstream_links *doc, struct str url)
{
    struct upstream_links l = fields.n > 0 ? fields : *doc;

    if (!str_is_null(fields.topic))
        l.topic = fields.topic;
    else if (!str_is_null(doc->topic))
        l.topic = doc->topic;
    else
        l.topic = str_dup(job->arena, url);
    l.read = true;
    return l;
}

void upstream_links_of_fields(struct job *job)
{
    struct upstream_links l = from_fields(job);

    if (l.n == 0 || str_is_null(l.topic))
        return;
    l.read = l.of_fields = true;
    job->hubs = l;
}

static void add_cloud(struct job *job, struct upstream_links *l, const struct value *cloud)
{
    struct upstream_hub hub;
    struct str why;

    if (cloud == NULL || l->n == UPSTREAM_HUBS_MAX)
        return;
    if (upstream_cloud_read(job->arena, cloud, &hub, &why))
        l->hubs[l->n++] = hub;
    else
        log_debug("fetcher", "cloud_ignored", "feed=%" PRId64 " why=%s", job->feed_id,
                  log_quote(why));
}

void upstream_links_of_feed(struct job *job, const struct feed_doc *doc, struct str url)
{
    struct upstream_links in_doc = {.topic = STR_NULL}, l;
    const struct value *links = value_getz(doc->feed, "links");

    for (size_t i = 0; i < value_len(links) && i < DOCUMENT_LINKS; i++)
        add(job, &in_doc, value_get_textz(value_at(links, i), "rel"),
            value_get_textz(value_at(links, i), "href"));
    l = joined(job, from_fields(job), &in_doc, url);
    add_cloud(job, &l, value_getz(doc->feed, "cloud"));
    if (l.n > 0 || job->hubs.n == 0) /* otherwise the hub of the page is kept */
        job->hubs = l;
}

void upstream_links_of_page(struct job *job, const struct discovery *page)
{
    struct upstream_links in_page = {.topic = STR_NULL}, l;

    for (size_t i = 0; i < page->n_hubs; i++)
        add(job, &in_page, STR("hub"), page->hubs[i]);
    if (!str_is_null(page->self))
        add(job, &in_page, STR("self"), page->self);
    l = joined(job, from_fields(job), &in_page, job->final_url);
    l.from_page = true;
    if (l.n > 0)
        job->hubs = l;
}
