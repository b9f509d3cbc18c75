/* storage/node_calls.h - what an engine does for several nodes on one database.
 *
 * The connection is apart from all others, so that a busy storer does not delay a beat. It belongs
 * to one thread at a time; only stop() may be called by others. It connects again by itself. All
 * calls take one round trip. Errors: RC_AGAIN and RC_UNAVAILABLE when the database is not within
 * reach, RC_CLOSED after stop(), RC_IO.
 */
#pragma once

#include "base/err.h"
#include "storage/membership.h"

/* What a node says of itself. */
struct node_facts {
    struct str name, address, program;
    struct str base_url; /* all nodes must agree on this and the next two; without a space */
    int64_t archive_size;
    struct str roles; /* as in nodes_cfg */
    int64_t lease_ms;
    bool is_draining; /* it was to drain before it lost its row */
};

struct node_link {
    const struct node_calls *calls;
};

struct node_calls {
    /* Connect to the database, which has its tables. `answer_ms`: no answer takes longer. */
    enum rc (*open)(const char *address, int64_t answer_ms, struct node_link **out,
                    struct err *err);
    void (*close)(struct node_link **lp);

    /* End what a call waits for, for good. Any thread. */
    void (*stop)(struct node_link *l);

    /* Make a row. *sent_ms: the monotonic time just before that. RC_CONFLICT: a node that is alive
     * differs in what must be equal, or it has joined with our name since we joined before; *err
     * names the option. */
    enum rc (*join)(struct node_link *l, const struct node_facts *facts, int64_t *id,
                    int64_t *sent_ms, struct err *err);

    /* Say that we live; end the rows whose lease has ended; give back slots, take free ones, and
     * read what is there then. */
    enum rc (*beat)(struct node_link *l, const struct beat *b, struct arena *a,
                    struct beat_answer *out, struct err *err);

    /* Order the node of this name to give back its slots. RC_NOT_FOUND: no such node is alive. */
    enum rc (*drain)(struct node_link *l, struct str name, struct err *err);

    /* Delete our row; its slots are free at once. Nothing may run in them any more. */
    enum rc (*leave)(struct node_link *l, int64_t id, struct err *err);
};
