/* fetcher/upstream_save.h - how the rows of upstream_table.h get into the database, and what is done
 * about those that were not stored. Called under the lock of the table's owner. */
#pragma once

#include "fetcher/upstream_table.h"

/* A row that the storer has. */
struct upstream_save {
    struct upstream_table *table;
    struct arena arena;
    struct str token;    /* in `arena` */
    uint64_t known;      /* the row was to be like this */
    store_done_fn *done; /* of who saves it; NULL: he does not wait */
    void *ctx;
};
void upstream_save_free(struct upstream_save **sp);

/* What came of it. RC_CONFLICT: another node has changed the row. Then the row with this token must
 * be read (upstream_table_take_some()), which takes the place of what is known here. Another error:
 * it was not stored, and is tried again later. */
void upstream_table_saved(struct upstream_table *t, const struct upstream_save *save, enum rc rc);

/* Put a row into the database, unless another node has changed it. False: the storer has no room.
 * Then `done` is not called, and it is tried again by upstream_table_save_again(), which does
 * nothing before `save_at_ms`. */
bool upstream_sub_save(struct upstream_table *t, struct upstream_sub *sub, store_done_fn *done,
                       void *ctx);
void upstream_table_save_again(struct upstream_table *t);

/* The row must be saved again, or needs not. */
void upstream_sub_set_unsaved(struct upstream_table *t, struct upstream_sub *sub, bool is_unsaved);

/* Have the storer delete the row. False: it has no room. Then `done` is not called. */
bool upstream_sub_drop_stored(struct upstream_table *t, struct upstream_sub *sub,
                              store_done_fn *done, void *ctx);
