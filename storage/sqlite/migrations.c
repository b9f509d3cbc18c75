/* storage/sqlite/migrations.c - brings a file to the newest schema (storage/migrations.h). */
#include <inttypes.h>

#include "storage/migrations.h"
#include "storage/schema_version.h"
#include "storage/sqlite/db_priv.h"

static enum rc set_version(struct db *db, int version, struct err *err)
{
    char sql[64];

    sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version = %d", version);
    return db_script(db, sql, err);
}

static enum rc migrate_step(struct db *db, const struct migration *m, struct err *err)
{
    enum rc rc = db_script(db, "BEGIN IMMEDIATE", err);

    if (rc == RC_OK)
        rc = db_script(db, m->sqlite, err);
    if (rc == RC_OK)
        rc = set_version(db, m->to, err);
    if (rc == RC_OK)
        rc = db_script(db, "COMMIT", err);
    if (rc != RC_OK) {
        db_rollback(db);
        return err_prefix(err, "schema from version %d to %d", m->from, m->to);
    }
    return RC_OK;
}

enum rc db_migrate(struct db *db, const struct migration *list, size_t n, int target,
                   struct err *err)
{
    int64_t version = 0;
    size_t i;
    enum rc rc;

    for (;;) {
        rc = db_number(db, "PRAGMA user_version", &version, err);
        if (rc != RC_OK || version == target)
            return rc;
        if (version > target)
            return err_set(err, RC_UNSUPPORTED,
                           "the database has schema version %" PRId64
                           ", and this program knows %d: "
                           "it belongs to a newer Feedmill",
                           version, target);
        for (i = 0; i < n && list[i].from != version; i++)
            ;
        if (i == n)
            return err_set(err, RC_UNSUPPORTED,
                           "the database has schema version %" PRId64
                           ", which this program cannot bring to %d",
                           version, target);
        rc = migrate_step(db, &list[i], err);
        if (rc != RC_OK)
            return rc;
    }
}

enum rc db_upgrade(struct db *db, struct err *err)
{
    return db_migrate(db, migrations, n_migrations, SCHEMA_VERSION, err);
}
