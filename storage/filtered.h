/* storage/filtered.h - filtered reading: the rows of a view that match its filter.
 *
 * Only the filter's judge says what matches. The index of words (storage/index.h) finds candidates;
 * what comes after its place is judged without it.
 */
#pragma once

#include "model/filter.h"
#include "storage/store.h"

/* What reader_rows() does for a view with a filter; store.h says what it gives. */
enum rc filtered_rows(struct reader *r, const struct view *v, struct arena *a,
                      struct revision **out, size_t *n_out, struct err *err) NODISCARD;

/* What a log with this filter tells of these revisions, ascending, by seq: kinds[n] is the kind of
 * each (enum revision_kind; REV_LEFT, too), or FILTERED_UNTOLD. Their documents are read, but of
 * those that the index rules out. A snapshot is there. */
#define FILTERED_UNTOLD (-1)
enum rc filtered_kinds(struct reader *r, const struct filter *f, const int64_t *seqs, size_t n,
                       int *kinds, struct err *err) NODISCARD;

/* Make a row one that tells that its entry has left: nothing is told but its id and its dates. */
void filtered_leave(struct revision *row);

/* The numbers of the rows of such a view, of the order VIEW_LOG, without their texts. It may end
 * before there are v->len of them, so that a call does not take long: *looked_to says up to which
 * number the rows are known. The caller holds a snapshot that has all up to v->before_seq. Arena.
 */
enum rc filtered_seqs(struct reader *r, const struct view *v, struct arena *a, int64_t **out,
                      size_t *n_out, int64_t *looked_to, struct err *err) NODISCARD;
