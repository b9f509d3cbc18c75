/* storage/mirror_files.c - the folder of mirrored files, as far as both who serves them and who fetches
 * them look into it (storage/mirrors.h). */
#include "storage/mirrors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/mirror.h"

static bool has_folder(struct str dir, int how)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return access(arena_printf(&a, "%.*s/partial", STR_ARG(dir)), how) == 0;
}

bool mirror_folder_is_there(struct str dir)
{
    return has_folder(dir, W_OK | X_OK);
}

/* A file could not be opened. Something else stands in its place, or nothing does. A node that only
 * serves need not be able to write. */
static enum mirror_file_state judge(struct str dir, int error)
{
    bool is_lost = error == ELOOP || (error == ENOENT && has_folder(dir, X_OK));

    errno = error;
    return is_lost ? MIRROR_FILE_LOST : MIRROR_FILE_BROKEN;
}

enum mirror_file_state mirror_file_open(struct str dir, struct str sha256, int64_t size, int *fd)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct stat st;
    int error;

    *fd = open(str_z(&a, mirror_path(&a, dir, sha256)), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0)
        return judge(dir, errno);
    error = fstat(*fd, &st) == 0 ? 0 : errno;
    if (error == 0 && S_ISREG(st.st_mode) && st.st_size == size)
        return MIRROR_FILE_HERE;
    close(*fd);
    *fd = -1;
    return error == 0 ? MIRROR_FILE_LOST : judge(dir, error);
}

enum mirror_file_state mirror_file_look(struct str dir, struct str sha256, int64_t size)
{
    int fd;
    enum mirror_file_state state = mirror_file_open(dir, sha256, size, &fd);

    if (fd >= 0)
        close(fd);
    return state;
}
