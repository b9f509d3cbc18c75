/* storage/nodes.h - the daemons that work on one log, and which of its hosts this one works on.
 *
 * Hosts are divided into slots, and a node owns some of them. With a database that takes one daemon
 * only, that is one node: all is its, it has no lease, and nothing here waits or fails. With others
 * a thread beats, as long as the node lives. Any thread may call, unless a function says otherwise.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "storage/slot_set.h"

struct node_calls;
struct nodes;
struct store;

/* The nodes of the database of a store. Lives as long as the store. */
struct nodes *store_nodes(struct store *s);

/* What this node says of itself. */
struct nodes_cfg {
    struct str name;     /* unique among the nodes that are alive */
    struct str address;  /* "http://host:port" */
    struct str program;  /* its version */
    struct str base_url; /* all nodes must agree on this and the next two */
    int64_t archive_size;
    struct str roles; /* options that say what endpoints are served, where they are not the default,
                         with a space between two: "--hub=no --cloud=no" */
    int64_t lease_ms; /* 1000..600000 */
};

/* Become a node, take the slots that are free, and begin to beat. Before that, nothing is ours, but
 * with a database that takes one daemon only, everything. Call it once. RC_CONFLICT: a node that is
 * alive differs in what must be equal; *err names the option. RC_IO: the database is not within
 * reach. */
enum rc nodes_join(struct nodes *n, const struct nodes_cfg *cfg, struct err *err) NODISCARD;

/* ---- is this mine? --------------------------------------------------------------------------- */

/* What work on a host carries with it. */
struct node_claim {
    unsigned slot;
    int64_t fence;    /* grows each time the slot changes hands; 0: it cannot */
    int64_t since_ms; /* monotonic: when the slot became ours */
    bool was_left; /* its last owner has died or frozen, so something of it may still run there */
};

/* May work on this host begin here, now? `authority`: "host:port" in lower case. *out is set if so;
 * NULL is allowed. Cheap. */
bool nodes_owns(struct nodes *n, struct str authority, struct node_claim *out);

/* The same, and the slot is not given to another node before nodes_end() has been called as often.
 */
bool nodes_begin(struct nodes *n, struct str authority, struct node_claim *out) NODISCARD;
void nodes_end(struct nodes *n, const struct node_claim *claim);

/* May work that has begun go on? False: it must be cut off, because the lease has ended, or because
 * the slot should have been given back long ago. */
bool nodes_may_go_on(struct nodes *n, const struct node_claim *claim);

/* A loop had its last turn at `last_ms` (monotonic). True: it has slept for so long that another
 * node may have taken over what runs there, so that must be cut off first. */
bool nodes_is_gap(struct nodes *n, int64_t last_ms);

/* Is this the node that does what one node does for all? It is the owner of a certain slot. Cheap.
 */
bool nodes_leads(struct nodes *n);

/* The same. *fence grows each time another node begins to lead; 0: there can be no other one. What is
 * stored with it is stored only if no other has begun meanwhile. */
bool nodes_leads_by(struct nodes *n, int64_t *fence);

/* The slot of a host: "host:port" in lower case. */
unsigned nodes_slot(struct str authority);

/* What this node may begin has changed. `gained`: slots in which work may begin and could not
 * before; `lost`: those in which it may no longer, also because the lease has ended. A slot that is
 * in both was another node's meanwhile, or nobody's, so take the losses first. When this is called,
 * nodes_owns() may know of a later change; that is told next. */
typedef void nodes_change_fn(void *ctx, const struct slot_set *gained, const struct slot_set *lost);

/* Call `fn` after every change, for one change after the other: on the thread of the nodes, and for
 * the first slots before nodes_join() returns. It must be quick. Call this before nodes_join(). If
 * there is one node only, `fn` is never called, and all slots are ours from the start. */
void nodes_listen(struct nodes *n, nodes_change_fn *fn, void *ctx);

/* ---- who is there? --------------------------------------------------------------------------- */

struct node_shown {
    struct str name, address, program; /* arena */
    size_t n_slots;
    int64_t beat_age_ms;
    int64_t behind; /* commits that it has not followed yet */
    bool is_draining;
};

/* The nodes that were alive at our last beat, oldest first. Returns how many. */
size_t nodes_list(struct nodes *n, struct arena *a, struct node_shown **out);

struct nodes_status {
    bool is_trusted; /* false: the database is away, and no work may begin */
    size_t n_slots;
    int64_t lease_left_ms, beat_age_ms;
    int64_t behind;
};
void nodes_status(struct nodes *n, struct nodes_status *out);

/* Order the node of this name to give back all its slots until it is started anew. `done` is
 * called once, on another thread or before this returns. RC_NOT_FOUND: no such node is alive;
 * RC_INPUT: there can only be one; RC_AGAIN, RC_UNAVAILABLE: the database is away. */
typedef void nodes_done_fn(void *ctx, enum rc rc, const struct err *err);
void nodes_drain(struct nodes *n, struct str name, nodes_done_fn *done, void *ctx);

/* ---- for the store --------------------------------------------------------------------------- */

/* `calls` NULL: the database takes one daemon only. `address` is that of the database. */
struct nodes *nodes_new(const struct node_calls *calls, const char *address);

/* Returns the last notice that this node has followed. Any thread; quick. */
typedef int64_t nodes_followed_fn(void *ctx);

/* Our beats tell the others how far we follow the commits. NULL: not any more, so `ctx` may go;
 * until the first call and after that, beats say that all is followed. Any thread. */
void nodes_set_followed(struct nodes *n, nodes_followed_fn *fn, void *ctx);

/* Leave, so that others have our slots at once, and free; nothing may run in them any more. Waits
 * for a database that is away for 2 s. NULL is allowed. */
void nodes_free(struct nodes **np);
