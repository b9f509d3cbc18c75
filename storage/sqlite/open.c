/* storage/sqlite/open.c - connections: pragmas, migrations, kept statements, transactions.
 *
 * synchronous=FULL in WAL mode: a commit returns when it is on disk, because other machines hold
 * what it announced as their cursor. */
#include "storage/sqlite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/sqlite/stmt.h"

#define APPLICATION_ID 0x46656564 /* "Feed" */
#define SCHEMA_VERSION 10
#define BUSY_MS 5000
#define LOG_PAGES 4000 /* a shorter write-ahead log is left alone */
#define N_SLOTS 256    /* a power of two, well above the number of statements in the sources */

struct slot {
    const char *sql;
    sqlite3_stmt *st;
};

struct db {
    sqlite3 *sq;
    int log_pages;
    size_t n_statements;
    struct slot slots[N_SLOTS]; /* open addressing by the text's address */
};

static const char schema_sql[] = {
#include "storage/schema.inc"
    0};

/* A new file has version 0. Each later version adds a row, and schema.sql stays the newest whole:
 * the row from 0 always leads straight to it. */
static const struct migration migrations[] = {
    {0, SCHEMA_VERSION, schema_sql},
    {1, 2,
     "ALTER TABLE feeds ADD COLUMN n_items INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET n_items = (SELECT count(*) FROM entries e WHERE e.feed_id = feeds.id);"
     "CREATE TABLE head_log ("
     " feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE,"
     " since_seq INTEGER NOT NULL, url TEXT NOT NULL, title TEXT, site_url TEXT,"
     " head TEXT NOT NULL, ext TEXT NOT NULL,"
     " PRIMARY KEY (feed_id, since_seq)) STRICT, WITHOUT ROWID;"
     "INSERT INTO head_log (feed_id, since_seq, url, title, site_url, head, ext)"
     " SELECT f.id, 0, f.url, f.title, f.site_url, h.head, h.ext"
     " FROM feeds f JOIN heads h ON h.feed_id = f.id;"},
    {2, 3,
     "ALTER TABLE feeds ADD COLUMN raw_html INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE sub_feeds ADD COLUMN name TEXT;"
     "ALTER TABLE sub_feeds ADD COLUMN folder TEXT;"
     "ALTER TABLE sub_feeds ADD COLUMN category TEXT;"},
    {3, 4, "ALTER TABLE feeds ADD COLUMN n_pings INTEGER NOT NULL DEFAULT 0"},
    {4, 5, /* what is published is read whole the next time, so that its entries get marks */
     "ALTER TABLE feeds ADD COLUMN id_url TEXT;"
     "ALTER TABLE feeds ADD COLUMN id_rule INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN id_since_at INTEGER;"
     "ALTER TABLE feeds ADD COLUMN id_why TEXT;"
     "ALTER TABLE feeds ADD COLUMN id_against INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN id_better INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET id_url = url, body_hash = NULL, etag = NULL, last_modified = NULL;"
     "ALTER TABLE entries ADD COLUMN marks BLOB;"
     "ALTER TABLE entries ADD COLUMN id_url TEXT;"
     "CREATE TABLE entry_keys ("
     " feed_id INTEGER NOT NULL, key INTEGER NOT NULL, entry_id INTEGER NOT NULL,"
     " PRIMARY KEY (feed_id, key, entry_id)) STRICT, WITHOUT ROWID;"},
    {5, 6, /* feeds that name a hub are read whole the next time, so that it is found */
     "CREATE TABLE upstreams ("
     " token TEXT PRIMARY KEY, base_url TEXT NOT NULL, secret TEXT NOT NULL, hub TEXT NOT NULL,"
     " topic TEXT NOT NULL, feed_id INTEGER NOT NULL, is_current INTEGER NOT NULL,"
     " from_page INTEGER NOT NULL, for_subs INTEGER NOT NULL, state INTEGER NOT NULL,"
     " lease_end_at INTEGER, next_at INTEGER, ended_at INTEGER, n_errors INTEGER NOT NULL,"
     " error TEXT, trust INTEGER NOT NULL DEFAULT 0, delivered_at INTEGER) STRICT, WITHOUT ROWID;"
     "CREATE UNIQUE INDEX upstreams_feed ON upstreams (feed_id) WHERE is_current = 1;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL"
     " WHERE id IN (SELECT feed_id FROM heads WHERE head LIKE '%\"hub\"%');"},
    {6, 7,
     "CREATE TABLE hub_leases ( sub_id INTEGER PRIMARY KEY REFERENCES subscriptions (id) "
     "ON DELETE CASCADE, topic TEXT NOT NULL, callback TEXT NOT NULL, secret TEXT, "
     "verify_token TEXT, legacy INTEGER NOT NULL, renews INTEGER NOT NULL, lease_s INTEGER "
     "NOT NULL, ends_at INTEGER NOT NULL, renew_at INTEGER, UNIQUE (callback, topic) ) "
     "STRICT;"
     "CREATE INDEX hub_leases_end ON hub_leases (ends_at);"
     "CREATE INDEX hub_leases_renew ON hub_leases (renew_at) WHERE renew_at IS NOT NULL;"
     "CREATE TABLE hub_intents ( id INTEGER PRIMARY KEY AUTOINCREMENT, mode INTEGER NOT "
     "NULL, topic TEXT NOT NULL, callback TEXT NOT NULL, credential TEXT, secret TEXT, "
     "verify_token TEXT, reason TEXT, legacy INTEGER NOT NULL, renews INTEGER NOT NULL, "
     "waits INTEGER NOT NULL, "
     "lease_s INTEGER NOT NULL, feeds TEXT NOT NULL ) STRICT;"},
    {7, 8, /* feeds that have a past are read whole the next time, which leads there */
     "ALTER TABLE feeds ADD COLUMN complete INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN harvest_at INTEGER;"
     "ALTER TABLE feeds ADD COLUMN harvest_to INTEGER;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL;"
     "ALTER TABLE entries ADD COLUMN updated_us INTEGER;"
     "ALTER TABLE entries ADD COLUMN dead_at INTEGER;"
     "UPDATE entries SET updated_us = (SELECT 1000000 * coalesce(r.updated_at, r.published_at)"
     " FROM revisions r"
     " WHERE r.seq = entries.seq);"
     "UPDATE entries SET dead_at = d.at FROM (SELECT entry_id,"
     " max(max(coalesce(updated_at, 0), at_us / 1000000)) AS at FROM revisions WHERE kind = 2"
     " GROUP BY entry_id) AS d WHERE d.entry_id = entries.id;"
     "CREATE TABLE archives ("
     " feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE, url TEXT NOT NULL,"
     " state INTEGER NOT NULL DEFAULT 0, place INTEGER NOT NULL,"
     " walk INTEGER NOT NULL DEFAULT 0, try_at INTEGER NOT NULL DEFAULT 0,"
     " failures INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (feed_id, url)) STRICT, WITHOUT ROWID;"
     "CREATE INDEX archives_place ON archives (feed_id, state, place);"
     "CREATE TABLE graves ("
     " feed_id INTEGER NOT NULL REFERENCES feeds (id) ON DELETE CASCADE, uid TEXT NOT NULL,"
     " when_us INTEGER NOT NULL, PRIMARY KEY (feed_id, uid)) STRICT, WITHOUT ROWID;"},
    {8, 9, /* records that are there wait for their next version */
     "ALTER TABLE feeds ADD COLUMN content_failures INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE feeds ADD COLUMN content_wait_at INTEGER;"
     "CREATE TABLE contents ("
     " entry_id INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,"
     " feed_id INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0,"
     " form INTEGER NOT NULL DEFAULT 0, n_gone INTEGER NOT NULL DEFAULT 0, gone_at INTEGER,"
     " try_at INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0) STRICT;"
     "CREATE INDEX contents_open ON contents (feed_id, try_at, entry_id DESC) WHERE state = 0;"},
    {9, 10, /* Smart Feeds are read whole the next time, so that their cursor is found */
     "ALTER TABLE feeds ADD COLUMN cursor TEXT;"
     "ALTER TABLE feeds ADD COLUMN cursor_state INTEGER NOT NULL DEFAULT 0;"
     "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL WHERE id IN"
     " (SELECT feed_id FROM heads WHERE head LIKE '%//fanout.org/protocol/atom%');"},
};

static enum rc db_fail(struct db *db, struct err *err)
{
    return err_set(err, RC_IO, "database: %s", sqlite3_errmsg(db->sq));
}

static enum rc run_script(struct db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(db->sq, sql, NULL, NULL, NULL) == SQLITE_OK ? RC_OK : db_fail(db, err);
}

/* ---- statements ------------------------------------------------------------------------------ */

static sqlite3_stmt *prepared(struct db *db, const char *sql, struct err *err)
{
    size_t i = ((uintptr_t)sql >> 3) * 0x9E3779B1u % N_SLOTS;

    while (db->slots[i].sql != NULL && db->slots[i].sql != sql)
        i = (i + 1) % N_SLOTS;
    if (db->slots[i].sql == sql)
        return db->slots[i].st;
    ASSERT(db->n_statements < N_SLOTS / 2); /* statements are constants: their number is known */
    if (sqlite3_prepare_v3(db->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &db->slots[i].st, NULL) !=
        SQLITE_OK) {
        db_fail(db, err);
        return NULL;
    }
    db->slots[i].sql = sql;
    db->n_statements++;
    return db->slots[i].st;
}

static int bind_text(sqlite3_stmt *st, int i, struct str s)
{
    return sqlite3_bind_text64(st, i, s.len == 0 ? "" : s.ptr, s.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_one(sqlite3_stmt *st, int i, char kind, va_list *ap)
{
    int64_t n;
    struct str s;
    const unsigned char *h;

    switch (kind) {
    case 'i':
        return sqlite3_bind_int64(st, i, va_arg(*ap, int64_t));
    case 't':
        n = va_arg(*ap, int64_t);
        return n == TIME_UNKNOWN ? sqlite3_bind_null(st, i) : sqlite3_bind_int64(st, i, n);
    case 's':
        s = va_arg(*ap, struct str);
        return str_is_null(s) ? sqlite3_bind_null(st, i) : bind_text(st, i, s);
    case 'e':
        return bind_text(st, i, va_arg(*ap, struct str));
    case 'b':
        s = va_arg(*ap, struct str);
        return str_is_null(s) ? sqlite3_bind_null(st, i)
                              : sqlite3_bind_blob64(st, i, s.ptr, s.len, SQLITE_STATIC);
    default:
        ASSERT(kind == 'h');
        h = va_arg(*ap, const unsigned char *);
        return h == NULL ? sqlite3_bind_null(st, i)
                         : sqlite3_bind_blob(st, i, h, 16, SQLITE_STATIC);
    }
}

static sqlite3_stmt *start(struct db *db, struct err *err, const char *sql, const char *kinds,
                           va_list *ap)
{
    sqlite3_stmt *st = prepared(db, sql, err);
    int i;

    if (st == NULL)
        return NULL;
    ASSERT(!sqlite3_stmt_busy(st));
    ASSERT(sqlite3_bind_parameter_count(st) == (int)strlen(kinds));
    for (i = 0; kinds[i] != '\0'; i++) {
        if (bind_one(st, i + 1, kinds[i], ap) != SQLITE_OK) {
            db_fail(db, err);
            return NULL;
        }
    }
    return st;
}

sqlite3_stmt *stmt_start(struct db *db, struct err *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *st;
    va_list ap;

    va_start(ap, kinds);
    st = start(db, err, sql, kinds, &ap);
    va_end(ap);
    return st;
}

void stmt_end(sqlite3_stmt *st)
{
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
}

int stmt_next(struct db *db, sqlite3_stmt *st, struct err *err)
{
    int got = sqlite3_step(st);

    if (got == SQLITE_ROW)
        return 1;
    if (got != SQLITE_DONE)
        db_fail(db, err);
    stmt_end(st);
    return got == SQLITE_DONE ? 0 : -1;
}

enum rc stmt_run(struct db *db, struct err *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *st;
    va_list ap;
    int got;

    va_start(ap, kinds);
    st = start(db, err, sql, kinds, &ap);
    va_end(ap);
    if (st == NULL)
        return RC_IO;
    while ((got = stmt_next(db, st, err)) > 0)
        ;
    return got == 0 ? RC_OK : RC_IO;
}

/* The first row, to be ended by stmt_end() when there is one. */
static enum rc first_row(struct db *db, sqlite3_stmt *st, bool *found, struct err *err)
{
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    *found = got > 0;
    return got < 0 ? RC_IO : RC_OK;
}

enum rc stmt_number(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err)
{
    bool found;
    enum rc rc = first_row(db, st, &found, err);

    *out = found ? col_int(st, 0) : 0;
    if (found)
        stmt_end(st);
    return rc;
}

enum rc stmt_time(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err)
{
    bool found;
    enum rc rc = first_row(db, st, &found, err);

    *out = found ? col_time(st, 0) : TIME_UNKNOWN;
    if (found)
        stmt_end(st);
    return rc;
}

enum rc stmt_text(struct db *db, sqlite3_stmt *st, struct arena *a, struct str *out,
                  struct err *err)
{
    bool found;
    enum rc rc = first_row(db, st, &found, err);

    *out = found ? col_str(st, 0, a) : STR_NULL;
    if (found)
        stmt_end(st);
    return rc;
}

enum rc stmt_any(struct db *db, sqlite3_stmt *st, bool *out, struct err *err)
{
    enum rc rc = first_row(db, st, out, err);

    if (*out)
        stmt_end(st);
    return rc;
}

int64_t stmt_changes(struct db *db)
{
    return sqlite3_changes64(db->sq);
}

int64_t stmt_rowid(struct db *db)
{
    return sqlite3_last_insert_rowid(db->sq);
}

struct str col_str(sqlite3_stmt *st, int i, struct arena *a)
{
    const unsigned char *p = sqlite3_column_text(st, i);
    size_t n = (size_t)sqlite3_column_bytes(st, i);

    return p == NULL ? STR_NULL : str_of(arena_copy(a, p, n), n);
}

struct str col_bytes(sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(st, i);

    return p == NULL ? STR_NULL : str_of(p, (size_t)sqlite3_column_bytes(st, i));
}

int64_t col_time(sqlite3_stmt *st, int i)
{
    return sqlite3_column_type(st, i) == SQLITE_NULL ? TIME_UNKNOWN : sqlite3_column_int64(st, i);
}

void col_hash(sqlite3_stmt *st, int i, unsigned char out[16])
{
    const void *p = sqlite3_column_blob(st, i);

    if (p != NULL && sqlite3_column_bytes(st, i) == 16)
        memcpy(out, p, 16);
    else
        memset(out, 0, 16);
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum rc pragma_number(struct db *db, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *st = NULL;
    enum rc rc = RC_OK;

    if (sqlite3_prepare_v2(db->sq, sql, -1, &st, NULL) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_ROW)
        rc = db_fail(db, err);
    else
        *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc;
}

static enum rc set_version(struct db *db, int version, struct err *err)
{
    char sql[64];

    sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version = %d", version);
    return run_script(db, sql, err);
}

static enum rc migrate_step(struct db *db, const struct migration *m, struct err *err)
{
    enum rc rc = run_script(db, "BEGIN IMMEDIATE", err);

    if (rc == RC_OK)
        rc = run_script(db, m->sql, err);
    if (rc == RC_OK)
        rc = set_version(db, m->to, err);
    if (rc == RC_OK)
        rc = run_script(db, "COMMIT", err);
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
        rc = pragma_number(db, "PRAGMA user_version", &version, err);
        if (rc != RC_OK || version == target)
            return rc;
        if (version > target)
            return err_set(err, RC_UNSUPPORTED,
                           "the database has schema version %lld, this program knows %d: it "
                           "belongs to a newer Feedmill",
                           (long long)version, target);
        for (i = 0; i < n && list[i].from != version; i++)
            ;
        if (i == n)
            return err_set(err, RC_UNSUPPORTED,
                           "the database has schema version %lld, from which no way leads to %d",
                           (long long)version, target);
        rc = migrate_step(db, &list[i], err);
        if (rc != RC_OK)
            return rc;
    }
}

/* Ours, or empty? An empty file is claimed. */
static enum rc claim(struct db *db, const char *path, struct err *err)
{
    int64_t id = 0, n = 0;
    char sql[64];

    if (pragma_number(db, "PRAGMA application_id", &id, NULL) != RC_OK ||
        pragma_number(db, "SELECT count(*) FROM sqlite_schema", &n, NULL) != RC_OK)
        return sqlite3_errcode(db->sq) == SQLITE_NOTADB
                   ? err_set(err, RC_UNSUPPORTED, "%s is no database of Feedmill", path)
                   : db_fail(db, err);
    if (id == APPLICATION_ID)
        return RC_OK;
    if (id != 0 || n != 0)
        return err_set(err, RC_UNSUPPORTED, "%s is a database of another program", path);
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id = %d", APPLICATION_ID);
    return run_script(db, sql, err);
}

static enum rc make_identity(struct db *db, struct err *err)
{
    static const char sql[] = "INSERT OR IGNORE INTO meta (name, value) VALUES (?1, ?2)";
    unsigned char random[32];
    char id[37], secret[2 * sizeof random + 1];
    enum rc rc;

    digest_uuid4(id);
    digest_random(random, sizeof random);
    digest_hex(random, sizeof random, secret);
    rc = stmt_run(db, err, sql, "ss", STR("log_id"), str_from(id));
    if (rc == RC_OK)
        rc = stmt_run(db, err, sql, "ss", STR("secret"), str_from(secret));
    return rc;
}

static enum rc open_file(const char *path, int flags, struct db **out, struct err *err)
{
    struct db *db = NEW(struct db);
    enum rc rc = RC_OK;

    if (sqlite3_open_v2(path, &db->sq, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        rc = err_set(err, RC_IO, "cannot open the database %s: %s", path,
                     db->sq == NULL ? "no memory" : sqlite3_errmsg(db->sq));
        db_close(&db);
        return rc;
    }
    sqlite3_extended_result_codes(db->sq, 1);
    sqlite3_busy_timeout(db->sq, BUSY_MS);
    *out = db;
    return RC_OK;
}

/* Made here rather than by the engine, so that nobody else can read what is in it, not even for a
 * moment; the engine gives its companion files the same mode. */
static enum rc make_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, RC_IO, "cannot open the database %s: %s", path, strerror(errno));
    close(fd);
    return RC_OK;
}

static int on_log_grown(void *ctx, sqlite3 *sq, const char *name UNUSED, int pages)
{
    struct db *db = ctx;

    db->log_pages = pages;
    if (pages >= LOG_PAGES)
        sqlite3_wal_checkpoint_v2(sq, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

enum rc db_open_writer(const char *path, struct db **out, struct err *err)
{
    struct db *db = NULL;
    enum rc rc = make_file(path, err);

    if (rc == RC_OK)
        rc = open_file(path, SQLITE_OPEN_READWRITE, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = claim(db, path, err);
    if (rc == RC_OK)
        rc = run_script(db,
                        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                        "PRAGMA secure_delete = OFF; PRAGMA foreign_keys = ON;"
                        "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;"
                        "PRAGMA journal_size_limit = 67108864;",
                        err);
    if (rc == RC_OK)
        rc = db_migrate(db, migrations, ARRAY_LEN(migrations), SCHEMA_VERSION, err);
    if (rc == RC_OK)
        rc = make_identity(db, err);
    if (rc == RC_OK)
        sqlite3_wal_hook(db->sq, on_log_grown, db); /* in the place of the engine's own */
    if (rc != RC_OK)
        db_close(&db);
    else
        *out = db;
    return rc;
}

enum rc db_open_reader(const char *path, struct db **out, struct err *err)
{
    struct db *db = NULL;
    /* not SQLITE_OPEN_READONLY: a reader may have to make the shared-memory file anew */
    enum rc rc = open_file(path, SQLITE_OPEN_READWRITE, &db, err);

    if (rc != RC_OK)
        return rc;
    rc = run_script(db,
                    "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;"
                    "PRAGMA cache_size = -16384;",
                    err);
    if (rc != RC_OK)
        db_close(&db);
    else
        *out = db;
    return rc;
}

void db_close(struct db **dbp)
{
    struct db *db = *dbp;
    size_t i;

    if (db == NULL)
        return;
    for (i = 0; i < N_SLOTS; i++)
        sqlite3_finalize(db->slots[i].st);
    if (sqlite3_close(db->sq) != SQLITE_OK)
        log_error("storage", "close_failed", "error=%s",
                  log_quote(str_from(sqlite3_errmsg(db->sq))));
    mem_free(db);
    *dbp = NULL;
}

struct sqlite3 *db_handle(struct db *db)
{
    return db->sq;
}

/* ---- transactions ---------------------------------------------------------------------------- */

enum rc db_begin(struct db *db, struct err *err)
{
    return stmt_run(db, err, "BEGIN IMMEDIATE", "");
}

enum rc db_commit(struct db *db, struct err *err)
{
    return stmt_run(db, err, "COMMIT", "");
}

void db_rollback(struct db *db)
{
    if (db_in_transaction(db))
        sqlite3_exec(db->sq, "ROLLBACK", NULL, NULL, NULL);
}

enum rc db_savepoint(struct db *db, struct err *err)
{
    return stmt_run(db, err, "SAVEPOINT op", "");
}

enum rc db_release(struct db *db, struct err *err)
{
    return stmt_run(db, err, "RELEASE op", "");
}

enum rc db_undo(struct db *db, struct err *err)
{
    enum rc rc = stmt_run(db, err, "ROLLBACK TO op", "");

    return rc == RC_OK ? db_release(db, err) : rc;
}

bool db_in_transaction(const struct db *db)
{
    return sqlite3_get_autocommit(db->sq) == 0;
}

enum rc db_snapshot(struct db *db, struct err *err)
{
    return stmt_run(db, err, "BEGIN", "");
}

void db_snapshot_end(struct db *db)
{
    if (stmt_run(db, NULL, "COMMIT", "") != RC_OK)
        db_rollback(db);
}

bool db_checkpoint(struct db *db, int wait_ms)
{
    int got;

    sqlite3_busy_timeout(db->sq, wait_ms);
    got = sqlite3_wal_checkpoint_v2(db->sq, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(db->sq, BUSY_MS);
    return got == SQLITE_OK;
}

int db_log_pages(const struct db *db)
{
    return db->log_pages;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static const char meta_get[] = "SELECT value FROM meta WHERE name = ?1";

enum rc db_meta_number(struct db *db, const char *name, int64_t *out, struct err *err)
{
    return stmt_number(db, stmt_start(db, err, meta_get, "s", str_from(name)), out, err);
}

enum rc db_meta_text(struct db *db, const char *name, struct arena *a, struct str *out,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, meta_get, "s", str_from(name));

    return stmt_text(db, st, a, out, err);
}

enum rc db_meta_set_number(struct db *db, const char *name, int64_t n, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    "si", str_from(name), n);
}
