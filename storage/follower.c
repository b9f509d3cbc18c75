/* storage/follower.c - see follower.h.
 *
 * Those who ask whether this node is current wait for one look together: the look begins after they
 * have asked, so it sees all that was acknowledged before. */
#include "storage/follower.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/assert.h"

#define LOOK_MS 1000
#define PRUNE_MS 60000

struct ask {
    store_current_fn *done;
    void *ctx;
};

struct follower {
    struct db *db;
    struct tail *tail;
    pthread_t thread;
    bool has_started;
    int64_t pruned_ms;
    bool has_more_old; /* notices that are to be deleted */
    pthread_mutex_t lock; /* guards the rest */
    struct ask *asks;
    size_t n_asks, cap_asks;
    bool is_away, is_closing;
};

/* ---- those who ask --------------------------------------------------------------------------- */

void follower_ask(struct follower *f, store_current_fn *done, void *ctx)
{
    enum rc rc = RC_OK;

    pthread_mutex_lock(&f->lock);
    if (f->is_closing)
        rc = RC_CLOSED;
    else if (f->is_away)
        rc = RC_AGAIN;
    if (rc == RC_OK) {
        f->asks = mem_grow(f->asks, &f->cap_asks, f->n_asks + 1, sizeof *f->asks);
        f->asks[f->n_asks++] = (struct ask){done, ctx};
        f->db->follows->wake(f->db);
    }
    pthread_mutex_unlock(&f->lock);
    if (rc != RC_OK)
        done(ctx, rc);
}

static struct ask *take_asks(struct follower *f, size_t *n)
{
    struct ask *asks;

    pthread_mutex_lock(&f->lock);
    asks = f->asks;
    *n = f->n_asks;
    f->asks = NULL;
    f->n_asks = f->cap_asks = 0;
    pthread_mutex_unlock(&f->lock);
    return asks;
}

static void answer(struct ask *asks, size_t n, enum rc rc)
{
    for (size_t i = 0; i < n; i++)
        asks[i].done(asks[i].ctx, rc);
    mem_free(asks);
}

/* From now on nobody waits: say so. RC_OK: the database is here again. */
static void set_away(struct follower *f, enum rc rc)
{
    struct ask *asks;
    size_t n;

    pthread_mutex_lock(&f->lock);
    f->is_away = rc != RC_OK;
    f->is_closing |= rc == RC_CLOSED;
    pthread_mutex_unlock(&f->lock);
    if (rc == RC_OK)
        return;
    asks = take_asks(f, &n);
    answer(asks, n, rc == RC_CLOSED ? RC_CLOSED : RC_AGAIN);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static enum rc look(struct follower *f, struct err *err)
{
    size_t n;
    struct ask *asks = take_asks(f, &n);
    enum rc rc = tail_follow(f->tail, f->db, err);

    answer(asks, n, rc == RC_OK ? RC_OK : RC_AGAIN);
    return rc;
}

/* A look comes first each time, so that nobody waits for this; there is one each second at least. */
static void prune(struct follower *f)
{
    struct err err = ERR_INIT;

    if (!f->has_more_old && clock_mono_ms() < f->pruned_ms + PRUNE_MS)
        return;
    f->pruned_ms = clock_mono_ms();
    if (f->db->follows->prune(f->db, &f->has_more_old, &err) != RC_OK)
        log_warn("storage", "notices_kept", "error=%s effect=again", log_quote(str_from(err.text)));
}

static void *follower_main(void *arg)
{
    struct follower *f = arg;
    struct err err = ERR_INIT;
    enum rc rc = look(f, &err);

    thread_set_name("follower");
    while (rc != RC_CLOSED) {
        if (rc != RC_OK)
            log_warn("storage", "notices_unread", "error=%s effect=again",
                     log_quote(str_from(err.text)));
        set_away(f, rc);
        err = (struct err)ERR_INIT;
        rc = f->db->follows->wait(f->db, LOOK_MS, &err);
        if (rc == RC_OK)
            rc = look(f, &err);
        if (rc == RC_OK)
            prune(f);
    }
    set_away(f, RC_CLOSED);
    return NULL;
}

enum rc follower_start(const struct engine *engine, struct db *writer, struct tail *t,
                       struct follower **out, struct err *err)
{
    struct follower *f = NEW(struct follower);
    enum rc rc = engine->open_follower(writer, &f->db, err);

    f->tail = t;
    f->pruned_ms = clock_mono_ms();
    pthread_mutex_init(&f->lock, NULL);
    if (rc == RC_OK && pthread_create(&f->thread, NULL, follower_main, f) != 0)
        rc = err_set(err, RC_IO, "cannot start the thread that follows other nodes");
    f->has_started = rc == RC_OK;
    if (rc != RC_OK)
        follower_free(&f);
    else
        *out = f;
    return rc;
}

void follower_free(struct follower **fp)
{
    struct follower *f = *fp;

    if (f == NULL)
        return;
    if (f->has_started) {
        f->db->follows->stop(f->db);
        pthread_join(f->thread, NULL);
    }
    if (f->db != NULL)
        f->db->reads->close(&f->db);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
    *fp = NULL;
}
