/* storage/dir_feed.h - a feed as the directory keeps it, in eighty bytes and one block for its names.
 * Pure.
 */
#pragma once

#include "storage/feed_names.h"
#include "storage/merge.h"
#include "storage/store.h"

struct key_block;

/* A feed; without names: there is none. Times: see dir_feed_time(). Few feeds have an event, a horizon
 * or contents that are due: these stand elsewhere in the directory. */
struct dir_feed {
    struct feed_names *names;
    union {
        struct merge_key one; /* nearly all feeds have one key in memory, or none */
        struct key_block *block;
    } keys; /* see storage/dir_keys.h */
    int64_t version : 56; /* microseconds of the clock: for a thousand years */
    uint64_t n_keys : 8;
    int64_t last_seq : 48; /* a hundred thousand revisions a second for forty years */
    uint64_t need_class : 16;
    int64_t edition : 40; /* a thousand a second for fifteen years, without a restart */
    uint64_t last_status : 10;
    uint64_t state : 4;
    uint64_t level : 3; /* and one, because it may be -1 */
    uint64_t has_block : 1;
    uint64_t complete : 1; /* the feed has no other keys */
    uint64_t fetched : 1, partial : 1, is_private : 1, is_paused : 1;
    uint32_t last_check_at, next_fetch_at, wanted_at, last_change_at;
    int32_t period_s, n_subscriptions;
};

_Static_assert(sizeof(struct dir_feed) <= 80, "there are millions of them");

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

/* All but the time at which a content is due. */
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
                               .content_at = TIME_UNKNOWN,
                               .period_s = f->period_s,
                               .last_status = (int)f->last_status,
                               .level = (int)f->level - 1,
                               .n_subscriptions = f->n_subscriptions,
                               .need_class = (uint16_t)f->need_class,
                               .is_private = f->is_private,
                               .is_paused = f->is_paused};
}

/* All but the edition and the time at which a content is due. */
static inline void dir_feed_set(struct dir_feed *f, const struct feed_brief *b)
{
    f->version = b->version & (((int64_t)1 << 55) - 1);
    f->last_check_at = dir_feed_time(b->last_check_at);
    f->next_fetch_at = dir_feed_time(b->next_fetch_at);
    f->wanted_at = dir_feed_time(b->wanted_at);
    f->last_change_at = dir_feed_time(b->last_change_at);
    f->period_s = b->period_s > INT32_MAX ? INT32_MAX : (int32_t)b->period_s;
    f->n_subscriptions = b->n_subscriptions;
    f->need_class = b->need_class;
    f->last_status = (unsigned)b->last_status & 1023; /* three digits */
    f->level = (unsigned)(b->level + 1) & 7;
    f->state = (unsigned)b->state & 15;
    f->fetched = b->fetched;
    f->partial = b->partial;
    f->is_private = b->is_private;
    f->is_paused = b->is_paused;
}
