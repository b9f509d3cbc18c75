/* storage/sqlite/upkeep.c - copies, checks and compacts a file. Source: SQLite, "Online Backup
 * API", "VACUUM". */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/marks.h"
#include "storage/schema_version.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/file.h"
#include "storage/upkeep.h"

#define PART_PAGES 2048 /* copied between two reports of progress */
#define FAULTS_MAX 5    /* told of one rule */

static enum rc fail(const char *path, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", path, strerror(errno));
}

/* Open a database of Feedmill that exists, for reading. It may be damaged. */
static enum rc open_ours(const char *path, struct db **out, struct err *err)
{
    int64_t id = 0;
    enum rc rc = db_open_file(path, SQLITE_OPEN_READWRITE, out, err);

    if (rc != RC_OK)
        return rc;
    if (db_number(*out, "PRAGMA application_id", &id, err) != RC_OK &&
        sqlite3_errcode(OWN(*out)->sq) != SQLITE_NOTADB)
        rc = err_set(err, RC_IO, "%s is damaged: %s", path, sqlite3_errmsg(OWN(*out)->sq));
    else if (id != DB_APPLICATION_ID)
        rc = err_set(err, RC_UNSUPPORTED, "%s is not a database of Feedmill", path);
    if (rc != RC_OK)
        db_close(out);
    return rc;
}

/* ---- backup ---------------------------------------------------------------------------------- */

/* The absolute path of a file that need not exist, in the arena: its folder without symbolic links.
 */
static const char *place_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder =
        slash == NULL ? realpath(".", NULL)
        : slash == path
            ? realpath("/", NULL)
            : realpath(str_z(a, str_slice(str_from(path), 0, (size_t)(slash - path))), NULL);
    const char *place =
        str_printf(a, "%s/%s", folder != NULL ? folder : "", slash == NULL ? path : slash + 1).ptr;

    free(folder);
    return place;
}

static bool is_same_file(struct arena *a, const char *to, const char *file)
{
    struct stat x, y;

    if (stat(to, &x) == 0 && stat(file, &y) == 0)
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return strcmp(place_of(a, to), place_of(a, file)) == 0;
}

/* May this file be replaced by a copy of `db`? Not by one that SQLite keeps, or will keep, beside
 * it. */
static enum rc may_replace(const char *db, const char *to, struct err *err)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *real = realpath(db, NULL); /* NULL: open_ours() says why */
    struct stat target;
    int missing = stat(to, &target) != 0 ? errno : 0;
    bool is_own = false;

    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        is_own |=
            is_same_file(&a, to, str_printf(&a, "%s%s", real != NULL ? real : db, endings[i]).ptr);
    free(real);
    if (is_own)
        return err_set(err, RC_INPUT, "%s belongs to the database itself; name another file", to);
    if (missing != 0)
        return missing == ENOENT ? RC_OK : err_set(err, RC_IO, "%s: %s", to, strerror(missing));
    return S_ISREG(target.st_mode) ? RC_OK : err_set(err, RC_INPUT, "%s is not a plain file", to);
}

static enum rc copy_pages(struct db *from, struct db *to, upkeep_progress_fn *fn, void *ctx,
                          struct err *err)
{
    sqlite3_backup *copy = sqlite3_backup_init(OWN(to)->sq, "main", OWN(from)->sq, "main");
    int state = SQLITE_OK;

    if (copy == NULL)
        return db_fail(to, err);
    while (state == SQLITE_OK) {
        state = sqlite3_backup_step(copy, PART_PAGES);
        fn(ctx, sqlite3_backup_pagecount(copy) - sqlite3_backup_remaining(copy),
           sqlite3_backup_pagecount(copy));
    }
    state = sqlite3_backup_finish(copy);
    return state == SQLITE_OK ? RC_OK
                              : err_set(err, RC_IO, "the copy failed: %s", sqlite3_errstr(state));
}

/* What is to be different in the copy: where its numbers go on. And it is one file. */
static enum rc finish_copy(struct db *db, struct err *err)
{
    int64_t last_seq = 0;
    enum rc rc = db_meta_number(db, "last_seq", &last_seq, err);

    if (rc == RC_OK)
        rc = db_meta_set_number(db, "last_seq", last_seq + UPKEEP_GAP, err);
    return rc == RC_OK ? db_script(db, "PRAGMA journal_mode = DELETE", err) : rc;
}

static enum rc copy_to(struct db *from, const char *part, upkeep_progress_fn *fn, void *ctx,
                       struct err *err)
{
    struct db *to = NULL;
    enum rc rc = db_open_file(part, SQLITE_OPEN_READWRITE, &to, err);

    if (rc != RC_OK)
        return rc;
    rc = db_snapshot(from, err); /* or the copy would begin anew after each commit of the daemon */
    if (rc == RC_OK)
        rc = copy_pages(from, to, fn, ctx, err);
    db_snapshot_end(from);
    if (rc == RC_OK)
        rc = finish_copy(to, err);
    db_close(&to);
    return rc;
}

static enum rc sync_path(const char *path, int flags, struct err *err)
{
    int fd = open(path, flags | O_CLOEXEC);
    enum rc rc = fd >= 0 && fsync(fd) == 0 ? RC_OK : fail(path, err);

    if (fd >= 0)
        close(fd);
    return rc;
}

/* Give the finished copy its name, and make both last. */
static enum rc publish(const char *part, const char *to, struct err *err)
{
    char *folder = mem_strdup(to), *slash = strrchr(folder, '/');
    enum rc rc = sync_path(part, O_RDONLY, err);

    if (slash == folder)
        slash++;
    if (slash != NULL)
        *slash = '\0';
    if (rc == RC_OK && rename(part, to) != 0)
        rc = fail(to, err);
    if (rc == RC_OK)
        rc = sync_path(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY, err);
    mem_free(folder);
    return rc;
}

/* An empty file for the copy, which only its owner may read: it has secrets. */
/* `to`: what the part will become. */
static enum rc make_part(const char *part, const char *to, struct err *err)
{
    int fd = open(part, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return fail(to, err);
    close(fd);
    return RC_OK;
}

static enum rc backup(const char *path, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct db *db = NULL;
    const char *part = str_printf(&a, "%s.part-%ld", to, (long)getpid()).ptr;
    enum rc rc = may_replace(path, to, err);

    if (rc == RC_OK)
        rc = open_ours(path, &db, err);
    if (rc == RC_OK)
        rc = make_part(part, to, err);
    if (rc == RC_OK) {
        rc = copy_to(db, part, fn, ctx, err);
        if (rc == RC_OK)
            rc = publish(part, to, err);
        if (rc != RC_OK)
            unlink(part);
    }
    db_close(&db);
    return rc;
}

/* ---- check ----------------------------------------------------------------------------------- */

struct checking {
    struct db *db;
    upkeep_fault_fn *fn;
    void *ctx;
    int64_t n_faults;
};

/* Tell the first column of each row. Damage may end the statement with an error: that is a fault,
 * too. */
static void tell_rows(struct checking *c, const char *rule, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int state = sqlite3_prepare_v2(OWN(c->db)->sq, sql, -1, &st, NULL);

    while (state == SQLITE_OK && (state = sqlite3_step(st)) == SQLITE_ROW) {
        struct str what = col_bytes(st, 0);

        state = SQLITE_OK;
        if (str_eqz(what, "ok"))
            continue;
        c->n_faults++;
        c->fn(c->ctx, str_from(rule), what);
    }
    if (state != SQLITE_DONE) {
        c->n_faults++;
        c->fn(c->ctx, str_from(rule), str_from(sqlite3_errmsg(OWN(c->db)->sq)));
    }
    sqlite3_finalize(st);
}

#define LAST_SEQ "coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_seq'), 0)"
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const struct log_rule {
    const char *says, *sql;
} rules[] = {
#define RULE(says, what, from) {says, "SELECT " what " " from " LIMIT " TEXT(FAULTS_MAX)},
#include "storage/sqlite/log_rules.def"
#undef RULE
};

/* mark_key(marks, n): the n-th key of an entry with these marks, from 0; NULL: it has fewer. */
static void mark_key(sqlite3_context *out, int n_args UNUSED, sqlite3_value **args)
{
    const char *bytes = sqlite3_value_blob(args[0]);
    struct str packed = str_of(bytes, bytes != NULL ? (size_t)sqlite3_value_bytes(args[0]) : 0);
    int64_t keys[MARKS_KEYS], n = sqlite3_value_int64(args[1]);
    struct entry_marks marks;

    if (marks_unpack(packed, &marks) && n < (int64_t)marks_keys(&marks, keys))
        sqlite3_result_int64(out, keys[n]);
}

static void check_file(struct checking *c)
{
    tell_rows(c, "the file is as SQLite wrote it", "PRAGMA integrity_check(" TEXT(FAULTS_MAX) ")");
    tell_rows(c, "what a row refers to is there",
              "SELECT \"table\" || ' row ' || coalesce(rowid, '?') || ': ' || parent FROM "
              "pragma_foreign_key_check"
              " LIMIT " TEXT(FAULTS_MAX));
}

/* RC_UNSUPPORTED: the rules are those of another schema. */
static enum rc check_log(struct checking *c, const char *path, struct err *err)
{
    int64_t version = 0;
    enum rc rc = db_number(c->db, "PRAGMA user_version", &version, err);

    if (rc == RC_OK && sqlite3_create_function(OWN(c->db)->sq, "mark_key", 2,
                                               SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, mark_key,
                                               NULL, NULL) != SQLITE_OK)
        rc = db_fail(c->db, err);
    if (rc == RC_OK && version != SCHEMA_VERSION)
        rc = err_set(err, RC_UNSUPPORTED,
                     "the file %s is whole, but the rules of its log are those of another "
                     "Feedmill: it has schema %d, "
                     "this program %d%s",
                     path, (int)version, SCHEMA_VERSION,
                     version < SCHEMA_VERSION ? "; \"feedmill serve\" brings it up to date" : "");
    for (size_t i = 0; rc == RC_OK && i < ARRAY_LEN(rules); i++)
        tell_rows(c, rules[i].says, rules[i].sql);
    return rc;
}

static enum rc check(const char *path, upkeep_fault_fn *fn, void *ctx, struct err *err)
{
    struct checking c = {.fn = fn, .ctx = ctx};
    enum rc rc = open_ours(path, &c.db, err);

    if (rc == RC_OK) {
        rc = db_snapshot(c.db, err);
        check_file(&c); /* also when damage prevents the snapshot: it says where */
    }
    if (rc == RC_OK && c.n_faults == 0)
        rc = check_log(&c, path, err);
    if (c.n_faults > 0)
        rc = err_set(err, RC_CONFLICT, "the database %s is damaged", path);
    db_close(&c.db);
    return rc;
}

/* ---- compact --------------------------------------------------------------------------------- */

static int64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* The file is ours alone. The index of words is many small trees; it becomes one. */
static enum rc rewrite(const char *path, struct err *err)
{
    struct db *db = NULL;
    enum rc rc = open_ours(path, &db, err);

    db_close(&db);
    if (rc == RC_OK)
        rc = db_open_writer(path, &db, err);
    if (rc == RC_OK)
        rc = db_script(db, "INSERT INTO terms (terms) VALUES ('optimize')", err);
    if (rc == RC_OK)
        rc =
            db_script(db,
                      "PRAGMA auto_vacuum = INCREMENTAL; VACUUM;" /* files of older programs, too */
                      "PRAGMA wal_checkpoint(TRUNCATE)",
                      err);
    db_close(&db);
    return rc;
}

static enum rc compact(const char *path, int64_t *before, int64_t *after, struct err *err)
{
    struct db_file *file = NULL;
    enum rc rc = db_file_claim(path, &file, err);

    if (rc != RC_OK)
        return rc;
    *before = size_of(path);
    rc = rewrite(db_file_path(file), err);
    *after = size_of(path);
    db_file_release(&file);
    return rc;
}

const struct upkeep_calls sqlite_upkeep = {.backup = backup, .check = check, .compact = compact};
