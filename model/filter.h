/* model/filter.h - what matters in the feeds of a view, as storage sees it: terms that find
 * candidates, and a judge. feed/filter/ makes it of the parameters of a request.
 *
 * Immutable. It lives as long as the arena that it was read into; any thread may use it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/feed.h"

/* A condition on the terms of a revision. A revision that matches the filter meets it; one that
 * meets it may still fail before the judge. */
struct term_query {
    enum term_op {
        TERM_ONE,    /* the term `term` */
        TERM_PREFIX, /* a term that begins with `term` */
        TERM_AND,    /* all of parts[n]; n >= 1 */
        TERM_OR,     /* one of parts[n]; n >= 1 */
    } op;
    struct str term; /* UTF-8, not empty, without ASCII characters but [a-z0-9]: safe in any
                        engine's syntax */
    const struct term_query *const *parts;
    size_t n;
};

struct filter {
    struct str text;                /* canonical: reading it makes the same filter */
    const struct term_query *terms; /* NULL: terms cannot narrow it down (only exclusions, dates) */
    int64_t after_at, before_at;    /* Unix seconds; inclusive, exclusive. INT64_MIN, INT64_MAX:
                                       open. The judge knows them, too */
    bool needs_head; /* entries that say no author or no language have those of their feed: the
                        judge wants the head */
    /* Does the revision match? All of it is looked at: its doc, texts and times must be there.
     * `head`: feed.head of its feed, if needs_head; null counts as a head that says nothing.
     * `date`: the one that orders the view, Unix seconds. Deletions never match. Scratch is the
     * caller's, who may rewind it after the call. */
    bool (*judge)(const struct filter *f, const struct revision *rev, struct str head, int64_t date,
                  struct arena *scratch);
};

/* Makes the filter of its canonical text. NULL: it is none. Arena. */
typedef const struct filter *filter_read_fn(struct arena *a, struct str text);

/* Its canonical text; null: there is no filter. */
static inline struct str filter_text(const struct filter *f)
{
    return f == NULL ? STR_NULL : f->text;
}

/* Nothing of this date or later matches. */
static inline int64_t filter_before_at(const struct filter *f)
{
    return f == NULL ? INT64_MAX : f->before_at;
}

static inline bool filter_matches(const struct filter *f, const struct revision *rev,
                                  struct str head, int64_t date, struct arena *scratch)
{
    return f->judge(f, rev, head, date, scratch);
}
