/* storage/sqlite/seal_feeds.c - see seal_feeds.h. */
#include "storage/sqlite/seal_feeds.h"

#include "base/log.h"
#include "storage/sealed.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/stmt.h"

/* A row that has a secret in plain. A list of them is read whole before the first is changed. */
struct plain {
    struct plain *next;
    int64_t id;     /* of the feed; of an alias: 0 */
    struct str url; /* of an alias */
    struct str credential, secrets;
};

/* What does not begin as our key would have it is in plain, or sealed with another key. A row under
 * the sealed credential may be there already, if a daemon had the database without the key for a
 * while. Then the one in plain stays. */
#define NOT_OURS(column) "(" column " <> '' AND substr(" column ", 1, length(?1)) <> ?1)"
static const char sql_plain_feeds[] = "SELECT id, url, credential, secrets FROM feeds"
                                      " WHERE " NOT_OURS("credential") " OR " NOT_OURS("secrets");
static const char sql_plain_aliases[] = "SELECT 0, url, credential, NULL FROM aliases"
                                        " WHERE " NOT_OURS("credential");
static const char sql_seal_secrets[] = "UPDATE feeds SET secrets = ?2 WHERE id = ?1 AND secrets <> ?2";
static const char sql_seal_feed[] =
    "UPDATE OR IGNORE feeds SET credential = ?2 WHERE id = ?1 AND credential <> ?2";
static const char sql_seal_alias[] =
    "UPDATE OR IGNORE aliases SET credential = ?3 WHERE url = ?1 AND credential = ?2 AND credential <> ?3";

static enum rc read_plain(struct db *db, const char *sql, struct str ours, struct arena *a,
                          struct plain **list, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, sql, "s", ours);
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

static enum rc seal_alias(struct db *db, const struct seal_key *key, const struct plain *p,
                          struct arena *a, int64_t *n_sealed, struct err *err)
{
    enum rc rc = stmt_run(db, err, sql_seal_alias, "sss", p->url, p->credential,
                          sealed_credential(a, key, p->credential));

    *n_sealed += rc == RC_OK ? stmt_changes(db) : 0;
    return rc;
}

static enum rc seal_row(struct db *db, const struct seal_key *key, const struct plain *p,
                        struct arena *a, int64_t *n_sealed, struct err *err)
{
    enum rc rc =
        stmt_run(db, err, sql_seal_secrets, "is", p->id, sealed_secret(a, key, p->secrets));

    *n_sealed += rc == RC_OK ? stmt_changes(db) : 0;
    if (rc != RC_OK || p->credential.len == 0 || seal_is_sealed(p->credential))
        return rc;
    rc = stmt_run(db, err, sql_seal_feed, "is", p->id, sealed_credential(a, key, p->credential));
    *n_sealed += rc == RC_OK ? stmt_changes(db) : 0;
    if (rc == RC_OK && stmt_changes(db) == 0)
        log_warn("storage", "not_sealed", "feed=%lld effect=credential_stays_in_plain",
                 (long long)p->id);
    return rc;
}

static size_t n_others(const struct plain *list, struct str ours)
{
    size_t n = 0;

    for (; list != NULL; list = list->next) {
        n += seal_is_sealed(list->credential) && !str_starts(list->credential, ours);
        n += seal_is_sealed(list->secrets) && !str_starts(list->secrets, ours);
    }
    return n;
}

/* Pages that were freed, moved or filled again before may have what was in plain. So the file is
 * written anew once; until that is done, it is noted as open. */
#define OPEN_NOTE "plain_pages"

static enum rc seal_all(struct db *db, const struct seal_key *key, const struct plain *list,
                        struct arena *a, struct err *err)
{
    enum rc rc = db_begin(db, err);
    int64_t n_sealed = 0;

    for (; list != NULL && rc == RC_OK; list = list->next)
        rc = list->id == 0 ? seal_alias(db, key, list, a, &n_sealed, err)
                           : seal_row(db, key, list, a, &n_sealed, err);
    if (rc == RC_OK && n_sealed > 0)
        rc = db_meta_set_number(db, OPEN_NOTE, 1, err);
    if (rc == RC_OK)
        rc = db_commit(db, err);
    if (rc != RC_OK)
        db_rollback(db);
    return rc;
}

/* The copy that VACUUM makes is as large as the database, so it is not to be in memory; and it goes through
 * the write-ahead log. Without room for both the daemon works, and tries again when it is started next. The
 * note goes last: until the checkpoint the file has its old pages. */
static void write_anew(struct db *db)
{
    struct err err = ERR_INIT;
    int64_t is_open = 0;

    if (db_meta_number(db, OPEN_NOTE, &is_open, &err) == RC_OK && is_open == 0)
        return;
    log_info("storage", "written_anew", "cause=secrets_were_in_plain");
    if (db_script(db, "PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;", &err) ==
            RC_OK &&
        db_checkpoint(db, 0) && db_meta_set_number(db, OPEN_NOTE, 0, &err) == RC_OK)
        return;
    log_warn("storage", "not_written_anew",
             "error=%s effect=free_pages_may_have_secrets_in_plain_until_the_next_start",
             log_quote(str_from(err.text)));
}

enum rc seal_feeds(struct db *db, const struct seal_key *key, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str ours = seal_beginning(&a, key);
    struct plain *list = NULL;
    int64_t was;
    enum rc rc = read_plain(db, sql_plain_feeds, ours, &a, &list, err);

    if (rc == RC_OK)
        rc = read_plain(db, sql_plain_aliases, ours, &a, &list, err);
    if (rc == RC_OK)
        rc = sealed_check_others(n_others(list, ours), err);
    if (rc == RC_OK && list != NULL) {
        rc = stmt_number(db, stmt_start(db, err, "PRAGMA secure_delete = 1", ""), &was, err);
        if (rc == RC_OK)
            rc = seal_all(db, key, list, &a, err);
        if (rc == RC_OK)
            rc = stmt_number(db, stmt_start(db, err, "PRAGMA secure_delete = 0", ""), &was, err);
    }
    if (rc == RC_OK)
        write_anew(db);
    return rc;
}
