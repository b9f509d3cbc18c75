/* storage/wants.h - the rows that operations will look at, said before they are carried out, so
 * that all of them can be loaded at once (storage/rows.h). Pure. */
#pragma once

#include "storage/op.h"

struct want_feed {
    int64_t id;
    const struct loaded_feed
        *loaded;               /* the row as the source has read it; NULL: it has to be read */
    bool with_head, with_past; /* its head; whether documents of its past are to be read */
};

struct want_entry {
    int64_t feed_id;
    struct str uid;
};

/* Start with {0}. Strings are borrowed from the operations. */
struct wants {
    struct want_feed *feeds;
    struct want_entry *entries;
    size_t n_feeds, cap_feeds, n_entries, cap_entries;
};

void wants_reset(struct wants *w);
void wants_release(struct wants *w);

void wants_add_feed(struct wants *w, const struct want_feed *f);
void wants_add_batch(struct wants *w, int64_t feed_id, const struct entry_batch *batch);

/* Does the operation work on rows? At least a part of it does. Other operations need all rows to be
 * written before they run, and forgotten. */
bool op_uses_rows(const struct op *op);

/* Add what the operation will look at. */
void op_wants(const struct op *op, struct wants *w);

/* Can the operation be carried out on rows alone? Else it must run inside a savepoint, after rows
 * were written. Its wants must be held. */
bool op_is_computed(const struct op *op, struct rows *r);
