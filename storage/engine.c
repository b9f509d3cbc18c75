/* storage/engine.c - which engine an address belongs to. */
#include "storage/engine.h"

enum rc engine_of(struct str address, const struct engine **out, struct err *err)
{
    if (str_starts(address, STR("postgresql://")) || str_starts(address, STR("postgres://")))
        return err_set(err, RC_UNSUPPORTED,
                       "the database is a PostgreSQL, but this Feedmill keeps its data in a file");
    *out = &engine_sqlite;
    return RC_OK;
}
