/* storage/sqlite/upkeep.c - copies, checks and compacts a file. Source: SQLite, "Online Backup
 * API", "VACUUM". */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/marks.h"
#include "model/sinks.h"
#include "storage/schema_version.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/file.h"
#include "storage/sqlite/shape.h"
#include "storage/sqlite/terms.h"
#include "storage/upkeep.h"

#define PART_PAGES 2048 /* copied between two reports of progress */
#define FAULTS_MAX 5    /* told of one rule */

static enum rc fail(const char *path, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", path, strerror(errno));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A file that is read. */
struct opened {
    struct db *db;
    const char *path;
    bool is_still;   /* it is read as if it could not change */
    struct stat was; /* is_still: the file before it was read */
};

/* Is the file whole without those beside it? Nobody works on it, and nothing is left in a log. */
static bool stands_alone(const char *path)
{
    static const char *const logs[] = {"-wal", "-journal"};

    for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct stat st;

        if (stat(arena_printf(&a, "%s%s", path, logs[i]), &st) == 0 ? st.st_size > 0 : errno != ENOENT)
            return false;
    }
    return !db_file_is_claimed(path);
}

/* The URI by which SQLite takes nothing but the file itself, and makes none beside it. */
static const char *still_uri(struct arena *a, const char *real)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_printf(&out, "file:");
    for (const char *z = real; *z != '\0'; z++)
        buf_printf(&out, strchr("%?#", *z) != NULL ? "%%%02X" : "%c", (unsigned char)*z);
    buf_printf(&out, "?immutable=1");
    return str_z(a, buf_view(&out));
}

static enum rc say_unreadable(const char *path, const char *real, const char *why, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *slash = strrchr(real, '/');
    const char *folder = arena_printf(&a, "%.*s", slash == real ? 1 : (int)(slash - real), real);

    if (db_file_has_full_disk(real))
        return db_file_say_full(path, err);
    if (access(folder, W_OK) == 0)
        return err_set(err, RC_IO, "%s cannot be read here: %s", path, why);
    return err_set(err, RC_IO,
                   "%s cannot be read here: its folder must be writable, because %s", path,
                   db_file_is_claimed(path) ? "a daemon works on it"
                                            : "what was written last is in a log beside it");
}

/* SQLite wants to make the files beside it, and cannot. */
static enum rc open_still(struct opened *o, const char *why, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *real = realpath(o->path, NULL);
    enum rc rc;

    if (real == NULL)
        return fail(o->path, err);
    o->is_still = stat(real, &o->was) == 0 && stands_alone(real);
    rc = o->is_still ? db_open_file(still_uri(&a, real), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &o->db, err)
                     : say_unreadable(o->path, real, why, err);
    free(real);
    return rc;
}

/* Is it that files beside it cannot be made, may not, or have no room? */
static bool lacks_companions(const struct opened *o)
{
    int code = sqlite3_errcode(OWN(o->db)->sq) & 0xff;

    return !o->is_still && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY ||
                            ((code == SQLITE_IOERR || code == SQLITE_FULL) && db_file_has_full_disk(o->path)));
}

/* It cannot even be begun to read. Is that because of what is in it? */
static enum rc say_unread(const struct opened *o, struct err *err)
{
    int code = sqlite3_errcode(OWN(o->db)->sq) & 0xff;
    const char *why = sqlite3_errmsg(OWN(o->db)->sq);

    return code == SQLITE_CORRUPT ? err_set(err, RC_CONFLICT, "%s is damaged: %s", o->path, why)
                                  : err_set(err, RC_IO, "%s cannot be read: %s", o->path, why);
}

static enum rc read_id(struct opened *o, struct err *err)
{
    int64_t id = 0;

    if (db_number(o->db, "PRAGMA application_id", &id, err) != RC_OK &&
        sqlite3_errcode(OWN(o->db)->sq) != SQLITE_NOTADB)
        return lacks_companions(o) ? RC_AGAIN : say_unread(o, err);
    return id == DB_APPLICATION_ID
               ? RC_OK
               : err_set(err, RC_UNSUPPORTED, "%s is not a database of Feedmill", o->path);
}

/* Open a database of Feedmill that exists, for reading. It may be damaged. */
static enum rc open_ours(const char *path, struct opened *out, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct opened o = {.path = path};
    enum rc rc = db_open_file(path, SQLITE_OPEN_READWRITE, &o.db, err);

    if (rc == RC_OK)
        rc = read_id(&o, err);
    if (rc == RC_AGAIN) {
        const char *why = arena_printf(&a, "%s", sqlite3_errmsg(OWN(o.db)->sq));

        db_close(&o.db);
        rc = open_still(&o, why, err);
        if (rc == RC_OK)
            rc = read_id(&o, err);
    }
    if (rc == RC_OK)
        *out = o;
    else
        db_close(&o.db);
    return rc;
}

static bool is_as_before(const struct opened *o)
{
    char *real = realpath(o->path, NULL);
    struct stat st;
    bool is = real != NULL && stat(real, &st) == 0 && st.st_ino == o->was.st_ino && st.st_size == o->was.st_size &&
              st.st_mtim.tv_sec == o->was.st_mtim.tv_sec && st.st_mtim.tv_nsec == o->was.st_mtim.tv_nsec &&
              stands_alone(real);

    free(real);
    return is;
}

/* Was all that was read of one state? Somebody who may write may have come meanwhile, and gone again. */
static enum rc was_still(const struct opened *o, struct err *err)
{
    return !o->is_still || is_as_before(o)
               ? RC_OK
               : err_set(err, RC_IO, "a daemon worked on %s meanwhile; try again", o->path);
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
    bool goes_on = true;

    if (copy == NULL)
        return db_fail(to, err);
    while (state == SQLITE_OK && goes_on) {
        state = sqlite3_backup_step(copy, PART_PAGES);
        goes_on = fn(ctx, sqlite3_backup_pagecount(copy) - sqlite3_backup_remaining(copy),
                     sqlite3_backup_pagecount(copy));
    }
    state = sqlite3_backup_finish(copy);
    if (!goes_on)
        return err_set(err, RC_CLOSED, "the copy was given up");
    if (state == SQLITE_FULL)
        return err_set(err, RC_FULL, "the disk has no room for the copy");
    return state == SQLITE_OK ? RC_OK
                              : err_set(err, RC_IO, "the copy failed: %s", sqlite3_errstr(state));
}

/* The header that was copied says that there is a write-ahead log. Say that there is none: the copy
 * is one file. "PRAGMA journal_mode = DELETE" would first make a log, by name. The counter of
 * changes has the connection read the header anew. Source: SQLite, "Database File Format", 1.3. */
static enum rc take_log_away(int fd, const char *path, struct err *err)
{
    enum { WRITE_VERSION = 18, READ_VERSION = 19, CHANGES = 24, CHANGES_OF_SIZE = 92, LEN = 100 };
    unsigned char head[LEN];
    int i = CHANGES + 3;

    if (pread(fd, head, LEN, 0) != LEN)
        return fail(path, err);
    head[WRITE_VERSION] = head[READ_VERSION] = 1;
    while (++head[i] == 0 && i > CHANGES)
        i--;
    memcpy(head + CHANGES_OF_SIZE, head + CHANGES, 4);
    return pwrite(fd, head, LEN, 0) == LEN ? RC_OK : fail(path, err);
}

/* What is to be different in the copy: where its numbers go on. */
static enum rc raise_numbers(struct db *db, struct err *err)
{
    int64_t last_seq = 0;
    enum rc rc = db_meta_number(db, "last_seq", &last_seq, err);

    return rc == RC_OK ? db_meta_set_number(db, "last_seq", last_seq + UPKEEP_GAP, err) : rc;
}

/* Hold the database as it is now, or the copy would begin anew after each commit of the daemon. A
 * transaction holds nothing before it has read something. */
static enum rc hold(struct db *from, struct err *err)
{
    int64_t version = 0;
    enum rc rc = db_snapshot(from, err);

    return rc == RC_OK ? db_number(from, "PRAGMA schema_version", &version, err) : rc;
}

/* Fill the file, which is open as `fd`. A copy that fails is thrown away, so it needs no journal,
 * and whoever keeps it has it written to the disk at the end. */
static enum rc fill(struct db *from, struct db *to, int fd, const char *path,
                    upkeep_progress_fn *fn, void *ctx, struct err *err)
{
    enum rc rc = db_script(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", err);

    if (rc == RC_OK)
        rc = hold(from, err);
    if (rc == RC_OK)
        rc = copy_pages(from, to, fn, ctx, err);
    db_snapshot_end(from);
    if (rc == RC_OK)
        rc = take_log_away(fd, path, err);
    return rc == RC_OK ? raise_numbers(to, err) : rc;
}

static enum rc say_taken(const char *part, struct err *err)
{
    return err_set(err, RC_CONFLICT, "another backup is being written to %s", part);
}

/* Lock an open file. False: another one has the lock, or the name by now: it has taken this file away. */
static bool lock_named(int fd, const char *path)
{
    struct stat locked, named;

    return db_file_lock(fd) && fstat(fd, &locked) == 0 && lstat(path, &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

/* Take away what a process that was killed has left. One that still writes to it has locked it. */
static enum rc take_over(const char *part, struct err *err)
{
    int fd = open(part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    enum rc rc = RC_OK;

    if (fd < 0)
        return fail(part, err);
    if (!lock_named(fd, part)) /* it is being written, or was finished and others have begun */
        rc = say_taken(part, err);
    else if (unlink(part) != 0)
        rc = fail(part, err);
    close(fd);
    return rc;
}

static enum rc make_part(const char *part, int *fd, struct err *err)
{
    const int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
    int made = open(part, flags, 0600);
    enum rc rc = RC_OK;

    if (made < 0 && errno == EEXIST) {
        rc = take_over(part, err);
        if (rc == RC_OK)
            made = open(part, flags, 0600);
    }
    if (rc == RC_OK && made < 0)
        rc = fail(part, err);
    if (rc == RC_OK && !lock_named(made, part)) { /* another one took it away before it was locked */
        close(made);
        rc = say_taken(part, err);
    }
    if (rc == RC_OK)
        *fd = made;
    return rc;
}

static enum rc backup(const char *path, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct opened from = {.db = NULL};
    struct db *into = NULL;
    const char *part = str_printf(&a, "%s.part", to).ptr;
    int fd = -1;
    enum rc rc = may_replace(path, to, err);

    if (rc == RC_OK)
        rc = open_ours(path, &from, err);
    if (rc == RC_OK)
        rc = make_part(part, &fd, err);
    if (rc == RC_OK)
        rc = db_open_file(part, SQLITE_OPEN_READWRITE, &into, err);
    if (rc == RC_OK)
        rc = fill(from.db, into, fd, part, fn, ctx, err);
    db_close(&into);
    if (rc == RC_OK)
        rc = was_still(&from, err);
    if (rc == RC_OK)
        rc = upkeep_publish(part, fd, to, err);
    if (rc != RC_OK && fd >= 0)
        unlink(part);
    if (fd >= 0)
        close(fd);
    db_close(&from.db);
    return rc;
}

/* ---- a copy without a name ------------------------------------------------------------------- */

struct copying {
    int fd;
    int64_t spare;
    upkeep_progress_fn *fn;
    void *ctx;
    bool lacks_room;
};

static int64_t room_of(int fd)
{
    struct statvfs fs;

    return fstatvfs(fd, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : INT64_MAX;
}

/* The daemon writes to the same disk meanwhile: it comes first. */
static bool on_copied(void *ctx, int64_t n_done, int64_t n_all)
{
    struct copying *c = ctx;

    c->lacks_room = n_done < n_all && room_of(c->fd) < c->spare;
    return !c->lacks_room && c->fn(c->ctx, n_done, n_all);
}

static enum rc say_full(const char *path, int64_t needed, const struct copying *c, struct err *err)
{
    return err_set(err, RC_FULL,
                   "The copy needs %" PRId64 " bytes for a while on the disk of %s, and %" PRId64
                   " that stay free; %" PRId64 " are free",
                   needed, path, c->spare, room_of(c->fd));
}

/* Is there room for all of it? */
static enum rc look_for_room(struct db *from, const char *path, const struct copying *c,
                             int64_t *needed, struct err *err)
{
    int64_t pages = 0, page_len = 0;
    enum rc rc = db_number(from, "PRAGMA page_count", &pages, err);

    if (rc == RC_OK)
        rc = db_number(from, "PRAGMA page_size", &page_len, err);
    *needed = pages * page_len;
    if (rc == RC_OK && room_of(c->fd) - c->spare < *needed)
        rc = say_full(path, *needed, c, err);
    return rc;
}

/* A file that no name leads to any more. `name` is a template of mkstemp(): it has this name until
 * SQLite has opened it, and is empty so long. */
static enum rc open_nameless(char *name, struct db **into, int *fd, struct err *err)
{
    enum rc rc;

    *fd = mkostemp(name, O_CLOEXEC);
    if (*fd < 0)
        return fail(name, err);
    rc = db_open_file(name, SQLITE_OPEN_READWRITE, into, err);
    unlink(name);
    return rc;
}

static enum rc copy(const char *path, int64_t spare, upkeep_progress_fn *fn, void *ctx, int *fd,
                    int64_t *len, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *name = arena_printf(&a, "%s-copy-XXXXXX", path);
    struct copying c = {.fd = -1, .spare = spare, .fn = fn, .ctx = ctx};
    struct opened from = {.db = NULL};
    struct db *into = NULL;
    struct stat st;
    int64_t needed = 0;
    enum rc rc = open_ours(path, &from, err);

    if (rc == RC_OK)
        rc = open_nameless(name, &into, &c.fd, err);
    if (rc == RC_OK)
        rc = look_for_room(from.db, path, &c, &needed, err);
    if (rc == RC_OK)
        rc = fill(from.db, into, c.fd, name, on_copied, &c, err);
    db_close(&into);
    db_close(&from.db);
    if (rc == RC_FULL || c.lacks_room)
        rc = say_full(path, needed, &c, err);
    if (rc == RC_OK && fstat(c.fd, &st) != 0)
        rc = fail(name, err);
    if (rc != RC_OK) {
        if (c.fd >= 0)
            close(c.fd);
        return rc;
    }
    *fd = c.fd;
    *len = st.st_size;
    return RC_OK;
}

/* ---- the name of a copy that comes from somewhere else ---------------------------------------- */

static enum rc may_take_name(const char *to, struct err *err)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    struct str name = str_from(to);
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct str base = name;

        if (!str_ends(name, str_from(endings[i])))
            continue;
        base.len -= strlen(endings[i]);
        if (db_file_is_claimed(str_z(&a, base)))
            return err_set(err, RC_INPUT,
                           "%s belongs to a database that is in use; name another file", to);
    }
    if (stat(to, &st) != 0)
        return errno == ENOENT ? RC_OK : fail(to, err);
    if (access(to, R_OK) != 0) /* so nobody knows who works on it */
        return fail(to, err);
    return S_ISREG(st.st_mode) ? RC_OK : err_set(err, RC_INPUT, "%s is not a plain file", to);
}

/* ---- check ----------------------------------------------------------------------------------- */

struct checking {
    struct db *db;
    filter_read_fn *read_filter;
    upkeep_fault_fn *fn;
    void *ctx;
    int64_t n_faults;
    bool lacks_some; /* tables, columns or indexes, which were told */
};

/* Tell the first column of each row. Damage may end the statement with an error: that is a fault,
 * too. `arg`: what ?1 is; null: there is none. */
static void tell_rows(struct checking *c, const char *rule, const char *sql, struct str arg)
{
    sqlite3_stmt *st = NULL;
    int state = sqlite3_prepare_v2(OWN(c->db)->sq, sql, -1, &st, NULL);

    if (state != SQLITE_OK && c->lacks_some) /* the rule is about what is missing */
        return;
    if (state == SQLITE_OK && !str_is_null(arg))
        state = sqlite3_bind_text64(st, 1, arg.ptr, arg.len, SQLITE_STATIC, SQLITE_UTF8);
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
#define DOC "r.doc"
#define BY(index) " INDEXED BY " index
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const struct log_rule {
    const char *says, *sql;
} rules[] = {
#define RULE(says, what, from) {says, "SELECT " what " " from " LIMIT " TEXT(FAULTS_MAX)},
#define is_json(text) "(" text " = '' OR json_valid(" text "))"
#define is_sink(text) "is_sink(" text ")"
#define is_filter(text) "is_filter(" text ")"
#define JUDGED(says, what, from, judge, subject)                                                   \
    {says, "SELECT " what " " from " AND NOT " judge(subject) " LIMIT " TEXT(FAULTS_MAX)},
#define KEYED(says)                                                                                \
    {says, "SELECT 'entry ' || e.id || ', key ' || n FROM entries e CROSS JOIN (SELECT 0 AS n"     \
           " UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)"                            \
           " WHERE mark_key(e.marks, n) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entry_keys k"    \
           " WHERE k.feed_id = e.feed_id AND k.key = mark_key(e.marks, n) AND k.entry_id = e.id)"  \
           " LIMIT " TEXT(FAULTS_MAX)},
#include "storage/log_rules.def"
#undef is_json
#undef is_sink
#undef is_filter
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

static struct str arg_text(sqlite3_value *arg)
{
    const char *text = (const char *)sqlite3_value_text(arg);

    return text == NULL ? STR_NULL : str_of(text, (size_t)sqlite3_value_bytes(arg));
}

/* is_sink(name): is there a sink of this name? */
static void is_sink(sqlite3_context *out, int n_args UNUSED, sqlite3_value **args)
{
    sqlite3_result_int(out, sinks_events(arg_text(args[0])) != 0);
}

/* is_filter(text): can it be read? NULL, where there is none, is as good. */
static void is_filter(sqlite3_context *out, int n_args UNUSED, sqlite3_value **args)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct checking *c = sqlite3_user_data(out);
    struct str text = arg_text(args[0]);

    sqlite3_result_int(out, str_is_null(text) || c->read_filter(&a, text) != NULL);
}

static enum rc add_functions(struct checking *c, struct err *err)
{
    static const struct {
        const char *name;
        int n_args;
        void (*fn)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"mark_key", 2, mark_key}, {"is_sink", 1, is_sink}, {"is_filter", 1, is_filter}};

    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (sqlite3_create_function(OWN(c->db)->sq, functions[i].name, functions[i].n_args,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC, c, functions[i].fn, NULL,
                                    NULL) != SQLITE_OK)
            return db_fail(c->db, err);
    return RC_OK;
}

/* Has it the tables and indexes that a new database has? */
static enum rc check_shape(struct checking *c, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t before = c->n_faults;
    struct str shape;
    enum rc rc = shape_of_new(&a, &shape, err);

    if (rc == RC_OK)
        tell_rows(c, "tables and indexes are there", SHAPE_LACKS, shape);
    c->lacks_some = c->n_faults > before;
    return rc;
}

static void check_file(struct checking *c)
{
    tell_rows(c, "the file is as SQLite wrote it", "PRAGMA integrity_check(" TEXT(FAULTS_MAX) ")",
              STR_NULL);
    tell_rows(c, "what a row refers to is there",
              "SELECT \"table\" || ' row ' || coalesce(rowid, '?') || ': ' || parent FROM "
              "pragma_foreign_key_check"
              " LIMIT " TEXT(FAULTS_MAX),
              STR_NULL);
}

/* RC_UNSUPPORTED: the rules are those of another schema. */
static enum rc check_log(struct checking *c, const char *path, struct err *err)
{
    int64_t version = 0;
    enum rc rc = db_number(c->db, "PRAGMA user_version", &version, err);

    if (rc == RC_OK && version != SCHEMA_VERSION)
        rc = err_set(err, RC_UNSUPPORTED,
                     "the file %s is whole, but the rules of its log are those of another "
                     "Feedmill: it has schema %d, "
                     "this program %d%s",
                     path, (int)version, SCHEMA_VERSION,
                     version < SCHEMA_VERSION ? "; \"feedmill serve\" brings it up to date" : "");
    if (rc == RC_OK)
        rc = add_functions(c, err);
    if (rc == RC_OK)
        rc = check_shape(c, err);
    for (size_t i = 0; rc == RC_OK && i < ARRAY_LEN(rules); i++)
        tell_rows(c, rules[i].says, rules[i].sql, STR_NULL);
    return rc;
}

static enum rc check(const char *path, filter_read_fn *read_filter, upkeep_fault_fn *fn, void *ctx,
                     struct err *err)
{
    struct checking c = {.read_filter = read_filter, .fn = fn, .ctx = ctx};
    struct opened file = {.db = NULL};
    enum rc rc = open_ours(path, &file, err), still;

    c.db = file.db;
    if (rc == RC_OK) {
        rc = db_snapshot(c.db, err);
        check_file(&c); /* also when damage prevents the snapshot: it says where */
    }
    if (rc == RC_OK && c.n_faults == 0)
        rc = check_log(&c, path, err);
    if (c.n_faults > 0)
        rc = err_set(err, RC_CONFLICT, "the database %s is damaged", path);
    db_close(&file.db);
    still = was_still(&file, err);
    return still != RC_OK ? still : rc;
}

/* ---- compact --------------------------------------------------------------------------------- */

static int64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* What is written anew goes through the write-ahead log, as a whole. */
static enum rc say_no_room(struct db *db, const char *path, struct err *err)
{
    int64_t pages = 0, page_len = 0, room = db_file_room(path);

    (void)!db_number(db, "PRAGMA page_count", &pages, NULL);
    (void)!db_number(db, "PRAGMA page_size", &page_len, NULL);
    return err_set(err, RC_IO,
                   "%s: its disk has no room: to write it anew takes up to %" PRId64 " bytes there for a while, and %" PRId64
                   " are free; the database is as it was",
                   path, pages * page_len, room);
}

/* The file is ours alone. The index of words is many small trees; it becomes one. If it is mostly
 * waste it becomes empty, and the next daemon fills it. */
static enum rc rewrite(const char *path, struct err *err)
{
    struct opened file = {.db = NULL};
    struct db *db = NULL;
    enum rc rc = open_ours(path, &file, err);

    db_close(&file.db);
    if (rc == RC_OK)
        rc = db_open_writer(path, &db, err);
    if (rc == RC_OK)
        rc = terms_drop_waste(db, err);
    if (rc == RC_OK)
        rc = db_script(db, "INSERT INTO terms (terms) VALUES ('optimize')", err);
    if (rc == RC_OK)
        rc =
            db_script(db,
                      "PRAGMA auto_vacuum = INCREMENTAL; VACUUM;" /* files of older programs, too */
                      "PRAGMA wal_checkpoint(TRUNCATE)",
                      err);
    if (db != NULL && rc != RC_OK && (sqlite3_errcode(OWN(db)->sq) & 0xff) == SQLITE_FULL)
        rc = say_no_room(db, path, err);
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

const struct upkeep_calls sqlite_upkeep = {.backup = backup,
                                           .copy = copy,
                                           .may_replace = may_take_name,
                                           .make_part = make_part,
                                           .check = check,
                                           .compact = compact};
