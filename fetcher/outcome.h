/* fetcher/outcome.h - what a job has found, as the storer takes it. Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "feed/history.h"
#include "fetcher/diff.h"
#include "fetcher/job.h"
#include "model/document.h"
#include "storage/store.h"

/* What a worker found in the document. */
struct findings {
    bool same; /* the body was the one already known */
    unsigned char body_hash[16];
    const struct feed_doc *doc; /* NULL unless there is a feed to store */
    struct diff diff;           /* likewise */
    const struct entry_change *changes;
    size_t n_changes;
    struct doc_past past;
    struct doc_piece piece;
    bool complete;
};

/* What the document leads to, and what it deletes of what may not be known. `asked`: its URL. */
void outcome_past(struct arena *a, const struct job *job, const struct feed_doc *doc,
                  const struct feed_history *history, struct doc_past *out);

/* Is something new, changed or deleted? */
bool outcome_has_news(const struct findings *found);

/* Fill *o for the storer. `fresh`: the record as it is now; level, period, subscribers and readers
 * may have changed since the job began. Strings are in the arena or borrowed. Also says in the job
 * how it ended. */
void outcome_fill(struct arena *a, struct job *job, const struct feed_record *fresh,
                  const struct findings *found, int64_t now, struct fetch_outcome *o);
