/* tests/unit/cmocka_all.h - cmocka with the headers that it needs before it, and what all unit
 * tests share. With FEEDMILL_TESTS=PATTERN in the environment, a program runs only the functions
 * that match. */
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

#include "base/compiler.h"

__attribute__((constructor)) static void only_what_was_asked_for(void)
{
    const char *pattern = getenv("FEEDMILL_TESTS");

    if (pattern != NULL)
        cmocka_set_test_filter(pattern);
}

/* Returns the processor time of this thread so far, in nanoseconds. It does not depend on how busy
 * the machine is. */
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
