/* storage/pg/ids.h - the ids of new rows: drawn before they are needed, in the trip that loads.
 *
 * Ids of entries and bodies come in blocks of a thousand; those that an answer has are drawn one by
 * one, and what a transaction does not use is kept for the next one. One thread. */
#pragma once

#include "storage/pg/link.h"
#include "storage/rows.h"
#include "storage/wants.h"

struct id_blocks {
    const char *sql, *columns;
    int64_t *blocks; /* the first id of each; used from the end */
    size_t n, cap;
    int64_t next, end; /* of the block in use */
    struct pg_answer drawn;
};

struct spare_ids {
    int64_t *ids;
    size_t n, cap;
    struct pg_answer drawn;
};

struct pg_ids {
    struct pg_link *l;
    struct pg_params *params; /* borrowed */
    size_t n_new;             /* rows that this transaction may add: that many ids are needed */
    struct id_blocks entries, bodies;
    struct spare_ids spare[NEW_ROWS]; /* ids that were drawn and are not used yet */
};

void pg_ids_init(struct pg_ids *all, struct pg_link *l, struct pg_params *params);
void pg_ids_release(struct pg_ids *all);

/* Must ids be drawn for what is wanted, and for `n_new` rows? Queue that; hold what has come. The
 * last one also makes the partitions of table bodies that the new blocks need, by further trips. */
bool pg_ids_are_short(const struct pg_ids *all, const struct wants *wants);
void pg_ids_queue(struct pg_ids *all, const struct wants *wants);
void pg_ids_take(struct pg_ids *all, const struct wants *wants, struct rows *r);
enum rc pg_ids_make_room(struct pg_ids *all, struct err *err) NODISCARD;

/* The next id of each kind. */
int64_t pg_ids_entry(struct pg_ids *all);
int64_t pg_ids_body(struct pg_ids *all);

/* The transaction ends, and has given ids to its rows. */
void pg_ids_keep(struct pg_ids *all, struct rows *r);
