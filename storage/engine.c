/* storage/engine.c - which engine an address belongs to. */
#include "storage/engine.h"

enum rc engine_of(struct str address, const struct engine **out, struct err *err UNUSED)
{
    if (!str_starts(address, STR("postgresql://")) && !str_starts(address, STR("postgres://"))) {
        *out = &engine_sqlite;
        return RC_OK;
    }
#ifdef WITH_POSTGRESQL
    *out = &engine_postgresql;
    return RC_OK;
#else
    return err_set(err, RC_UNSUPPORTED,
                   "the database is a PostgreSQL, but this Feedmill was built without it");
#endif
}
