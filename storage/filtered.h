/* storage/filtered.h - filtered reading: the rows of a view that match a filter.
 *
 * Only the filter's judge says what matches. The index of words (storage/index.h) finds candidates;
 * what comes after its place is judged without it.
 */
#pragma once

#include "model/filter.h"
#include "storage/store.h"

/* The date that the judge is given. */
enum filter_date {
    FILTER_BY_ENTRY,    /* the entry's */
    FILTER_BY_RECEIVED, /* when the entry came in */
    FILTER_BY_CHANGED,  /* when the revision came in */
};

struct filtered_ask {
    const struct filter *filter;
    enum filter_date date;
    bool keeps_doubles; /* VIEW_NEWEST: entries of several feeds with the same id are all shown */
};

/* A row of the answer. */
struct filtered_row {
    struct revision rev;
    bool has_left; /* it does not match, but told before: show it as a deletion */
};

/* The rows of a view that match, as reader_rows(): the range, v->len and v->skip count after the
 * filter. Of entries with the same id, the newest that matches is shown.
 *
 * If the view has deletions (v->with_deleted), it also has rows with has_left, and deletions only
 * of what matched before: in a VIEW_LOG, if the revision before it matched; in views of current
 * revisions, if any earlier one did. An entry with very many revisions may be told to have left
 * although it never was there. So whoever follows such a view has what matches, and nothing else.
 *
 * Fewer than v->len rows: there are no more up to the end of the view. RC_LIMIT: as reader_rows().
 */
enum rc reader_filtered(struct reader *r, const struct view *v, const struct filtered_ask *ask,
                        struct arena *a, struct filtered_row **out, size_t *n_out,
                        struct err *err) NODISCARD;
