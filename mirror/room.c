/* mirror/room.c - the folder of the mirror and its rows: what makes room for others, and what is
 * there without a row (inside.h). */
#include "mirror/inside.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "mirror/folder.h"

#define PARTIALS 1000 /* files that are there in part */
#define YOUNG_S 3600  /* another node may be about to store the row of a file that is not older */

/* ---- room ------------------------------------------------------------------------------------ */

void mirror_forget(struct mirror *m, const struct mirrored *old)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t fence;

    if (!nodes_leads_by(store_nodes(m->cfg.store), &fence) || fence != m->fence) {
        m->is_placed = m->is_swept = false;
        return;
    }
    if (unlink(str_z(&a, mirror_path(&a, m->cfg.dir, old->sha256))) != 0 && errno != ENOENT)
        log_warn("mirror", "not_deleted", "sha256=%.*s error=%s effect=at_the_next_start", STR_ARG(old->sha256),
                 log_quote(str_from(strerror(errno))));
    m->n_bytes -= old->size;
    stats_set(STAT_mirror_bytes, m->n_bytes);
}

static enum rc drop(struct mirror *m, const struct mirrored *old)
{
    struct mirror_change change = {.dropped = old->sha256};
    enum rc rc;

    if (!mirror_folder_is_there(m->cfg.dir)) /* its disk has just gone, with the file that it was to make room for */
        return RC_IO;
    if ((rc = mirror_insist(m, &change)) != RC_OK)
        return rc;
    mirror_forget(m, old);
    stats_inc(STAT_mirror_dropped_total);
    log_info("mirror", "dropped", "sha256=%.*s bytes=%lld", STR_ARG(old->sha256),
             (long long)old->size);
    return RC_OK;
}

/* Partial files, and what of them may leave. */
struct partials {
    struct folder_file *files; /* those that were written long ago first */
    size_t n, next;            /* which is looked at next */
    size_t n_left;             /* of all, how many are there ... */
    int64_t n_bytes;           /* ... and their bytes */
};

/* The next one that nobody works on, nor is `own`; NULL: there is none. */
static const struct folder_file *next_partial(const struct mirror *m, struct partials *p,
                                              struct str own)
{
    while (p->next < p->n &&
           (mirror_is_fetching(m, p->files[p->next].name) || str_eq(p->files[p->next].name, own)))
        p->next++;
    return p->next < p->n ? &p->files[p->next] : NULL;
}

/* Its row waits on: then it is fetched from the beginning. */
static void drop_partial(struct mirror *m, struct partials *p)
{
    const struct folder_file *old = &p->files[p->next++];

    if (!folder_drop_partial(m->cfg.dir, old->name))
        return;
    p->n_left--;
    p->n_bytes -= old->size;
    log_info("mirror", "part_dropped", "key=%.*s bytes=%lld", STR_ARG(old->name),
             (long long)old->size);
}

static bool is_over(const struct mirror *m, const struct partials *p)
{
    return m->n_bytes + p->n_bytes > m->cfg.max_total;
}

/* Let one leave: of the partial file and the stored one that were needed last, the one that nobody
 * needed for longer. *left false: only what is being fetched is there. */
static enum rc leave_one(struct mirror *m, struct partials *p, struct str own, bool *left,
                         struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct folder_file *part = next_partial(m, p, own);
    struct mirrored *old;
    size_t n;
    enum rc rc = reader_mirror_list(m->reader, MIRRORS_OLDEST, INT64_MAX, 0, 1, &a, &old, &n, err);

    *left = rc == RC_OK && (part != NULL || (n > 0 && is_over(m, p)));
    if (!*left)
        return rc;
    if (part != NULL && (n == 0 || p->n_left > PARTIALS || part->written_us <= old[0].used_us)) {
        drop_partial(m, p);
    } else {
        rc = drop(m, &old[0]);
        if (rc != RC_OK)
            err_set(err, rc, "a file that has to make room cannot be dropped");
    }
    return rc;
}

/* Let what nobody needed for the longest time leave until all that is there fits, that of partial
 * files, too. What is being fetched stays, and so does the partial file `own`. */
enum rc mirror_make_room(struct mirror *m, struct str own, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct partials p = {.n = 0};
    bool left = true;
    enum rc rc = RC_OK;

    folder_partials(m->cfg.dir, &a, &p.files, &p.n);
    p.n_left = p.n;
    for (size_t i = 0; i < p.n; i++)
        p.n_bytes += p.files[i].size;
    while (rc == RC_OK && left && (is_over(m, &p) || p.n_left > PARTIALS + AT_ONCE))
        rc = leave_one(m, &p, own, &left, err);
    return rc;
}

/* ---- what a crash left ----------------------------------------------------------------------- */

/* Delete partial files that no row waits for. */
static enum rc sweep_partials(struct mirror *m, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct folder_file *files;
    size_t n_files;
    enum rc rc = RC_OK;

    folder_partials(m->cfg.dir, &a, &files, &n_files);
    for (size_t i = 0; i < n_files && rc == RC_OK; i++) {
        struct mirrored *rows;
        size_t n;

        rc = reader_mirrors(m->reader, &files[i].name, 1, &a, &rows, &n, err);
        if (rc == RC_OK && (n == 0 || rows[0].state != MIRROR_WAITING))
            (void)folder_drop_partial(m->cfg.dir, files[i].name);
    }
    return rc;
}

/* Delete it, unless a row says that it is stored, or may say so soon. */
static enum rc sweep_file(struct mirror *m, struct arena *a, const struct folder_file *file,
                          struct err *err)
{
    int64_t age_us = store_is_shared(m->cfg.store) ? YOUNG_S * INT64_C(1000000) : 0;
    struct mirrored row;
    enum rc rc = reader_mirror_file(m->reader, file->name, a, &row, err);

    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if ((rc == RC_NOT_FOUND || row.state != MIRROR_STORED) &&
        file->written_us + age_us <= clock_now_us()) {
        (void)unlink(str_z(a, mirror_path(a, m->cfg.dir, file->name)));
        log_info("mirror", "swept", "sha256=%.*s bytes=%lld", STR_ARG(file->name),
                 (long long)file->size);
    }
    return RC_OK;
}

/* A crash between a file and its row leaves one without the other. */
enum rc mirror_sweep(struct mirror *m, struct err *err)
{
    enum rc rc = m->is_swept ? RC_OK : sweep_partials(m, err);

    for (int first = 0; first < 256 && rc == RC_OK && !m->is_swept; first++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct folder_file *files;
        size_t n;

        folder_files(m->cfg.dir, (unsigned char)first, &a, &files, &n);
        for (size_t i = 0; i < n && rc == RC_OK && !atomic_load(&m->is_stopped); i++)
            rc = sweep_file(m, &a, &files[i], err);
    }
    m->is_swept = rc == RC_OK;
    return rc;
}
