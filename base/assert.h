/* base/assert.h - checks of impossible states; they stay on in every build.
 *
 * Nothing that comes from the network, a file or a user may reach one: such input gives an
 * `enum rc` and a `struct err`. A failed ASSERT prints place, condition and thread, then aborts.
 */
#pragma once

#include "base/compiler.h"

#define ASSERT(cond)                                                                               \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            assert_failed(#cond, __FILE__, __LINE__, __func__);                                    \
    } while (0)

/* Print the failed condition to stderr and abort. Any thread. */
void assert_failed(const char *cond, const char *file, int line, const char *func) NORETURN;

/* Name the calling thread for asserts, logs and debuggers (15 characters are kept). */
void thread_set_name(const char *name);
