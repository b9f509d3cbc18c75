/* storage/hunt.h - one filtered reading of a view, as far as it has come. For filtered.c, which
 * judges, and hunt_lists.c, which says in which order what is judged.
 *
 * Views in which of the entries that are alike one is shown are read so too, also without a filter:
 * then all keys of the view match.
 */
#pragma once

#include "base/map.h"
#include "model/filter.h"
#include "storage/alike.h"
#include "storage/engine.h"
#include "storage/merge.h"

struct hunt {
    struct reader *r;
    struct db *db;
    struct view view; /* with its feeds named, ascending, or all of them */
    const struct filter *filter;
    int64_t indexed;      /* the index knows revisions up to this one */
    struct arena *arena;  /* of the rows that are found */
    struct arena scratch; /* for the whole hunt */
    struct arena batch;   /* for one batch */

    /* what is to be judged next, in the order of the view: seqs, and how far it has come */
    int64_t *list;
    size_t n_list, at, batch_len;
    size_t bound;          /* as long as the list might have become */
    bool is_last_list;     /* nothing follows it */
    struct iri_set judged; /* seqs that have been in a list */

    /* what has come of it */
    struct revision *rows;
    size_t n, cap, n_skipped;
    bool has_no_texts; /* only the numbers of the rows are wanted */
    size_t step;       /* rows to judge at a time, at most; 0: as many as it takes */
    size_t n_looked;   /* since hunt_begin() or hunt_go_on() */
    int64_t looked_to; /* number of the last row that was judged */
    struct map shown;  /* uids that entries of several feeds may share */
    struct map feeds;  /* struct feed, by its id */
    bool is_full;      /* nothing more is wanted, or can match */
    bool is_whole;     /* all that the view has was looked at */
    struct alikes alikes;
};

static inline struct str key_of(const int64_t *n)
{
    return str_of((const char *)n, sizeof *n);
}

static inline bool is_log(const struct view *v)
{
    return v->order == VIEW_LOG || v->order == VIEW_LOG_DESC;
}

/* Make the next list. It has nothing that an earlier list had. */
enum rc hunt_next_list(struct hunt *h, struct err *err) NODISCARD;

/* Leave out of `seqs` those that the index rules out, and those that have been in a list. */
enum rc hunt_thin_out(struct hunt *h, int64_t *seqs, size_t *n, struct err *err) NODISCARD;

/* Does the view have this revision? The filter is not asked. */
bool hunt_has_key(const struct view *v, const struct revision_key *k);
