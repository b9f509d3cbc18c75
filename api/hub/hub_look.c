/* api/hub/hub_look.c - see hub_look.h.
 *
 * An intent goes in the transaction that settles it, and the notice of that comes a little later.
 * So when one is not found, the node first follows all commits. */
#include "api/hub/hub_look.h"

#include "base/mem.h"
#include "model/view.h"

#define PART 256 /* intents that are read together */
#define TRIES 3  /* a connection may be lost, and is made anew by the next call */

struct look {
    struct store *store;
    hub_look_fn *done;
    void *ctx;
    size_t n;
    int64_t ids[]; /* ascending; after the reading those that are gone */
};

static void end(struct look *l, enum rc rc)
{
    l->done(l->ctx, rc, rc == RC_OK ? l->ids : NULL, rc == RC_OK ? l->n : 0);
    mem_free(l);
}

static void on_current(void *ctx, enum rc rc)
{
    end(ctx, rc);
}

/* Take out what is stored. Both lists are ascending. */
static void take_out(struct look *l, const struct hub_intent *stored, size_t n)
{
    size_t kept = 0, k = 0;

    for (size_t i = 0; i < l->n; i++) {
        while (k < n && stored[k].id < l->ids[i])
            k++;
        if (k == n || stored[k].id != l->ids[i])
            l->ids[kept++] = l->ids[i];
    }
    l->n = kept;
}

static enum rc read_all(struct look *l, struct reader *r)
{
    int64_t after = 0;
    size_t n = 0;
    enum rc rc;

    do {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct hub_intent *stored;

        rc = reader_hub_intents(r, after, PART, &a, &stored, &n, NULL);
        if (rc == RC_OK && n > 0) {
            take_out(l, stored, n);
            after = stored[n - 1].id;
        }
    } while (rc == RC_OK && n == PART);
    return rc;
}

/* On a reader's thread. */
static void read_stored(void *ctx, struct reader *r)
{
    struct look *l = ctx;
    enum rc rc = RC_AGAIN;

    for (int i = 0; i < TRIES && rc == RC_AGAIN; i++)
        rc = read_all(l, r);
    if (rc != RC_OK || l->n == 0)
        end(l, rc);
    else
        store_catch_up(l->store, on_current, l);
}

void hub_look_start(struct store *s, const int64_t *ids, size_t n, hub_look_fn *done, void *ctx)
{
    struct look *l = mem_alloc(sizeof *l + n * sizeof *ids);

    *l = (struct look){.store = s, .done = done, .ctx = ctx, .n = n};
    if (n > 0)
        memcpy(l->ids, ids, n * sizeof *ids);
    l->n = view_ids_sort(l->ids, n);
    if (store_read(s, read_stored, l) != RC_OK)
        end(l, RC_AGAIN);
}
