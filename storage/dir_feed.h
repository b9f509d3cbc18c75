/* storage/dir_feed.h - a feed as the directory keeps it, in less than a hundred bytes and one block
 * for its names. Pure.
 */
#pragma once

#include "storage/feed_names.h"
#include "storage/merge.h"
#include "storage/store.h"

/* A feed; without names: there is none. Times: see dir_feed_time(). */
struct dir_feed {
    struct feed_names *names;
    struct merge_key *keys; /* newest first */
    int64_t version, edition, last_seq, event_seq;
    uint32_t last_check_at, next_fetch_at, wanted_at, last_change_at, content_at;
    int32_t period_s, n_subscriptions;
    int16_t last_status;
    int8_t level;
    uint8_t state;
    uint8_t n_keys, cap_keys;
    bool fetched : 1, partial : 1, is_private : 1, is_paused : 1;
    bool complete : 1; /* the feed has no other keys */
    uint16_t need_class;
};

_Static_assert(sizeof(struct dir_feed) <= 88, "there are millions of them");

/* Seconds from 1970 to 2106, and one; 0: not known. */
static inline uint32_t dir_feed_time(int64_t t)
{
    if (t < 0)
        return 0;
    return t >= UINT32_MAX ? UINT32_MAX : (uint32_t)t + 1;
}

static inline int64_t dir_feed_time_of(uint32_t packed)
{
    return packed == 0 ? TIME_UNKNOWN : (int64_t)packed - 1;
}

static inline struct feed_brief dir_feed_brief(const struct dir_feed *f, int64_t id)
{
    return (struct feed_brief){.id = id,
                               .version = f->version,
                               .edition = f->edition,
                               .state = (enum feed_state)f->state,
                               .fetched = f->fetched,
                               .partial = f->partial,
                               .last_check_at = dir_feed_time_of(f->last_check_at),
                               .next_fetch_at = dir_feed_time_of(f->next_fetch_at),
                               .wanted_at = dir_feed_time_of(f->wanted_at),
                               .last_change_at = dir_feed_time_of(f->last_change_at),
                               .content_at = dir_feed_time_of(f->content_at),
                               .period_s = f->period_s,
                               .last_status = f->last_status,
                               .level = f->level,
                               .n_subscriptions = f->n_subscriptions,
                               .need_class = f->need_class,
                               .is_private = f->is_private,
                               .is_paused = f->is_paused};
}

/* All but the edition. */
static inline void dir_feed_set(struct dir_feed *f, const struct feed_brief *b)
{
    f->version = b->version;
    f->last_check_at = dir_feed_time(b->last_check_at);
    f->next_fetch_at = dir_feed_time(b->next_fetch_at);
    f->wanted_at = dir_feed_time(b->wanted_at);
    f->last_change_at = dir_feed_time(b->last_change_at);
    f->content_at = dir_feed_time(b->content_at);
    f->period_s = b->period_s > INT32_MAX ? INT32_MAX : (int32_t)b->period_s;
    f->n_subscriptions = b->n_subscriptions;
    f->need_class = b->need_class;
    f->last_status = (int16_t)b->last_status;
    f->level = (int8_t)b->level;
    f->state = (uint8_t)b->state;
    f->fetched = b->fetched;
    f->partial = b->partial;
    f->is_private = b->is_private;
    f->is_paused = b->is_paused;
}
