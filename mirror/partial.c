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

static struct str read_tag(const char *path, struct arena *a)
{
    char text[TAG_MAX], boot[BOOT_MAX];
    FILE *f = fopen(path, "re");
    size_t n = f == NULL ? 0 : fread(text, 1, sizeof text, f);
    struct str rest = str_of(text, n), line;

    if (f != NULL)
        (void)fclose(f);
    line = str_split(&rest, '\n');
    if (!str_eq(line, boot_id(boot)) || str_is_null(rest) || !str_ends(rest, STR("\n")))
        return STR_NULL;
    return str_dup(a, str_trim(rest));
}

static enum rc write_tag(const char *path, struct str validator, struct err *err)
{
    char boot[BOOT_MAX];
    struct str id = boot_id(boot);
    FILE *f = fopen(path, "we");
    bool ok = f != NULL && fprintf(f, "%.*s\n%.*s\n", STR_ARG(id), STR_ARG(validator)) > 0;

    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    return ok ? RC_OK : failed(err, "write", path);
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum rc read_present(struct partial *p, struct err *err)
{
    char *bytes = mem_alloc(READ_SIZE);
    ssize_t n;

    while ((n = read(p->fd, bytes, READ_SIZE)) > 0) {
        digest_run_add(p->digest, str_of(bytes, (size_t)n));
        p->size += n;
    }
    mem_free(bytes);
    return n == 0 ? RC_OK : failed(err, "read", p->path);
}

static enum rc open_and_lock(struct partial *p, struct err *err)
{
    p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (p->fd < 0)
        return failed(err, "open", p->path);
    if (flock(p->fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, RC_AGAIN, "another process fetches %s", p->path);
    return RC_OK;
}

enum rc partial_open(struct partial *p, struct arena *a, struct str dir, struct str key,
                     struct err *err)
{
    enum rc rc;

    *p = (struct partial)PARTIAL_CLOSED;
    p->path = arena_printf(a, "%.*s/partial/%.*s", STR_ARG(dir), STR_ARG(key));
    p->tag_path = arena_printf(a, "%s.tag", p->path);
    p->digest = digest_run_new();
    rc = open_and_lock(p, err);
    if (rc == RC_OK) {
        p->validator = read_tag(p->tag_path, a);
        rc = str_is_null(p->validator) ? partial_restart(p, STR_NULL, err) : read_present(p, err);
    }
    if (rc != RC_OK)
        partial_close(p);
    return rc;
}

/* The old tag goes before the bytes, and the new one comes before them: so bytes never have the tag
 * of others. */
enum rc partial_restart(struct partial *p, struct str validator, struct err *err)
{
    if (unlink(p->tag_path) != 0 && errno != ENOENT)
        return failed(err, "delete", p->tag_path);
    if (ftruncate(p->fd, 0) != 0 || lseek(p->fd, 0, SEEK_SET) != 0)
        return failed(err, "empty", p->path);
    digest_run_end(&p->digest, NULL);
    p->digest = digest_run_new();
    p->size = 0;
    return str_is_null(validator) ? RC_OK : write_tag(p->tag_path, validator, err);
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
    digest_run_add(p->digest, piece);
    p->size += (int64_t)piece.len;
    return RC_OK;
}

struct str partial_digest(struct partial *p, struct arena *a)
{
    unsigned char digest[DIGEST_SHA256_LEN];
    char *hex = arena_alloc(a, MIRROR_KEY_LEN + 1);

    digest_run_end(&p->digest, digest);
    digest_hex(digest, sizeof digest, hex);
    return str_of(hex, MIRROR_KEY_LEN);
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
