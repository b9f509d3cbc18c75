/* feed/filter/filter.h - makes a filter (model/filter.h) of what a request asks for, and of its
 * canonical text. Pure.
 *
 * The text has a line for each condition, in one order and one spelling: a name, a space, a value.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "feed/words/entry_facts.h"
#include "model/filter.h"

#define FILTER_VALUES_MAX 100 /* of each list */
#define FILTER_VALUE_MAX 1000 /* bytes of each value of a list */

/* What a request asks for, as it is written there. Null or empty: nothing. */
struct filter_wish {
    struct str q;                                /* question.h */
    struct str_list author, category, lang, has; /* of each list, any */
    struct str after, before;                    /* RFC 3339, Unix seconds, or an age: 36h, 7d */
};

/* What is wrong with a wish. */
struct filter_fault {
    const char *name; /* of the member */
    struct str value; /* the one that is wrong */
    ssize_t at;       /* q: the 0-based character; otherwise -1 */
    struct str why;
};

/* Make a filter. *out is NULL if nothing is asked for. False: *fault says what is wrong. `now`, in
 * Unix seconds: ages count back from it, and become times. They are rounded down to a thousandth of
 * the age, so that requests that follow one another ask for the same. TIME_UNKNOWN: ages stay ages,
 * and count back from the time of each revision. Arena. */
bool filter_make(struct arena *a, const struct filter_wish *wish, int64_t now,
                 const struct filter **out, struct filter_fault *fault) NODISCARD;

/* Get the wish of a canonical text, null: an empty one. False: it is none. Arena. */
bool filter_wish_read(struct arena *a, struct str text, struct filter_wish *out) NODISCARD;

/* Make the filter of a canonical text. NULL: it is none. Arena. */
const struct filter *filter_read(struct arena *a, struct str text);

/* The same; `now` as in filter_make(), so ages become times, and the text is another one then. */
const struct filter *filter_read_at(struct arena *a, struct str text, int64_t now);
