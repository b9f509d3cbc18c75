/* storage/sqlite/file.c - the lock on the database file, and the check of its three files.
 *
 * When a process closes any descriptor of a file, it loses all its POSIX locks on that file, and so
 * the locks of SQLite. So the descriptor of our lock is opened before the first connection of
 * SQLite and closed after the last one. */
#include "storage/sqlite/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"

#define ROOM_LEAST ((int64_t)256 * 1024) /* bytes; with less the disk counts as full */
#define CLAIM_TRIES 10 /* the file may be replaced between opening and locking it */

/* The byte that is locked. SQLite locks bytes from 0x40000000 to 0x400001ff. A lock does not change
 * the byte. */
#define LOCK_BYTE 0x46656564
#define ENGINE_LOCKS_END 0x40000200
_Static_assert(LOCK_BYTE >= ENGINE_LOCKS_END, "our lock must not meet the engine's");

enum { DATABASE, LOG, SHARED_MEMORY, N_FILES };

static const char *const suffixes[N_FILES] = {"", "-wal", "-shm"};

struct db_file {
    int fd; /* of the lock */
    struct watched {
        char *path;
        dev_t dev;
        ino_t ino;
    } files[N_FILES]; /* path NULL: the file is not noted yet */
};

/* ---- claiming -------------------------------------------------------------------------------- */

/* Lock the file. Returns 0, or an errno: EAGAIN or EACCES if another open file has the lock. */
static int lock_file(int fd)
{
#ifdef F_OFD_SETLK
    /* the lock belongs to the open file, not to the process, so it stays when SQLite closes one of
     * its descriptors */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    if (errno != EINVAL)
        return errno;
#endif
    return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

bool db_file_lock(int fd)
{
    return lock_file(fd) == 0;
}

static bool is_same(const struct stat *st, const struct watched *w)
{
    return st->st_dev == w->dev && st->st_ino == w->ino;
}

/* Note which file has this name now. RC_IO: it cannot be read. */
static enum rc note(struct watched *w, char *path, struct err *err)
{
    struct stat st;

    mem_free(w->path);
    w->path = path;
    if (stat(path, &st) != 0)
        return err_set(err, RC_IO, "cannot read the status of %s: %s", path, strerror(errno));
    w->dev = st.st_dev;
    w->ino = st.st_ino;
    return RC_OK;
}

static enum rc refuse_lock(const char *path, int why, struct err *err)
{
    if (why == EAGAIN || why == EACCES)
        return err_set(err, RC_IO,
                       "the database %s is in use by another process; stop that one first, or give "
                       "another --db",
                       path);
    return err_set(err, RC_IO, "cannot lock the database %s: %s", path, strerror(why));
}

/* Try once to open and lock the file. *again: after it was opened, another file got its name. */
static enum rc claim_once(struct db_file *f, const char *path, bool *again, struct err *err)
{
    struct watched *db = &f->files[DATABASE];
    struct stat st;
    char *real;
    int failed;

    *again = false;
    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f->fd < 0 || fstat(f->fd, &st) != 0)
        return err_set(err, RC_IO, "cannot open the database %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, RC_IO, "cannot open the database %s: it is not a file", path);
    failed = lock_file(f->fd);
    if (failed != 0)
        return refuse_lock(path, failed, err);
    real = realpath(path, NULL);
    if (real == NULL || note(db, real, NULL) != RC_OK || !is_same(&st, db)) {
        *again = true;
        return RC_OK;
    }
    if (st.st_nlink > 1)
        return err_set(
            err, RC_IO,
            "the database %s has %llu names (hard links), but its write-ahead log belongs to "
            "only one of them: opened by another name, the database would lose what is in "
            "the log; remove the other names (find DIR -samefile %s shows them)",
            path, (unsigned long long)st.st_nlink, path);
    return RC_OK;
}

enum rc db_file_claim(const char *path, struct db_file **out, struct err *err)
{
    struct db_file *f = NEW(struct db_file);
    bool again = true;
    enum rc rc = RC_OK;

    f->fd = -1;
    for (int i = 0; i < CLAIM_TRIES && again && rc == RC_OK; i++) {
        if (f->fd >= 0)
            close(f->fd);
        rc = claim_once(f, path, &again, err);
    }
    if (rc == RC_OK && again)
        rc = err_set(err, RC_IO,
                     "cannot open the database %s: another program replaces it again and again",
                     path);
    if (rc != RC_OK)
        db_file_release(&f);
    else
        *out = f;
    return rc;
}

bool db_file_is_claimed(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = false;

    if (fd < 0)
        return false;
#ifdef F_OFD_GETLK
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};

    is = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
#endif
    is |= flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return is;
}

const char *db_file_path(const struct db_file *f)
{
    return f->files[DATABASE].path;
}

int64_t db_file_room(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : INT64_MAX;
}

bool db_file_has_full_disk(const char *path)
{
    return db_file_room(path) < ROOM_LEAST;
}

enum rc db_file_say_full(const char *path, struct err *err)
{
    return err_set(err, RC_IO,
                   "%s: its disk is full (%" PRId64 " bytes are free), and a database needs %" PRId64 " there to be opened; "
                   "remove other files, enlarge the disk, or have the database copied to another one by "
                   "\"feedmill backup --db %s FILE\"",
                   path, db_file_room(path), ROOM_LEAST, path);
}

void db_file_release(struct db_file **fp)
{
    struct db_file *f = *fp;

    if (f == NULL)
        return;
    if (f->fd >= 0)
        close(f->fd);
    for (int i = 0; i < N_FILES; i++)
        mem_free(f->files[i].path);
    mem_free(f);
    *fp = NULL;
}

/* ---- watching -------------------------------------------------------------------------------- */

static char *companion_path(const struct db_file *f, int i)
{
    const char *path = db_file_path(f);
    size_t len = strlen(path), extra = strlen(suffixes[i]) + 1;
    char *out = mem_alloc(len + extra);

    memcpy(out, path, len);
    memcpy(out + len, suffixes[i], extra);
    return out;
}

enum rc db_file_note_companions(struct db_file *f, struct err *err)
{
    enum rc rc = RC_OK;

    for (int i = LOG; i < N_FILES && rc == RC_OK; i++)
        rc = note(&f->files[i], companion_path(f, i), err);
    return rc;
}

/* Set *err for a lost file. A lost log is made again at the next start. A lost database exists only
 * as long as we have it open, so the operator must put it back. */
static enum rc say_lost(const struct db_file *f, int i, const char *what, struct err *err)
{
    const char *path = f->files[i].path;

    if (i != DATABASE)
        return err_set(err, RC_UNAVAILABLE, "%s %s while it was in use; a restart repairs this",
                       path, what);
    return err_set(err, RC_UNAVAILABLE,
                   "%s %s while it was in use; before a restart, put it back: move the file there "
                   "again, or copy /proc/%d/fd/%d there",
                   path, what, (int)getpid(), f->fd);
}

enum rc db_file_check(const struct db_file *f, struct err *err)
{
    struct stat st;

    for (int i = 0; i < N_FILES; i++) {
        const struct watched *w = &f->files[i];

        if (w->path == NULL)
            continue;
        if (stat(w->path, &st) != 0)
            return say_lost(f, i, errno == ENOENT ? "was deleted or moved" : "became unreachable",
                            err);
        if (!is_same(&st, w))
            return say_lost(f, i, "was replaced by another file", err);
    }
    return RC_OK;
}
