/* storage/shelf.h - rows of one kind in the memory of a transaction (storage/rows.h).
 *
 * A row is found by its key. Before the first change after a mark it is copied, so that an undo can
 * put the copy back. Rows that were changed are in a list, to be written. Rows stay where they are
 * until the shelf is cleared. Only the storer's thread uses it.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"

/* The first member of the struct of each row on a shelf. */
struct held {
    bool is_touched;  /* it is in the list of those to be written */
    unsigned version; /* the mark after which it was copied */
    /* of the kinds that are created and dropped by the calls of storage/rows.h: */
    bool exists;      /* there is such a row at this point of the transaction */
    bool is_stored;   /* the database has it */
    unsigned changes; /* what of it is to be written: bits that the kind defines */
};

struct shelf {
    size_t row_size; /* of the struct of a row; set with the first row */
    struct map rows;
    struct held **touched; /* to be written, in the order in which they were touched first */
    struct held **copied;  /* rows that were changed since the newest mark */
    char *copies;          /* how they were at the mark, one after the other */
    size_t n_touched, cap_touched, n_copied, cap_copied, cap_copies;
};

/* How many rows it has. */
static inline size_t shelf_count(const struct shelf *s)
{
    return map_count(&s->rows);
}

/* Forget all rows. shelf_release() also frees the lists. */
void shelf_clear(struct shelf *s);
void shelf_release(struct shelf *s);

/* The row with this key; NULL: it is not held. */
void *shelf_find(const struct shelf *s, struct str key);

/* Go through all rows, in no particular order. Start with *it = NULL. NULL: there are no more. */
void *shelf_next(const struct shelf *s, void **it);

/* Add a row of `size` zeros, in the arena. It must not be there yet. The key is copied; null:
 * nobody will look for the row. All rows of a shelf have the same size. */
void *shelf_add(struct shelf *s, struct arena *a, struct str key, size_t size);

/* The row will be changed. `version` counts the marks. */
void shelf_touch(struct shelf *s, unsigned version, struct held *row);

/* A mark is taken: no row has changed since. */
void shelf_mark(struct shelf *s);

/* Take back what was changed since the newest mark; n_touched was so many then. */
void shelf_undo(struct shelf *s, size_t n_touched);

/* All rows that were touched were written. */
void shelf_written(struct shelf *s);
