/* fetcher/past.c - see past.h. */
#include "fetcher/past.h"

#include "net/url.h"

bool past_is_harvested(const struct feed *feed)
{
    return feed->harvest_to != TIME_UNKNOWN;
}

/* Returns the URL of the document with older entries. Null when there is none, or when it is the
 * URL of this document. */
static struct str older_of(struct arena *a, const struct job *job,
                           const struct feed_history *history, bool may_be_feed)
{
    struct url_parts older;

    if (str_is_null(history->older) || url_parse(a, history->older, &older, NULL) != RC_OK ||
        str_eq(older.url, job->url) || str_eq(older.url, job->final_url) ||
        (!may_be_feed && str_eq(older.url, job->feed->url)))
        return STR_NULL;
    return older.url;
}

void past_of(struct arena *a, const struct job *job, const struct feed_doc *doc,
             const struct feed_history *history, bool may_be_feed, struct doc_past *out)
{
    struct past_deletion *list;

    *out = (struct doc_past){.older = older_of(a, job, history, may_be_feed),
                             .whole = !doc->broken && doc->n_cut == 0 && !job->resp.partial,
                             .metadata = history->metadata,
                             .oldest = history->oldest,
                             .newest = history->newest};
    if (str_is_null(out->older))
        return;
    list = ARENA_ARRAY(a, struct past_deletion, doc->n_tombstones + 1);
    for (size_t i = 0; i < doc->n_tombstones; i++)
        if (doc->tombstones[i].when_at != TIME_UNKNOWN && doc->tombstones[i].ref.len > 0)
            list[out->n_deletions++] = (struct past_deletion){doc->tombstones[i].ref,
                                                              doc->tombstones[i].when_at * 1000000 +
                                                                  doc->tombstones[i].when_us};
    out->deletions = list;
}
