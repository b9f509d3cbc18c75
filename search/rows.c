/* search/rows.c - see rows.h.
 *
 * The row of a revision has the terms of the earlier ones of its entry too, so they are read again.
 * A row with too much in it finds every filter instead. */
#include "search/rows.h"

#include <sched.h>

#define EARLIER_MAX 64                /* revisions of one entry that are read */
#define BYTES_MAX ((size_t)512 << 10) /* of one row; PostgreSQL takes 1 MiB */
#define TERM_BYTES_MAX 2000           /* PostgreSQL takes 2046 */

/* A revision of the group, and how far its chain was read. */
struct chain {
    struct buf terms;
    int64_t prev;
    bool is_cut;
};

static bool has_long_term(struct str terms)
{
    struct str rest = terms;

    while (rest.len > 0)
        if (str_split(&rest, ' ').len > TERM_BYTES_MAX)
            return true;
    return false;
}

/* One step back in all chains. *more: some go on. */
static enum rc read_earlier(struct reader *r, search_terms_fn *terms, struct chain *chains,
                            size_t n, bool *more, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, n + 1);
    struct revision *rows;
    size_t n_seqs = 0, n_rows, k = 0;
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        if (chains[i].prev != 0)
            seqs[n_seqs++] = chains[i].prev;
    *more = n_seqs > 0;
    if (n_seqs == 0)
        return RC_OK;
    rc = reader_revisions(r, seqs, n_seqs, &scratch, &rows, &n_rows, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (chains[i].prev == 0)
            continue;
        if (k < n_rows && rows[k].seq == chains[i].prev) {
            terms(&rows[k], &scratch, &chains[i].terms);
            chains[i].prev = rows[k++].prev_seq;
        } else {
            chains[i].prev = 0;
            chains[i].is_cut = true; /* it is gone, and what it had is not known */
        }
    }
    return rc;
}

static enum rc read_chains(struct reader *r, search_terms_fn *terms, struct chain *chains, size_t n,
                           struct err *err)
{
    bool more = true;
    enum rc rc = RC_OK;

    for (int depth = 0; depth < EARLIER_MAX && more && rc == RC_OK; depth++)
        rc = read_earlier(r, terms, chains, n, &more, err);
    return rc;
}

/* The row, without the space at its end. */
static struct index_row row_of(const struct revision *rev, struct chain *c, struct arena *a)
{
    struct str terms = buf_view(&c->terms);

    if (terms.len > 0 && terms.ptr[terms.len - 1] == ' ')
        terms.len--;
    if (c->prev != 0 || c->is_cut || c->terms.overflow || has_long_term(terms))
        terms = STR(TERM_ANY);
    return (struct index_row){rev->seq, str_dup(a, terms)};
}

enum rc search_rows(struct reader *r, search_terms_fn *terms, int64_t from, int64_t end, size_t max,
                    struct arena *a, struct index_group *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct view v = {.all_feeds = true,
                     .order = VIEW_LOG,
                     .after_seq = from,
                     .before_seq = end + 1,
                     .len = max,
                     .with_deleted = true};
    struct index_row *rows = ARENA_ARRAY(a, struct index_row, max + 1);
    struct chain *chains = ARENA_ARRAY(&scratch, struct chain, max + 1);
    struct revision *revs = NULL;
    size_t n = 0;
    enum rc rc = reader_rows(r, &v, &scratch, &revs, &n, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        chains[i] = (struct chain){BUF_INIT(BYTES_MAX), revs[i].prev_seq, false};
        terms(&revs[i], &scratch, &chains[i].terms);
        sched_yield(); /* nobody waits for the index; a request must not wait for this thread's slice to end */
    }
    if (rc == RC_OK)
        rc = read_chains(r, terms, chains, n, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rows[i] = row_of(&revs[i], &chains[i], a);
    for (size_t i = 0; i < n; i++)
        buf_release(&chains[i].terms);
    *out = (struct index_group){.from = from,
                                .to = n == max     ? rows[n - 1].seq
                                      : end > from ? end
                                                   : from,
                                .rows = rows,
                                .n = n};
    return rc;
}
