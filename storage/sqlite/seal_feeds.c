/* storage/sqlite/seal_feeds.c - see seal_feeds.h. */
#include "storage/sqlite/seal_feeds.h"

#include "base/log.h"
#include "storage/sealed.h"
#include "storage/sqlite/stmt.h"

/* A row that has a secret in plain. A list of them is read whole before the first is changed. */
struct plain {
    struct plain *next;
    int64_t id;     /* of the feed; of an alias: 0 */
    struct str url; /* of an alias */
    struct str credential, secrets;
};

/* A row under the sealed credential may be there already, if a daemon had the database without the
 * key for a while. Then the one in plain stays. */
static const char sql_plain_feeds[] =
    "SELECT id, url, credential, secrets FROM feeds"
    " WHERE (credential <> '' AND unicode(credential) <> 1) OR unicode(secrets) <> 1";
static const char sql_plain_aliases[] = "SELECT 0, url, credential, NULL FROM aliases"
                                        " WHERE credential <> '' AND unicode(credential) <> 1";
static const char sql_seal_secrets[] = "UPDATE feeds SET secrets = ?2 WHERE id = ?1";
static const char sql_seal_feed[] = "UPDATE OR IGNORE feeds SET credential = ?2 WHERE id = ?1";
static const char sql_seal_alias[] =
    "UPDATE OR IGNORE aliases SET credential = ?3 WHERE url = ?1 AND credential = ?2";

static enum rc read_plain(struct db *db, const char *sql, struct arena *a, struct plain **list,
                          struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, sql, "");
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct plain *p = ARENA_NEW(a, struct plain);

        *p = (struct plain){.next = *list,
                            .id = col_int(st, 0),
                            .url = col_str(st, 1, a),
                            .credential = col_str(st, 2, a),
                            .secrets = col_str(st, 3, a)};
        *list = p;
    }
    return got < 0 ? RC_IO : RC_OK;
}

static enum rc seal_row(struct db *db, const struct seal_key *key, const struct plain *p,
                        struct arena *a, struct err *err)
{
    struct str credential = sealed_credential(a, key, p->credential);
    enum rc rc;

    if (p->id == 0)
        return stmt_run(db, err, sql_seal_alias, "sss", p->url, p->credential, credential);
    rc = stmt_run(db, err, sql_seal_secrets, "is", p->id, sealed_secret(a, key, p->secrets));
    if (rc != RC_OK || p->credential.len == 0)
        return rc;
    rc = stmt_run(db, err, sql_seal_feed, "is", p->id, credential);
    if (rc == RC_OK && stmt_changes(db) == 0)
        log_warn("storage", "not_sealed", "feed=%lld effect=credential_stays_in_plain",
                 (long long)p->id);
    return rc;
}

static enum rc seal_all(struct db *db, const struct seal_key *key, const struct plain *list,
                        struct arena *a, struct err *err)
{
    enum rc rc = db_begin(db, err);

    for (; list != NULL && rc == RC_OK; list = list->next)
        rc = seal_row(db, key, list, a, err);
    if (rc == RC_OK)
        rc = db_commit(db, err);
    if (rc != RC_OK)
        db_rollback(db);
    return rc;
}

enum rc seal_feeds(struct db *db, const struct seal_key *key, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct plain *list = NULL;
    int64_t was;
    enum rc rc = read_plain(db, sql_plain_feeds, &a, &list, err);

    if (rc == RC_OK)
        rc = read_plain(db, sql_plain_aliases, &a, &list, err);
    if (rc != RC_OK || list == NULL)
        return rc;
    rc = stmt_number(db, stmt_start(db, err, "PRAGMA secure_delete = 1", ""), &was, err);
    if (rc == RC_OK)
        rc = seal_all(db, key, list, &a, err);
    if (rc == RC_OK)
        rc = stmt_number(db, stmt_start(db, err, "PRAGMA secure_delete = 0", ""), &was, err);
    if (rc == RC_OK)
        (void)db_checkpoint(db, 0);
    return rc;
}
