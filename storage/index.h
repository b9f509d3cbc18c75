/* storage/index.h - the index of words: what fills it, and what of it is known.
 *
 * It finds candidates for a filter. Each revision has a row with its own terms and those of all
 * earlier revisions of its entry. It follows the log as others do: everything up to its place is in
 * it. What comes after its place is judged without it.
 */
#pragma once

#include "storage/store.h"

struct index_place {
    int64_t seq;    /* all revisions up to this one are in the index */
    int64_t n_rows; /* so many rows were added, those of revisions that are gone included */
    int64_t cut;    /* by which rules its terms were cut */
};

/* How far the index is filled. */
enum rc reader_index_place(struct reader *r, struct index_place *out, struct err *err) NODISCARD;

/* Should the index be made anew? Its terms were cut by other rules than `cut`, or it is mostly
 * of revisions that are gone. It counts the whole log. */
enum rc reader_index_is_stale(struct reader *r, int64_t cut, bool *out, struct err *err) NODISCARD;

/* The revisions with these numbers, in this order; those that do not exist are left out. Arena. */
enum rc reader_revisions(struct reader *r, const int64_t *seqs, size_t n, struct arena *a,
                         struct revision **out, size_t *n_out, struct err *err) NODISCARD;

/* A row with more terms than the index takes has this one instead, and meets every condition. It is
 * a character of private use, which no word has. */
#define TERM_ANY "\xee\x83\xbf"

struct index_row {
    int64_t seq;
    struct str terms; /* with one space between them */
};

struct index_group {
    int64_t from, to; /* the place before and after it */
    const struct index_row *rows;
    size_t n;
    int64_t cut; /* by which rules the terms were cut; the first group says it for all */
    bool anew;   /* empty the index; the rest does not count */
};

/* Add rows, in a transaction of their own. Everything is copied. `done` gets RC_CONFLICT if the
 * index is not at `from`: somebody else fills it. Others: as all writing calls. Any thread. */
enum rc store_index(struct store *s, const struct index_group *g, store_done_fn *done,
                    void *ctx) NODISCARD;

/* Do writes wait for the storer? Any thread. */
bool store_is_busy(struct store *s);
