/* storage/rows_hub.h - requests at our hub and our cloud, and their leases, in the memory of a
 * transaction (storage/rows.h). Only the storer's thread uses it. */
#pragma once

#include "model/hub.h"
#include "storage/rows.h"

/* A row of `hub_intents`: a request, or a denial. */
struct held_intent {
    struct held held;
    struct hub_intent row;
};

/* A row of `hub_leases`. */
struct held_lease {
    struct held held;
    struct hub_lease row;
    struct str callback; /* canonical URL */
};

/* Which subscription a callback has to a topic, by a protocol. */
struct held_hub_name {
    struct held held;
    int64_t sub_id; /* 0: none. It may have ended in this transaction */
};

/* What the sweep of leases finds. Never written. */
struct hub_due {
    int64_t now; /* Unix seconds */
    int64_t *ended,
        *to_renew; /* subscriptions whose lease has ended, or must be renewed, at `now` */
    size_t n_ended, n_to_renew;
    int64_t next_at; /* when the first of the others is due; TIME_UNKNOWN: there is none */
};
#define HUB_SWEEP_MAX 500 /* leases that one sweep ends, and that it renews */

/* One after the other, what an intent asks for: a topic with its feeds. A registration at the cloud
 * asks for each of its URLs, whose feeds stand together. Start with *i = 0. False: there is no
 * more. Pure. */
bool hub_intent_part(const struct hub_intent *in, size_t *i, struct hub_intent *part);

/* NULL: it was not loaded. held.exists: there is such a one. */
struct held_intent *rows_intent(struct rows *r, int64_t id);
struct held_lease *rows_lease(struct rows *r, int64_t sub_id);

/* The subscription of this callback to this topic, which was loaded; 0: there is none.
 * rows_hub_name(): NULL: it was not loaded. */
int64_t rows_find_lease(struct rows *r, const struct hub_intent *in);
struct held_hub_name *rows_hub_name(struct rows *r, enum hub_protocol protocol, struct str callback,
                                    struct str topic);

/* For what is loaded: add a row that the caller fills. */
struct held_intent *rows_add_intent(struct rows *r, int64_t id);
struct held_lease *rows_add_lease(struct rows *r, int64_t sub_id);
struct held_hub_name *rows_add_hub_name(struct rows *r, enum hub_protocol protocol,
                                        struct str callback, struct str topic);

/* Keep a new intent. Its strings must live as long as the transaction. in->id 0: nobody names it
 * before it is stored. */
void rows_new_intent(struct rows *r, const struct hub_intent *in);

/* An intent that exists is settled. */
void rows_drop_intent(struct rows *r, struct held_intent *in);

/* Make the lease of the subscription lease->sub_id, or replace it. Its name (struct
 * held_hub_name) was loaded. Strings must live as long as the transaction. */
void rows_put_lease(struct rows *r, const struct hub_lease *lease, struct str callback);

/* When the lease must be renewed; TIME_UNKNOWN: it is being renewed. */
void rows_renew_at(struct rows *r, struct held_lease *lease, int64_t at);

/* After the due leases were ended and renewed: when the next one is due, or a bit earlier.
 * TIME_UNKNOWN: there is none. */
int64_t rows_next_due(struct rows *r);
