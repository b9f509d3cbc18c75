/* fetcher/upstream_save.c - see upstream_save.h. */
#include "fetcher/upstream_save.h"

#include "base/clock.h"
#include "base/mem.h"
#include "fetcher/upstream_rules.h"

#define SAVE_RETRY_MS 500
#define SAVE_RETRY_DOUBLED 7 /* at most so often: 64 s */

static struct upstream_save *save_new(struct upstream_table *t, const struct upstream_sub *sub,
                                      store_done_fn *done, void *ctx)
{
    struct upstream_save *save = NEW(struct upstream_save);

    save->table = t;
    save->token = str_dup(&save->arena, sub->row.token);
    save->known = sub->stored;
    save->done = done;
    save->ctx = ctx;
    return save;
}

void upstream_save_free(struct upstream_save **sp)
{
    struct upstream_save *save = *sp;

    arena_release(&save->arena);
    mem_free(save);
    *sp = NULL;
}

/* The hub was told to come again, so it may have taken our verification for failed. It is asked soon
 * whether the subscription stands. */
static void not_confirmed(struct upstream_table *t, struct upstream_sub *sub)
{
    if (sub->row.state == UPSTREAM_ACTIVE)
        upstream_sub_set_next(t, sub, clock_now_s() + upstream_retry_s(1));
}

void upstream_sub_set_unsaved(struct upstream_table *t, struct upstream_sub *sub, bool is_unsaved)
{
    int64_t now_ms = clock_mono_ms();

    t->n_unsaved += is_unsaved;
    t->n_unsaved -= sub->is_unsaved;
    sub->is_unsaved = is_unsaved;
    if (is_unsaved && t->save_at_ms <= now_ms)
        t->save_at_ms = now_ms + (SAVE_RETRY_MS << t->n_failures);
    t->needs_turn |= is_unsaved;
}

bool upstream_sub_save(struct upstream_table *t, struct upstream_sub *sub, store_done_fn *done,
                       void *ctx)
{
    struct upstream_save *save = save_new(t, sub, done, ctx);
    enum rc rc;

    sub->row.error = sub->error[0] == '\0' ? STR_NULL : str_from(sub->error);
    rc = store_upstream_put(t->store, &sub->row, sub->stored, t->saved, save);
    if (rc == RC_OK) {
        sub->stored = store_upstream_mark(&sub->row);
        sub->n_saving++;
    } else {
        upstream_save_free(&save);
    }
    upstream_sub_set_unsaved(t, sub, rc == RC_FULL);
    if (rc == RC_FULL && done != NULL)
        not_confirmed(t, sub);
    return rc == RC_OK;
}

/* What was handed over after something that was not stored is refused, because it takes that for
 * stored. Nobody else has changed the row then, as far as one knows. */
static void note_answer(struct upstream_sub *sub, const struct upstream_save *save, enum rc rc)
{
    bool was_failed = sub->has_failed;

    sub->has_failed = rc != RC_OK && (was_failed || rc != RC_CONFLICT);
    if (rc == RC_CONFLICT && !was_failed)
        sub->is_stale = true;
    if (sub->has_failed && !was_failed)
        sub->before = save->known;
}

void upstream_table_saved(struct upstream_table *t, const struct upstream_save *save, enum rc rc)
{
    struct upstream_sub *sub = map_get(&t->by_token, save->token);

    if (rc == RC_OK)
        t->n_failures = 0;
    else if (rc != RC_CONFLICT && t->n_failures < SAVE_RETRY_DOUBLED)
        t->n_failures++;
    if (sub == NULL)
        return;
    sub->n_saving -= sub->n_saving > 0;
    sub->saved_in = t->n_readings;
    note_answer(sub, save, rc);
    if (!sub->has_failed || sub->n_saving > 0)
        return;
    sub->has_failed = false;
    sub->stored = sub->before;
    /* a stale one is read again, and what is wanted is decided anew; a foreign one is read again
     * when the hub calls again, which was told that it was not taken */
    if (sub->is_stale || sub->is_foreign)
        return;
    upstream_sub_set_unsaved(t, sub, true);
    if (save->done != NULL)
        not_confirmed(t, sub);
}

void upstream_table_save_again(struct upstream_table *t)
{
    void *it = NULL, *value;
    struct str key;

    if (clock_mono_ms() < t->save_at_ms)
        return;
    while (t->n_unsaved > 0 && map_next(&t->by_token, &it, &key, &value)) {
        struct upstream_sub *sub = value;

        if (sub->is_unsaved && !upstream_sub_save(t, sub, NULL, NULL))
            return;
    }
}

bool upstream_sub_drop_stored(struct upstream_table *t, struct upstream_sub *sub, store_done_fn *done,
                              void *ctx)
{
    struct upstream_save *save = save_new(t, sub, done, ctx);

    if (store_upstream_drop(t->store, sub->row.feed_id, sub->row.token, sub->stored, t->saved,
                            save) == RC_OK)
        return true;
    upstream_save_free(&save);
    return false;
}
