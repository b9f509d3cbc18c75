/* storage/alike.h - of the entries of a view that are alike, which one is shown: the one whose
 * first revision has the lowest seq, of those that the view has and that match its filter.
 *
 * It belongs to one reading of a view (filtered.c), on its thread.
 */
#pragma once

#include "base/map.h"
#include "storage/engine.h"

/* What the reading knows. */
struct alike_view {
    struct reader *r;
    struct db *db;
    const struct view *view; /* by date; its feeds are named, ascending */
    int64_t indexed;         /* the index knows revisions up to this one */
    bool in_steps;           /* alikes_pick() may be called again for the same rows */
    /* Does the view have this revision? The filter is not asked. */
    bool (*has)(const struct view *v, const struct revision_key *key);
    /* Which of these rows match the filter: out[n]. */
    enum rc (*judge)(void *ctx, const struct revision *rows, size_t n, bool *out, struct err *err);
    void *ctx;
};

struct alikes {
    struct alike_view of;
    struct arena arena;
    struct map keys; /* struct like_set, by the text of the key: those that were looked up */
    struct map late; /* struct late_key: revisions that the index does not know */
    int64_t late_to; /* they were read up to this seq; 0: not yet */
    bool has_late;   /* all were read */
};

void alikes_init(struct alikes *x, const struct alike_view *of);
void alikes_release(struct alikes *x);

/* Which of these rows, that the view has and that match, are shown: out[n]. Each key is looked up
 * once. What that costs follows from how many entries have it, not from how many the view has. What
 * the index does not know is read once, before; in steps a part of it in each call, which then ends
 * with RC_TIMEOUT. */
enum rc alikes_pick(struct alikes *x, const struct revision *rows, size_t n, bool *out,
                    struct err *err) NODISCARD;
