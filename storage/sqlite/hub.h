/* storage/sqlite/hub.h - the SQL of subscribers of our hub and our cloud: tables hub_leases,
 * hub_intents.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/hub.h"
#include "storage/sqlite/db.h"

/* Store an intent. If in->id is 0, it is set. */
enum rc hub_intent_insert(struct db *db, struct hub_intent *in, struct err *err) NODISCARD;

enum rc hub_intent_delete(struct db *db, int64_t id, struct err *err) NODISCARD;

/* How many intents there are. */
enum rc hub_intent_count(struct db *db, int64_t *n, struct err *err) NODISCARD;

/* Intents with an id above `id`, ascending, at most `max`. Arena. */
enum rc hub_intents_after(struct db *db, int64_t id, size_t max, struct arena *a,
                          struct hub_intent **out, size_t *n_out, struct err *err) NODISCARD;

/* Load the lease of a subscription. RC_NOT_FOUND: it has none. Arena. */
enum rc hub_lease_load(struct db *db, int64_t sub_id, struct arena *a, struct hub_lease *out,
                       struct err *err) NODISCARD;

/* Find the subscription of this callback to this topic, by this protocol. *sub_id 0: there is none.
 */
enum rc hub_lease_find(struct db *db, enum hub_protocol protocol, struct str callback,
                       struct str topic, int64_t *sub_id, struct err *err) NODISCARD;

/* The ids of subscriptions whose lease has ended at `now`, or must be renewed; at most `max`.
 * Arena.
 */
enum rc hub_leases_ended(struct db *db, int64_t now, int64_t max, struct arena *a, int64_t **out,
                         size_t *n_out, struct err *err) NODISCARD;
enum rc hub_leases_to_renew(struct db *db, int64_t now, int64_t max, struct arena *a, int64_t **out,
                            size_t *n_out, struct err *err) NODISCARD;

/* When the first lease ends or must be renewed after `now`; TIME_UNKNOWN: none does. */
enum rc hub_next_due(struct db *db, int64_t now, int64_t *at, struct err *err) NODISCARD;
