/* storage/sqlite/open.c - opens, checks and closes connections.
 *
 * WAL mode with synchronous=FULL: a commit returns when it is on disk. This is necessary because
 * other machines keep the announced positions as their cursors. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/compiler.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pulse.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/file.h"
#include "storage/sqlite/writer.h"

#define PROGRESS_STEPS 4000 /* of the virtual machine: some forty microseconds */

/* Is it a database of Feedmill? An empty file becomes one. */
static enum rc claim(struct db *db, const char *path, struct err *err)
{
    int64_t id = 0, n = 0;
    char sql[100];

    if (db_number(db, "PRAGMA application_id", &id, NULL) != RC_OK ||
        db_number(db, "SELECT count(*) FROM sqlite_schema", &n, NULL) != RC_OK)
        return sqlite3_errcode(OWN(db)->sq) == SQLITE_NOTADB
                   ? err_set(err, RC_UNSUPPORTED, "%s is not a database of Feedmill", path)
                   : db_fail(db, err);
    if (id == DB_APPLICATION_ID)
        return RC_OK;
    if (id != 0 || n != 0)
        return err_set(err, RC_UNSUPPORTED, "%s is a database of another program", path);
    /* the first of these works only while there is nothing in the file */
    sqlite3_snprintf(sizeof sql, sql,
                     "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = %d",
                     DB_APPLICATION_ID);
    return db_script(db, sql, err);
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

/* SQLite counts the memory of all connections under one mutex, which each of its allocations would
 * take. Nothing here asks for that number. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

enum rc db_open_file(const char *path, int flags, struct db **out, struct err *err)
{
    struct sqlite_db *own = NEW(struct sqlite_db);
    struct db *db = &own->db;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum rc rc = RC_OK;

    (void)pthread_once(&once, configure);
    db->reads = &sqlite_reads;
    if (sqlite3_open_v2(path, &OWN(db)->sq, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        rc = err_set(err, RC_IO, "cannot open the database %s: %s", path,
                     OWN(db)->sq == NULL ? "no memory" : sqlite3_errmsg(OWN(db)->sq));
        db_close(&db);
        return rc;
    }
    sqlite3_extended_result_codes(OWN(db)->sq, 1);
    sqlite3_busy_timeout(OWN(db)->sq, BUSY_MS);
    *out = db;
    return RC_OK;
}

/* The storer's pages are moved between transactions (storage/sqlite/mover.h). */
static int on_log_grown(void *ctx, sqlite3 *sq UNUSED, const char *name UNUSED, int pages)
{
    struct db *db = ctx;

    OWN(db)->log_pages = pages;
    OWN(db)->log_grew = true;
    if (pages >= LOG_PAGES && OWN(db)->writer == NULL)
        db_move_pages(db);
    return SQLITE_OK;
}

/* A statement that takes long, such as the removal of a large feed, is not a stall. On a busy
 * machine a thread that wakes up waits until the slice of another one is over, several
 * milliseconds. A request is answered in less, so the writer offers its place often. */
static int on_progress(void *ctx UNUSED)
{
    pulse_beat();
    sched_yield();
    return 0;
}

/* The database could not be made ready. SQLite does not always say that it is the disk. */
static enum rc explain(const char *path, enum rc rc, struct err *err)
{
    if (rc == RC_IO && db_file_has_full_disk(path))
        return db_file_say_full(path, err);
    return rc == RC_IO ? err_prefix(err, "%s", path) : rc;
}

enum rc db_open_writer(const char *path, struct db **out, struct err *err)
{
    struct db *db = NULL;
    enum rc rc = db_open_file(path, SQLITE_OPEN_READWRITE, &db, err);

    if (rc != RC_OK)
        return rc;
    rc = claim(db, path, err);
    if (rc == RC_OK)
        rc = db_script(db,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                       "PRAGMA secure_delete = OFF; PRAGMA foreign_keys = ON;"
                       "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;"
                       "PRAGMA cell_size_check = ON;"
                       "PRAGMA journal_size_limit = 67108864;",
                       err);
    if (rc == RC_OK)
        rc = db_upgrade(db, err);
    if (rc == RC_OK)
        rc = make_identity(db, err);
    if (rc == RC_OK) {
        sqlite3_wal_hook(OWN(db)->sq, on_log_grown, db); /* replaces SQLite's own hook */
        sqlite3_progress_handler(OWN(db)->sq, PROGRESS_STEPS, on_progress, NULL);
    }
    if (rc == RC_OK)
        *out = db;
    else
        rc = explain(path, rc, err);
    if (rc != RC_OK)
        db_close(&db);
    return rc;
}

enum rc db_open_reader(const char *path, struct db **out, struct err *err)
{
    struct db *db = NULL;
    /* not SQLITE_OPEN_READONLY: a reader may have to make the shared-memory file */
    enum rc rc = db_open_file(path, SQLITE_OPEN_READWRITE, &db, err);

    if (rc != RC_OK)
        return rc;
    rc = db_script(db,
                   "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;"
                   "PRAGMA cache_size = -16384; PRAGMA cell_size_check = ON;",
                   err);
    if (rc != RC_OK)
        db_close(&db);
    else
        *out = db;
    return rc;
}

/* Read the result of the check: "ok", or a title and then the first damage. */
static enum rc read_check(struct db *db, const char *path, sqlite3_stmt *st, struct err *err)
{
    struct str found;

    if (sqlite3_step(st) != SQLITE_ROW)
        return sqlite3_errcode(OWN(db)->sq) == SQLITE_NOTADB ? RC_OK : db_fail(db, err);
    found = col_bytes(st, 0);
    if (str_eqz(found, "ok"))
        return RC_OK;
    if (str_starts(found, STR("***")))
        str_split(&found, '\n');
    return err_set(err, RC_IO,
                   "the database %s is damaged (%.*s); restore a backup, or save what can be read "
                   "with: sqlite3 %s .recover",
                   path, STR_ARG(found), path);
}

enum rc db_check(const char *path, struct err *err)
{
    struct db *db = NULL;
    sqlite3_stmt *st = NULL;
    enum rc rc = db_open_file(path, SQLITE_OPEN_READWRITE, &db, err);

    if (rc != RC_OK)
        return rc;
    if (sqlite3_prepare_v2(OWN(db)->sq, "PRAGMA quick_check(1)", -1, &st, NULL) == SQLITE_OK)
        rc = read_check(db, path, st, err);
    else if (sqlite3_errcode(OWN(db)->sq) != SQLITE_NOTADB) /* db_open_writer() reports that */
        rc = db_fail(db, err);
    sqlite3_finalize(st);
    db_close(&db);
    return rc;
}

void db_close(struct db **dbp)
{
    struct db *db = *dbp;
    struct sqlite_writer *writer;

    if (db == NULL)
        return;
    writer = OWN(db)->writer;
    if (writer != NULL)
        writer_end(db);
    for (size_t i = 0; i < N_SLOTS; i++)
        sqlite3_finalize(OWN(db)->slots[i].st);
    if (sqlite3_close(OWN(db)->sq) != SQLITE_OK)
        log_error("storage", "close_failed", "error=%s",
                  log_quote(str_from(sqlite3_errmsg(OWN(db)->sq))));
    writer_free(&writer);
    mem_free(OWN(db));
    *dbp = NULL;
}

struct sqlite3 *db_handle(struct db *db)
{
    return OWN(db)->sq;
}
