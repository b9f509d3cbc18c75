/* search/indexer.h - the thread that fills the index of words (storage/index.h).
 *
 * It is a consumer of the log: its place stands in the database, and each group of revisions moves
 * it. Whatever ends the process, the next one goes on from there. With several nodes the owner of
 * slot 0 fills it; for a moment two may do so, and then the group of one of them counts.
 */
#pragma once

#include "search/rows.h"
#include "storage/nodes.h"

struct indexer_cfg {
    struct store *store;
    search_terms_fn *terms;
    int64_t cut; /* by which rules `terms` cuts */
};

struct indexer;

/* Make it, before the first write; start its thread. RC_IO: it cannot be started. */
struct indexer *indexer_new(const struct indexer_cfg *cfg);
enum rc indexer_start(struct indexer *x, struct err *err) NODISCARD;

/* End the thread, while the store is open. Free it after the store was closed, set to NULL. NULL is
 * allowed. */
void indexer_stop(struct indexer *x);
void indexer_free(struct indexer **xp);
