/* model/likeness.h - when two entries are alike, as storage sees it. feed/words/likeness.h has the
 * ways of comparing.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/feed.h"

/* What an entry is compared by. Entries with equal texts are alike. */
struct like_key {
    struct str text; /* entries with the same text have the same term */
    struct str term; /* under which the index finds all revisions that have this text, and some that
                        do not (index.h) */
};

/* Immutable; it lives as long as the program. Any thread. */
struct likeness {
    const char *name; /* as in the parameter `unique` */
    /* Read what a revision with an entry is compared by; its doc and link must be there. False: it
     * is like no other. Arena. */
    bool (*key)(struct arena *a, const struct revision *rev, struct like_key *out);
};
