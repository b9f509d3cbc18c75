/* storage/sqlite/shape.c - see shape.h. */
#include "storage/sqlite/shape.h"

#include "storage/sqlite/db_priv.h"

enum rc shape_of_new(struct arena *a, struct str *out, struct err *err)
{
    struct db *db = NULL;
    enum rc rc = db_open_file(":memory:", SQLITE_OPEN_READWRITE, &db, err);

    if (rc != RC_OK)
        return rc;
    rc = db_upgrade(db, err);
    if (rc == RC_OK)
        rc = stmt_text(db, stmt_start(db, err, "SELECT json_group_array(json_array(kind, name, part)) FROM (" SHAPE_ROWS ")", ""),
                       a, out, err);
    db_close(&db);
    return rc;
}
