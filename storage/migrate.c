/* storage/migrate.c - which side is the file. */
#include "storage/migrate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "storage/engine.h"
#ifdef WITH_POSTGRESQL
#include "storage/pg/migrate.h"
#endif

enum rc migrate_run(const struct migrate_cfg *cfg, migrate_fn *fn, void *ctx, struct err *err)
{
    const struct engine *from, *to;
    enum rc rc = engine_of(str_from(cfg->from), &from, err);

    if (rc == RC_OK)
        rc = engine_of(str_from(cfg->to), &to, err);
    if (rc != RC_OK)
        return rc;
    if (from == to)
        return err_set(err, RC_INPUT,
                       "one side must be a file and the other an address of PostgreSQL");
    if ((from == &engine_sqlite || cfg->check) &&
        access(from == &engine_sqlite ? cfg->from : cfg->to, R_OK) != 0)
        return err_set(err, RC_IO, "%s: %s", from == &engine_sqlite ? cfg->from : cfg->to,
                       strerror(errno));
#ifdef WITH_POSTGRESQL
    return pg_migrate(cfg, from == &engine_sqlite, fn, ctx, err);
#else
    (void)fn;
    (void)ctx;
    return RC_UNSUPPORTED;
#endif
}
