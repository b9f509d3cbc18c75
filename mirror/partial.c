/* mirror/partial.c - see partial.h. */
#include "mirror/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "model/mirror.h"

#define READ_SIZE ((size_t)256 * 1024)
#define TAG_MAX 8192
#define BOOT_MAX 64

static enum rc failed(struct err *err, const char *what, const char *path)
{
    return err_set(err, RC_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- folders --------------------------------------------------------------------------------- */

static enum rc make_dir(const char *path, struct err *err)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? RC_OK : failed(err, "make", path);
}

enum rc partial_prepare(struct str dir, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    enum rc rc = make_dir(str_z(&a, dir), err);

    if (rc == RC_OK)
        rc = make_dir(arena_printf(&a, "%.*s/partial", STR_ARG(dir)), err);
    if (rc == RC_OK && access(arena_printf(&a, "%.*s/partial", STR_ARG(dir)), W_OK | X_OK) != 0)
        rc = failed(err, "write to", arena_printf(&a, "%.*s/partial", STR_ARG(dir)));
    return rc;
}

/* The names in a folder are on the disk after this. */
static enum rc sync_dir(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return ok ? RC_OK : failed(err, "write the folder", path);
}

/* ---- the tag --------------------------------------------------------------------------------- */

/* One line that is another one after each start of the machine; "?": it has none. */
static struct str boot_id(char out[BOOT_MAX])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t n = f == NULL ? 0 : fread(out, 1, BOOT_MAX, f);

    if (f != NULL)
        (void)fclose(f);
    while (n > 0 && out[n - 1] == '\n')
        n--;
    return n > 0 ? str_of(out, n) : STR("?");
}

/* Validator and type; both are null if the tag is none of this run of the machine. */
static void read_tag(struct partial *p, struct arena *a)
{
    char text[TAG_MAX], boot[BOOT_MAX];
    FILE *f = fopen(p->tag_path, "re");
    size_t n = f == NULL ? 0 : fread(text, 1, sizeof text, f);
    struct str rest = str_of(text, n), line, validator, type;

    if (f != NULL)
        (void)fclose(f);
    line = str_split(&rest, '\n');
    validator = str_split(&rest, '\n');
    type = str_split(&rest, '\n');
    p->validator = p->type = STR_NULL;
    if (!str_eq(line, boot_id(boot)) || str_is_null(rest)) /* it lacks its end */
        return;
    p->validator = str_dup(a, validator);
    p->type = str_dup(a, type);
}

static enum rc write_tag(const struct partial *p, struct err *err)
{
    char boot[BOOT_MAX];
    struct str id = boot_id(boot);
    FILE *f = fopen(p->tag_path, "we");
    bool ok = f != NULL && fprintf(f, "%.*s\n%.*s\n%.*s\n", STR_ARG(id), STR_ARG(p->validator),
                                   STR_ARG(p->type)) > 0;

    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    return ok ? RC_OK : failed(err, "write", p->tag_path);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Whoever had the file before may have moved or deleted it in between: then what was opened is
 * another one than the one at the path. */
static bool is_in_place(const struct partial *p)
{
    struct stat opened, found;

    return fstat(p->fd, &opened) == 0 && lstat(p->path, &found) == 0 &&
           opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

static enum rc open_and_lock(struct partial *p, struct err *err)
{
    p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (p->fd < 0)
        return failed(err, "open", p->path);
    if (flock(p->fd, LOCK_EX | LOCK_NB) != 0 || !is_in_place(p))
        return err_set(err, RC_AGAIN, "another process fetches %s", p->path);
    return RC_OK;
}

/* Go to the end of what is there. */
static enum rc go_on(struct partial *p, struct err *err)
{
    p->size = lseek(p->fd, 0, SEEK_END);
    if (p->size == 0)
        p->digest = digest_run_new();
    return p->size >= 0 ? RC_OK : failed(err, "read", p->path);
}

enum rc partial_open(struct partial *p, struct arena *a, struct str dir, struct str key,
                     struct err *err)
{
    enum rc rc;

    *p = (struct partial)PARTIAL_CLOSED;
    p->path = arena_printf(a, "%.*s/partial/%.*s", STR_ARG(dir), STR_ARG(key));
    p->tag_path = arena_printf(a, "%s.tag", p->path);
    rc = open_and_lock(p, err);
    if (rc == RC_OK) {
        read_tag(p, a);
        rc =
            str_is_null(p->validator) ? partial_restart(p, STR_NULL, STR_NULL, err) : go_on(p, err);
    }
    if (rc != RC_OK)
        partial_close(p);
    return rc;
}

/* The old tag goes before the bytes, and the new one comes before them: so bytes never have the tag
 * of others. */
enum rc partial_restart(struct partial *p, struct str validator, struct str type, struct err *err)
{
    p->validator = p->type = STR_NULL;
    if (unlink(p->tag_path) != 0 && errno != ENOENT)
        return failed(err, "delete", p->tag_path);
    if (ftruncate(p->fd, 0) != 0 || lseek(p->fd, 0, SEEK_SET) != 0)
        return failed(err, "empty", p->path);
    digest_run_end(&p->digest, NULL);
    p->digest = digest_run_new();
    p->size = 0;
    p->validator = validator;
    p->type = type;
    return str_is_null(validator) ? RC_OK : write_tag(p, err);
}

enum rc partial_add(struct partial *p, struct str piece, struct err *err)
{
    size_t done = 0;

    while (done < piece.len) {
        ssize_t n = write(p->fd, piece.ptr + done, piece.len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(err, "write to", p->path);
        done += (size_t)n;
    }
    if (p->digest != NULL)
        digest_run_add(p->digest, piece);
    p->size += (int64_t)piece.len;
    return RC_OK;
}

/* Read all of it, for the digest. */
static enum rc read_all(struct partial *p, const atomic_bool *stops, struct err *err)
{
    char *bytes = mem_alloc(READ_SIZE);
    int64_t done = 0;
    ssize_t n;

    p->digest = digest_run_new();
    while (!atomic_load(stops) && (n = pread(p->fd, bytes, READ_SIZE, done)) > 0) {
        digest_run_add(p->digest, str_of(bytes, (size_t)n));
        done += n;
    }
    mem_free(bytes);
    if (atomic_load(stops))
        return err_set(err, RC_CLOSED, "the mirror ends");
    return done == p->size ? RC_OK : failed(err, "read", p->path);
}

enum rc partial_digest(struct partial *p, struct arena *a, const atomic_bool *stops,
                       struct str *sha256, struct err *err)
{
    unsigned char digest[DIGEST_SHA256_LEN];
    char *hex = arena_alloc(a, MIRROR_KEY_LEN + 1);
    enum rc rc = p->digest != NULL ? RC_OK : read_all(p, stops, err);

    if (rc != RC_OK)
        return rc;
    digest_run_end(&p->digest, digest);
    digest_hex(digest, sizeof digest, hex);
    *sha256 = str_of(hex, MIRROR_KEY_LEN);
    return RC_OK;
}

enum rc partial_store(struct partial *p, struct str dir, struct str sha256, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str path = mirror_path(&a, dir, sha256);
    char *folder = str_z(&a, str_slice(path, 0, path.len - MIRROR_KEY_LEN - 1));
    enum rc rc;

    if (fsync(p->fd) != 0)
        return failed(err, "write", p->path);
    rc = make_dir(folder, err);
    if (rc == RC_OK) /* it may be a new one */
        rc = sync_dir(str_z(&a, dir), err);
    if (rc == RC_OK && rename(p->path, str_z(&a, path)) != 0)
        rc = failed(err, "move", p->path);
    if (rc == RC_OK)
        rc = sync_dir(folder, err);
    if (rc == RC_OK)
        (void)unlink(p->tag_path);
    return rc;
}

void partial_close(struct partial *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    digest_run_end(&p->digest, NULL);
}

void partial_drop(struct partial *p)
{
    if (p->fd >= 0) {
        (void)unlink(p->tag_path);
        (void)unlink(p->path);
    }
    partial_close(p);
}
