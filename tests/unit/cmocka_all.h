/* tests/unit/cmocka_all.h - cmocka with the headers it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Compare a slice with a literal. */
#define assert_str(s, literal)                                                                     \
    do {                                                                                           \
        struct str got_ = (s);                                                                     \
        if (!str_eqz(got_, (literal)))                                                             \
            fail_msg("got \"%.*s\", wanted \"%s\"", STR_ARG(got_), (literal));                     \
    } while (0)
