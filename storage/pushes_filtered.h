/* storage/pushes_filtered.h - what a subscription with a filter gets next.
 *
 * What it is told is what /log tells with the same filter (storage/filtered.h), and of that the
 * kinds that it wants. What does not match is passed over, a bounded number of revisions at a time.
 * Subscriptions with the same filter share the verdicts (storage/verdicts.h).
 */
#pragma once

#include "model/filter.h"
#include "storage/pushes.h"

/* The filter of a subscription; *out is NULL when all matters. Arena. */
enum rc push_filter(struct reader *r, const struct subscription *sub, struct arena *a,
                    const struct filter **out, struct err *err) NODISCARD;

/* What is looked for. */
struct sift_wish {
    const struct filter *filter;
    const struct subscription *sub; /* its position, events and with_initial */
    const int64_t *feed_ids;
    size_t n_feeds;
    int64_t last;    /* nothing after this seq is looked at */
    size_t max;      /* revisions and events, at most */
    size_t look_max; /* when so many revisions were judged, the look ends */
};

/* What was found: ascending by seq. */
struct sifted {
    int64_t *seqs;
    int *kinds; /* of the revisions, as they are told */
    size_t n, cap;
    struct feed_event *events;
    size_t n_events, cap_events;
    int64_t end;     /* up to this seq, nothing else is to be told */
    bool is_whole;   /* this is `last` */
    size_t n_looked; /* revisions, however they were judged */
    size_t n_judged; /* those of them that were not known */
};

/* Find it, in the order of the log. A snapshot is there. Arena. */
enum rc sift_run(struct reader *r, const struct sift_wish *wish, struct arena *a,
                 struct sifted *out, struct err *err) NODISCARD;

/* Find the revision `first` of a feed, and what is told of those of the same batch that follow it.
 * The same revisions are found each time. */
enum rc sift_batch(struct reader *r, const struct sift_wish *wish, int64_t first, struct arena *a,
                   struct sifted *out, struct err *err) NODISCARD;

/* Make the revisions, which were loaded, what is told of them. */
void sifted_tell(const struct sifted *s, struct revision *rows, size_t n);

/* How many revisions one call may judge. In a snapshot that is held for many, they share it, but
 * each may judge a few. */
size_t sift_look_max(const struct reader *r);
