/* base/err.h - what went wrong: a reaction (enum rc) and a sentence (struct err).
 *
 * A function that can fail returns enum rc and takes `struct err *err` as its last parameter, which
 * may be NULL. The text is set once, where the failure happens; callers may put more text in front
 * of it. A function that succeeds does not change *err. A function that fails does not change its
 * outputs. The text names the wrong value, and says what would be right.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

enum rc {
#define RC(code, meaning) RC_##code,
#include "base/rc.def"
#undef RC
};

struct err {
    enum rc rc;     /* RC_OK while nothing was set */
    char text[508]; /* UTF-8, NUL-terminated, cut at a character boundary when too long */
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        .rc = RC_OK, .text = ""                                                                    \
    }

/* Set *err (NULL is allowed) and return `rc`, so that `return err_set(...)` reads well. */
enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put text and ": " in front of what is there, and return err->rc (RC_INTERNAL for NULL). */
enum rc err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The code's name ("LIMIT") and its meaning. */
const char *rc_name(enum rc rc);
const char *rc_meaning(enum rc rc);
