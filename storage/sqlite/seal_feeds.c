/* storage/sqlite/seal_feeds.c - see seal_feeds.h. */
#include "storage/sqlite/seal_feeds.h"

#include "base/log.h"
#include "storage/sealed.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/stmt.h"

/* A row that has a secret in plain. A list of them is read whole before the first is changed. */
struct plain {
    struct plain *next;
    int64_t id; /* of the feed */
    bool is_alias;
    struct str url; /* of an alias */
    struct str credential, secrets;
};

/* What does not begin as our key would have it is in plain, or sealed with another key. A row under
 * the sealed credential may be there already, if a daemon had the database without the key for a
 * while. Then the one in plain stays. */
#define NOT_OURS(column) "(" column " <> '' AND substr(" column ", 1, length(?1)) <> ?1)"
static const char sql_plain_feeds[] = "SELECT id, 0, url, credential, secrets FROM feeds"
                                      " WHERE " NOT_OURS("credential") " OR " NOT_OURS("secrets");
static const char sql_plain_aliases[] = "SELECT feed_id, 1, url, credential, NULL FROM aliases"
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
                            .is_alias = col_int(st, 1) != 0,
                            .url = col_str(st, 2, a),
                            .credential = col_str(st, 3, a),
                            .secrets = col_str(st, 4, a)};
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

static bool is_of_other(struct str text, struct str ours)
{
    return seal_is_sealed(text) && !str_starts(text, ours);
}

static enum rc check_others(const struct plain *list, struct str ours, struct arena *a, struct err *err)
{
    int64_t *ids;
    size_t n = 0;

    for (const struct plain *p = list; p != NULL; p = p->next)
        n++;
    ids = ARENA_ARRAY(a, int64_t, n + 1);
    for (n = 0; list != NULL; list = list->next)
        if (is_of_other(list->credential, ours) || is_of_other(list->secrets, ours))
            ids[n++] = list->id;
    return sealed_check_others(ids, n, err);
}

/* The key that the database was given before; null: none. */
static enum rc read_noted(struct db *db, struct arena *a, struct str *out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, "SELECT key_id FROM sealing WHERE one = 1", "");
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    *out = got > 0 ? col_str(st, 0, a) : STR_NULL;
    if (got > 0)
        stmt_end(st);
    return got < 0 ? RC_IO : RC_OK;
}

/* Pages that were freed, moved or filled again before may have what was in plain. So the file is
 * written anew once; until that is done, it is noted as open: how many starts have tried it, and one. */
#define OPEN_NOTE "plain_pages"
#define TRIES 5

static enum rc seal_all(struct db *db, const struct seal_key *key, const struct plain *list,
                        struct arena *a, struct err *err)
{
    enum rc rc = db_begin(db, err);
    int64_t n_sealed = 0;

    for (; list != NULL && rc == RC_OK; list = list->next)
        rc = list->is_alias ? seal_alias(db, key, list, a, &n_sealed, err)
                            : seal_row(db, key, list, a, &n_sealed, err);
    if (rc == RC_OK)
        rc = stmt_run(db, err, "INSERT OR REPLACE INTO sealing (one, key_id) VALUES (1, ?1)", "s",
                      sealed_key_id(a, key));
    if (rc == RC_OK && n_sealed > 0)
        rc = db_meta_set_number(db, OPEN_NOTE, 1, err);
    if (rc == RC_OK)
        rc = db_commit(db, err);
    if (rc != RC_OK)
        db_rollback(db);
    return rc;
}

/* The copy that VACUUM makes is as large as the database, so it is not to be in memory; and it goes through
 * the write-ahead log. Without room for both the daemon works, and tries again when it is started next, a few times. The
 * note goes last: until the checkpoint the file has its old pages. */
static enum rc vacuum(struct db *db, struct err *err)
{
    enum rc rc = db_script(db, "PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;", err);

    if (rc == RC_OK && !db_checkpoint(db, 0))
        rc = err_set(err, RC_AGAIN, "another program reads the file");
    return rc;
}

static void write_anew(struct db *db)
{
    struct err err = ERR_INIT;
    int64_t note = 0;

    if (db_meta_number(db, OPEN_NOTE, &note, &err) == RC_OK && note == 0)
        return;
    log_info("storage", "written_anew", "cause=secrets_were_in_plain");
    if (vacuum(db, &err) == RC_OK && db_meta_set_number(db, OPEN_NOTE, 0, &err) == RC_OK)
        return;
    note = note >= TRIES ? 0 : note + 1;
    if (db_meta_set_number(db, OPEN_NOTE, note, NULL) != RC_OK || note > 0)
        log_warn("storage", "not_written_anew", "error=%s effect=free_pages_may_have_secrets_in_plain_until_the_next_start",
                 log_quote(str_from(err.text)));
    else
        log_warn("storage", "never_written_anew",
                 "error=%s starts=%d effect=free_pages_may_have_secrets_in_plain what=%s", log_quote(str_from(err.text)), TRIES,
                 log_quote(STR("this is not tried again: stop the daemon and run VACUUM by hand, or copy the database with "
                               "feedmill backup, and delete the old file")));
}

static enum rc seal_with(struct db *db, const struct seal_key *key, const struct plain *list,
                         struct arena *a, struct err *err)
{
    int64_t was;
    enum rc rc = stmt_number(db, stmt_start(db, err, "PRAGMA secure_delete = 1", ""), &was, err);

    if (rc == RC_OK)
        rc = seal_all(db, key, list, a, err);
    if (rc == RC_OK)
        rc = stmt_number(db, stmt_start(db, err, "PRAGMA secure_delete = 0", ""), &was, err);
    return rc;
}

enum rc seal_feeds(struct db *db, const struct seal_key *key, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct plain *list = NULL;
    struct str ours, noted;
    enum rc rc;

    if (key == NULL) {
        rc = read_noted(db, &a, &noted, err);
        if (rc != RC_OK || str_is_null(noted))
            return rc; /* and a start writes nothing: the disk may be full */
        sealed_warn_keyless(noted);
        return stmt_run(db, err, "DELETE FROM sealing", "");
    }
    ours = seal_beginning(&a, key);
    rc = read_plain(db, sql_plain_feeds, ours, &a, &list, err);
    if (rc == RC_OK)
        rc = read_plain(db, sql_plain_aliases, ours, &a, &list, err);
    if (rc == RC_OK)
        rc = check_others(list, ours, &a, err);
    if (rc == RC_OK)
        rc = read_noted(db, &a, &noted, err);
    if (rc == RC_OK)
        rc = sealed_check_noted(noted, sealed_key_id(&a, key), err);
    if (rc == RC_OK && (list != NULL || str_is_null(noted)))
        rc = seal_with(db, key, list, &a, err);
    if (rc == RC_OK)
        write_anew(db);
    return rc;
}
