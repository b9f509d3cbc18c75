/* api/buckets.h - a token bucket per source address. Any thread, short lock.
 *
 * IPv6 sources are told apart by their /64. The table is bounded: when it is full of sources that
 * have spent tokens, all newcomers share one bucket.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/str.h"

struct buckets;
struct buckets *buckets_new(void);
void buckets_free(struct buckets **bp);

/* Take a token of this source at a time (monotonic milliseconds): `rate` come back per second, at
 * most `burst` are there. False: none is left. A rate of 0 or less limits nothing. */
bool buckets_take(struct buckets *b, const struct sockaddr *source, int rate, int burst,
                  int64_t mono_ms);

/* What a source is told apart by, as bytes; borrowed from it. */
struct str buckets_source(const struct sockaddr *source);

/* Sources remembered, for tests and limits. */
size_t buckets_count(struct buckets *b);
