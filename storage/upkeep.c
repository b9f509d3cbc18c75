/* storage/upkeep.c - whose database it is. */
#include "storage/upkeep.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "storage/engine.h"

/* The calls for this database. Both engines exist even where one was not built in. */
static enum rc calls_for(const char *db, const char *instead, const struct upkeep_calls **out,
                         struct err *err)
{
    const struct engine *engine;
    enum rc rc = engine_of(str_from(db), &engine, err);

    if (rc != RC_OK)
        return rc;
    if (engine->upkeep == NULL)
        return err_set(err, RC_UNSUPPORTED, "PostgreSQL has its own programs for that: %s",
                       instead);
    if (access(db, R_OK) != 0)
        return err_set(err, RC_IO, "%s: %s", db, strerror(errno));
    *out = engine->upkeep;
    return RC_OK;
}

enum rc upkeep_backup(const char *db, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(db, "pg_dump, or pg_basebackup with an archive of its log", &calls, err);

    return rc == RC_OK ? calls->backup(db, to, fn, ctx, err) : rc;
}

enum rc upkeep_check(const char *db, upkeep_fault_fn *fn, void *ctx, struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(db, "pg_amcheck", &calls, err);

    return rc == RC_OK ? calls->check(db, fn, ctx, err) : rc;
}

enum rc upkeep_compact(const char *db, int64_t *before, int64_t *after, struct err *err)
{
    const struct upkeep_calls *calls = NULL;
    enum rc rc = calls_for(
        db, "it reuses space by itself (autovacuum), and VACUUM FULL gives it back", &calls, err);

    return rc == RC_OK ? calls->compact(db, before, after, err) : rc;
}
