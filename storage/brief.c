/* storage/brief.c - see brief.h. */
#include "storage/brief.h"

bool brief_asks_contents(const struct feed *r)
{
    return r->harvest_to != TIME_UNKNOWN && r->next_fetch_at != TIME_UNKNOWN && r->state == FEED_OK;
}

static int64_t content_at(const struct feed *r, int64_t contents_at)
{
    if (!brief_asks_contents(r) || contents_at == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return contents_at < r->content_wait_at ? r->content_wait_at : contents_at;
}

/* What its level decides, or nobody, is not a part of the budget. */
static uint16_t class_of(const struct feed *r)
{
    bool counts = r->level == 1 && r->next_fetch_at != TIME_UNKNOWN && r->need_class > 0 &&
                  r->need_class < NEED_CLASSES;

    return counts ? (uint16_t)r->need_class : 0;
}

bool brief_is_stray(const struct feed_brief *b, int64_t before)
{
    return !b->fetched && b->n_subscriptions == 0 && b->version / 1000000 < before &&
           (b->wanted_at == TIME_UNKNOWN || b->wanted_at < before);
}

struct directory_feed brief_of(const struct feed_row *row, int64_t contents_at,
                               const struct str *aliases, size_t n_aliases, int64_t event_seq)
{
    const struct feed *r = &row->feed;

    return (struct directory_feed){.brief = {.id = r->id,
                                             .version = r->version,
                                             .state = r->state,
                                             .fetched = row->fetched,
                                             .partial = r->partial,
                                             .last_check_at = r->last_check_at,
                                             .next_fetch_at = r->next_fetch_at,
                                             .content_at = content_at(r, contents_at),
                                             .wanted_at = r->wanted_at,
                                             .last_change_at = r->last_change_at,
                                             .period_s = r->period_s,
                                             .last_status = r->last_status,
                                             .level = r->level,
                                             .n_subscriptions = r->n_subscriptions,
                                             .need_class = class_of(r),
                                             .is_paused = r->is_paused,
                                             .is_private = r->access_key.len > 0 || r->secrets.len > 0},
                                   .url = r->url,
                                   .credential = r->credential,
                                   .access_key = r->access_key,
                                   .page_url = r->page_url,
                                   .site_url = r->site_url,
                                   .aliases = aliases,
                                   .n_aliases = n_aliases,
                                   .last_seq = r->last_seq,
                                   .newest_at = r->newest_at,
                                   .horizon = r->horizon,
                                   .event_seq = event_seq};
}
