/* storage/rows_upstreams.h - our subscriptions at upstream hubs and clouds, in the memory of a
 * transaction (storage/rows.h). Only the storer's thread uses it. */
#pragma once

#include "storage/rows.h"

enum {
    UPSTREAM_WRITES_TRUST = 1,  /* trust and delivered_at are written, too */
    UPSTREAM_TAKES_CURRENT = 2, /* it became current, perhaps for a moment: no other one is */
};

/* A row of `upstreams`. */
struct held_upstream_row {
    struct held held;
    struct upstream row;
};

/* The row with this token. NULL: it was not loaded. */
struct held_upstream_row *rows_upstream(struct rows *r, struct str token);
struct held_upstream_row *rows_add_upstream_row(struct rows *r, struct str token);

/* Is the row with this token, which was loaded, as `known` says (as of store_upstream_put())? So is
 * one that is already as it would become: `then`, or NULL if it is to be dropped. */
bool upstream_is_known(struct rows *r, struct str token, uint64_t known,
                       const struct upstream *then);

/* Store it under its token, which was loaded, as well as the row of the feed; trust and
 * delivered_at stay as they are. If it is current, no other one of the feed is. Strings must live
 * as long as the transaction. */
void rows_put_upstream(struct rows *r, const struct upstream *u);

/* Drop it. The token and the row of its feed were loaded. */
void rows_drop_upstream(struct rows *r, struct str token);
