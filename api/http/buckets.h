/* api/http/buckets.h - a token bucket for each source address. Any thread; its lock is held only
 * briefly.
 *
 * IPv6 sources are distinguished by their /64. The table is limited: when it is full of sources
 * that have used tokens, all new sources share one bucket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/str.h"

struct buckets;
struct buckets *buckets_new(void);
void buckets_free(struct buckets **bp);

/* Take a token of this source at a time (monotonic milliseconds). Each second `rate` tokens come
 * back, up to `burst`. False: the source has no token left. A rate of 0 or less means no limit. */
bool buckets_take(struct buckets *b, const struct sockaddr *source, int rate, int burst,
                  int64_t mono_ms);

/* The bytes by which a source is distinguished from others; borrowed from it. */
struct str buckets_source(const struct sockaddr *source);
