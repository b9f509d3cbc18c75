/* tests/fuzz/bound.h - what one input may cost: so much processor time and memory a byte, and some
 * to begin with. Generous enough for sanitizers on a slow machine; what grows with the square of
 * the input, or with a number written in it, is far beyond. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/assert.h"

#define BOUND_NS_FIRST 2000000000LL
#define BOUND_NS_BYTE 200000LL /* 64 KiB: 15 s */

struct bound {
    size_t len; /* of the input */
    int64_t since_ns;
};

/* Processor time of this thread, so that a busy machine does not make it fail. */
static inline int64_t bound_clock(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline struct bound bound_start(size_t len)
{
    return (struct bound){len, bound_clock()};
}

static inline void bound_check_time(const struct bound *b)
{
    ASSERT(bound_clock() - b->since_ns <= BOUND_NS_FIRST + (int64_t)b->len * BOUND_NS_BYTE);
}

/* `per_byte`: so many bytes of the arena a byte of the input. */
static inline void bound_check_memory(const struct bound *b, const struct arena *a, size_t per_byte)
{
    ASSERT(arena_size(a) <= 4 * 1024 * 1024 + b->len * per_byte);
}
