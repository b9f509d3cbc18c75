/* storage/sqlite/judge.c - could a database be opened at this path? It is answered without opening one:
 * the first bytes of the file tell whose it is and how new (sqlite.org/fileformat2.html, 1.3). */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/schema_version.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/file.h"

#define HEADER_LEN 100
#define AT_VERSION 60
#define AT_APPLICATION 68

static enum rc refuse(const char *path, int why, struct err *err)
{
    return err_set(err, RC_INPUT, "cannot open the database %s: %s", path, strerror(why));
}

/* A number of four bytes, the highest first. */
static int64_t number_at(const unsigned char *p)
{
    return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | p[3];
}

/* An empty file becomes a database, and so does one of SQLite that nobody has claimed. */
static enum rc judge_header(const char *path, const unsigned char *head, ssize_t n, struct err *err)
{
    int64_t owner = n == HEADER_LEN ? number_at(head + AT_APPLICATION) : 0;

    if (n == 0)
        return RC_OK;
    if (n != HEADER_LEN || memcmp(head, "SQLite format 3", 16) != 0)
        return err_set(err, RC_INPUT, "%s is not a database of Feedmill", path);
    if (owner != DB_APPLICATION_ID && owner != 0)
        return err_set(err, RC_INPUT, "%s is a database of another program", path);
    if (owner == DB_APPLICATION_ID && number_at(head + AT_VERSION) > SCHEMA_VERSION)
        return err_set(err, RC_INPUT,
                       "the database %s has schema version %d, and this program knows %d: it belongs to a "
                       "newer Feedmill",
                       path, (int)number_at(head + AT_VERSION), SCHEMA_VERSION);
    return RC_OK;
}

static enum rc judge_file(const char *path, struct err *err)
{
    unsigned char head[HEADER_LEN];
    struct stat st;
    ssize_t n;
    int fd;

    if (stat(path, &st) != 0)
        return errno == ENOENT ? RC_OK : refuse(path, errno, err);
    if (!S_ISREG(st.st_mode))
        return err_set(err, RC_INPUT, "cannot open the database %s: it is not a file", path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return refuse(path, errno, err);
    n = read(fd, head, sizeof head);
    (void)close(fd);
    return judge_header(path, head, n < 0 ? 1 : n, err);
}

enum rc db_file_judge(const char *path, struct err *err)
{
    char *real = realpath(path, NULL); /* NULL: there is no file yet */
    AUTO(mem_autofree) char *copy = mem_strdup(real != NULL ? real : path);
    const char *folder = dirname(copy);

    free(real);

    /* the write-ahead log is made beside the database, not beside a link to it */
    if (access(folder, W_OK | X_OK) != 0)
        return err_set(err, RC_INPUT, "cannot open the database %s: no file can be made in %s: %s", path, folder,
                       strerror(errno));
    return judge_file(path, err);
}
