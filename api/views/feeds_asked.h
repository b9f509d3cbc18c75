/* api/views/feeds_asked.h - reads which feeds a request asks for: the parameters url, folder, sub,
 * all and view. All requests that name feeds read them here, so a parameter means the same in each. What
 * several of them name counts together.
 *
 * What a folder or a subscription has changes over time. It is looked up in memory
 * (sub_book.h): the handler of a request must run after sub_book_prepare(). */
#pragma once

#include "api/views/filtering.h"
#include "api/views/gather.h"
#include "api/views/sub_book.h"

/* Feeds with one filter. */
struct asked_part {
    struct str filter;          /* as text (feed/filter/filter.h); null: none */
    struct feed_ids members;    /* ascending, without doubles */
    struct wanted_url *unknown; /* URLs of named views that are not known yet */
    size_t n_unknown, cap_unknown;
};

struct feeds_asked {
    struct wanted_url *urls; /* by `url` */
    size_t n_urls;
    size_t n_members; /* by the others: in the parts. They were known when this was read */
    struct asked_part *parts; /* which of them come with which filter; the first is what the request
                                 names itself */
    size_t n_parts, n_of_views; /* n_of_views: URLs of named views that are not known yet */
    bool has_age;               /* a filter of a view depends on the time of asking */
    struct str edition; /* of the views (view_book.h): of all that are named; null: none are */
    bool has_sets;   /* one of the others was given, even if it has no feeds */
    bool is_own;     /* what they have depends on who asks */
    struct str seed; /* has_sets: a text that stays the same whatever they have */
    struct str name; /* has_sets: what people call it */
};

/* Does the request name feeds by something that changes over time? Only then it must be prepared.
 */
bool feeds_asked_has_sets(const struct ask *ask);

/* Run the handler of the request's route, as soon as the sets that it may name can be looked up. The
 * request's loop. */
void feeds_asked_handle(struct request *req);

/* Read it. `urls`: the row of `url`; PARAM_NONE: it means something else, and is not read.
 * `needs_some`: naming none is a problem. PROBLEM_NOT_FOUND: a
 * subscription is not known. In the ask's arena. */
bool feeds_asked_read(struct ask *ask, enum param_id urls, bool needs_some, struct feeds_asked *out,
                      struct problem *p) NODISCARD;

/* Have the views that the ask names still this edition (struct feeds_asked)? The books must be fresh. */
bool feeds_asked_is_edition(const struct ask *ask, struct str edition);

/* Put the filters of named views before the request's own: what->filter becomes one that also says
 * which filter is for which feeds. `items`: as feeds_asked_items() gave them, with their ids. It does
 * not change what->lasting. Arena of the ask. */
void feeds_asked_narrow(const struct ask *ask, const struct feeds_asked *asked,
                        const struct gathered *items, size_t n, struct filtering *what);

/* The same for what is followed: ages count from the time of each revision. `lasting`: the request's own
 * filter. Returns the filter of the whole; NULL: all matters. */
const struct filter *feeds_asked_lasting(const struct ask *ask, const struct feeds_asked *asked,
                                         const struct gathered *items, size_t n, const struct filter *lasting);

/* What a request that has sets asked, kept so that it can be asked again. */
struct feeds_kept;
/* `lasting`: the text of feeds_asked_lasting(); null: none. Copied. */
struct feeds_kept *feeds_kept_new(const struct ask *ask, struct str lasting);
struct str feeds_kept_lasting(const struct feeds_kept *k);
void feeds_kept_free(struct feeds_kept **kp);
/* Returns it, to be read with this arena. */
struct ask feeds_kept_ask(const struct feeds_kept *k, struct arena *a);

/* Returns them as gather_start() takes them: first those of `urls`, then the members. */
struct gathered *feeds_asked_items(const struct ask *ask, const struct feeds_asked *asked,
                                   size_t *n);

/* Gather these. As gather_start(). */
void feeds_asked_gather(struct request *req, const struct feeds_asked *asked, gather_done_fn *done,
                        void *ctx);

/* Returns the title of a document that merges them. Arena. */
struct str feeds_asked_title(struct arena *a, const struct feeds_asked *asked);

/* Returns whether there is nothing to show, because none of the feeds of `url` can be had. If none
 * was asked for by its URL, an empty document is right. `n_ready`: how many can be shown. */
static inline bool feeds_asked_failed(const struct feeds_asked *asked, size_t n_ready)
{
    return n_ready == 0 && asked->n_urls + asked->n_of_views > 0;
}
