/* api/http/buckets.h - a token bucket for each source, as an address or a token. Any thread; its
 * lock is held only briefly.
 *
 * IPv6 sources are distinguished by their /64. The table is limited: when it is full of sources
 * that have used tokens, all new sources share one bucket. A full bucket is forgotten then: a new
 * one is the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/str.h"

struct buckets;
struct buckets *buckets_new(size_t max_sources);
void buckets_free(struct buckets **bp);

/* Take a token of this source at a time (monotonic milliseconds). Each second `rate` tokens come
 * back, up to `burst`. False: the source has no token left. A rate of 0 or less means no limit. */
bool buckets_take(struct buckets *b, const struct sockaddr *source, int rate, int burst,
                  int64_t mono_ms);

/* What is left after a token was taken or refused. */
struct bucket_left {
    int64_t n;      /* whole tokens */
    int64_t full_s; /* seconds until the bucket is full */
    int64_t next_s; /* until it has a token; 0: it has one */
};

/* The same for a source that is named, with tokens that come back `per_minute` (> 0), up to `burst`
 * (> 0). `left` may be NULL. */
bool buckets_spend(struct buckets *b, struct str source, int64_t per_minute, int64_t burst,
                   int64_t mono_ms, struct bucket_left *left);

/* A token that was taken is not needed after all. */
void buckets_give_back(struct buckets *b, struct str source);

/* The bytes by which a source is distinguished from others; borrowed from it. */
struct str buckets_source(const struct sockaddr *source);
