/* mirror/walk.c - a walk over all rows, some at a time, for what ends without a word in the log: a feed
 * is not mirrored any more, was removed, or lost its last subscriber; retention or a merge has taken an
 * entry (inside.h). */
#include "mirror/inside.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "mirror/folder.h"

#define ROWS 1000      /* that are looked at together */
#define PAUSE_MS 10000 /* between two looks */

/* What ends. */
struct ends {
    struct str *unwanted, *unnamed; /* keys */
    size_t n_unwanted, n_unnamed;
};

static void stop(struct mirror *m, struct str key)
{
    for (size_t i = 0; i < m->n_running; i++)
        if (str_eq(m->running[i]->row.key, key))
            atomic_store(&m->running[i]->is_ended_early, true);
    if (!mirror_is_fetching(m, key))
        (void)folder_drop_partial(m->cfg.dir, key);
}

/* The rows are stored. Transfers end, and partial files leave. */
static void clean(struct mirror *m, const struct ends *e)
{
    for (size_t i = 0; i < e->n_unwanted; i++)
        stop(m, e->unwanted[i]);
    for (size_t i = 0; i < e->n_unnamed; i++)
        stop(m, e->unnamed[i]);
}

/* Its row is gone. Does another one have this file? If that cannot be read, the folder is swept once
 * more, which finds the file. */
static bool is_last(struct mirror *m, struct str sha256)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct mirrored row;
    enum rc rc = reader_mirror_file(m->reader, sha256, &a, &row, NULL);

    if (rc != RC_OK && rc != RC_NOT_FOUND)
        m->is_placed = m->is_swept = false;
    return rc == RC_NOT_FOUND || (rc == RC_OK && row.state != MIRROR_STORED);
}

/* The files of rows that were deleted, each once. */
static void leave(struct mirror *m, const struct mirror_look *looks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct mirrored *row = &looks[i].row;
        bool is_met = false;

        if (looks[i].is_named || row->state != MIRROR_STORED)
            continue;
        for (size_t k = i + 1; k < n && !is_met; k++)
            is_met = !looks[k].is_named && looks[k].row.state == MIRROR_STORED &&
                     str_eq(looks[k].row.sha256, row->sha256);
        if (is_met || !is_last(m, row->sha256))
            continue;
        mirror_forget(m, row);
        log_info("mirror", "unnamed", "sha256=%.*s bytes=%lld", STR_ARG(row->sha256), (long long)row->size);
    }
}

/* What is being fetched is looked at each time. */
static void look_at_running(struct mirror *m, struct ends *e)
{
    for (size_t i = 0; i < m->n_running; i++)
        if (!mirror_wants(m, m->running[i]->row.key))
            e->unwanted[e->n_unwanted++] = m->running[i]->row.key;
}

enum rc mirror_walk(struct mirror *m, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct ends e = {.unwanted = ARENA_ARRAY(&a, struct str, ROWS + AT_ONCE),
                     .unnamed = ARENA_ARRAY(&a, struct str, ROWS)};
    struct mirror_look *looks;
    struct mirror_change change = {.moves = false};
    size_t n;
    enum rc rc;

    if (clock_mono_ms() < m->walk_ms)
        return RC_OK;
    rc = reader_mirror_looks(m->reader, str_of(m->walked, m->walked_len), ROWS, &a, &looks, &n, err);
    if (rc != RC_OK)
        return rc;
    look_at_running(m, &e);
    for (size_t i = 0; i < n; i++) {
        if (!looks[i].is_named)
            e.unnamed[e.n_unnamed++] = looks[i].row.key;
        else if (!looks[i].is_wanted)
            e.unwanted[e.n_unwanted++] = looks[i].row.key;
    }
    change.unwanted = e.unwanted;
    change.n_unwanted = e.n_unwanted;
    change.unnamed = e.unnamed;
    change.n_unnamed = e.n_unnamed;
    if (e.n_unwanted + e.n_unnamed > 0 && (rc = mirror_hand_over(m, &change)) != RC_OK) {
        m->is_placed = m->is_swept = false; /* it may be stored for all that: then files are without their rows */
        return rc == RC_CLOSED || rc == RC_CONFLICT ? RC_OK : err_set(err, rc, "files that nobody wants any more cannot be ended");
    }
    clean(m, &e);
    leave(m, looks, n);
    m->walked_len = n == ROWS ? MIRROR_KEY_LEN : 0;
    if (n == ROWS)
        memcpy(m->walked, looks[n - 1].row.key.ptr, MIRROR_KEY_LEN);
    m->walk_ms = clock_mono_ms() + PAUSE_MS;
    return RC_OK;
}
