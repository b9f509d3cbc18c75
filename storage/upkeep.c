/* storage/upkeep.c - whose database it is. */
#include "storage/upkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/engine.h"

#define BACKUP_INSTEAD "pg_dump, or pg_basebackup with an archive of its log"

/* The calls for this database. */
static enum rc calls_for(const char *db, const struct upkeep_calls **out, struct err *err)
{
    const struct engine *engine;
    enum rc rc = engine_of(str_from(db), &engine, err);

    if (rc != RC_OK)
        return rc;
    if (engine == &engine_sqlite && access(db, R_OK) != 0)
        return err_set(err, RC_IO, "%s: %s", db, strerror(errno));
    *out = engine->upkeep;
    return RC_OK;
}

static enum rc say_instead(const char *programs, struct err *err)
{
    return err_set(err, RC_UNSUPPORTED, "PostgreSQL has its own programs for that: %s", programs);
}

enum rc upkeep_backup(const char *db, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(db, &calls, err);

    if (rc == RC_OK && calls->backup == NULL)
        return say_instead(BACKUP_INSTEAD, err);
    return rc == RC_OK ? calls->backup(db, to, fn, ctx, err) : rc;
}

enum rc upkeep_copy(const char *db, int64_t spare, upkeep_progress_fn *fn, void *ctx, int *fd,
                    int64_t *len, struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(db, &calls, err);

    if (rc == RC_OK && calls->copy == NULL)
        return say_instead(BACKUP_INSTEAD, err);
    return rc == RC_OK ? calls->copy(db, spare, fn, ctx, fd, len, err) : rc;
}

enum rc upkeep_may_replace(const char *to, struct err *err)
{
    return engine_sqlite.upkeep->may_replace(to, err); /* copies are files */
}

enum rc upkeep_make_part(const char *part, int *fd, struct err *err)
{
    return engine_sqlite.upkeep->make_part(part, fd, err);
}

static enum rc fail(const char *path, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", path, strerror(errno));
}

static enum rc sync_folder(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum rc rc = fd >= 0 && fsync(fd) == 0 ? RC_OK : fail(path, err);

    if (fd >= 0)
        close(fd);
    return rc;
}

enum rc upkeep_publish(const char *part, int fd, const char *to, struct err *err)
{
    AUTO(mem_autofree) char *folder = mem_strdup(to);
    char *slash = strrchr(folder, '/');

    if (slash == folder)
        slash++;
    if (slash != NULL)
        *slash = '\0';
    if (fsync(fd) != 0)
        return fail(part, err);
    if (rename(part, to) != 0)
        return fail(to, err);
    return sync_folder(slash != NULL ? folder : ".", err);
}

enum rc upkeep_check(const char *db, filter_read_fn *read_filter, upkeep_fault_fn *fn, void *ctx,
                     struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(db, &calls, err);

    return rc == RC_OK ? calls->check(db, read_filter, fn, ctx, err) : rc;
}

struct str upkeep_shown(struct arena *a, const char *db)
{
    const struct upkeep_calls *calls = NULL;

    return calls_for(db, &calls, NULL) == RC_OK && calls->shown != NULL ? calls->shown(a, db) : str_dup(a, str_from(db));
}

enum rc upkeep_compact(const char *db, int64_t *before, int64_t *after, struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(db, &calls, err);

    if (rc == RC_OK && calls->compact == NULL)
        return say_instead("it uses space again by itself (autovacuum), and VACUUM FULL gives it back", err);
    return rc == RC_OK ? calls->compact(db, before, after, err) : rc;
}
