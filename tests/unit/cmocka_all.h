/* tests/unit/cmocka_all.h - cmocka with the headers it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Processor time of this thread so far, in nanoseconds: what work costs, however busy the machine
 * is. */
static inline int64_t cpu_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Compare a slice with a literal. */
#define assert_str(s, literal)                                                                     \
    do {                                                                                           \
        struct str got_ = (s);                                                                     \
        if (!str_eqz(got_, (literal)))                                                             \
            fail_msg("got \"%.*s\", wanted \"%s\"", STR_ARG(got_), (literal));                     \
    } while (0)
