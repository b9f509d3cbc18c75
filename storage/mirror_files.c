/* storage/mirror_files.c - the folder of mirrored files, as far as both who serves them and who fetches
 * them look into it (storage/mirrors.h). */
#include "storage/mirrors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/mirror.h"

bool mirror_folder_is_there(struct str dir)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return access(arena_printf(&a, "%.*s/partial", STR_ARG(dir)), W_OK | X_OK) == 0;
}

/* A file could not be opened. Something else stands in its place, or nothing does. */
static enum mirror_file_state judge(struct str dir, int error)
{
    if (error == ELOOP || (error == ENOENT && mirror_folder_is_there(dir)))
        return MIRROR_FILE_LOST;
    return MIRROR_FILE_BROKEN;
}

enum mirror_file_state mirror_file_open(struct str dir, struct str sha256, int64_t size, int *fd)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct stat st;

    *fd = open(str_z(&a, mirror_path(&a, dir, sha256)), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd >= 0 && fstat(*fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == size)
        return MIRROR_FILE_HERE;
    if (*fd < 0)
        return judge(dir, errno);
    close(*fd);
    *fd = -1;
    return MIRROR_FILE_LOST;
}

enum mirror_file_state mirror_file_look(struct str dir, struct str sha256, int64_t size)
{
    int fd;
    enum mirror_file_state state = mirror_file_open(dir, sha256, size, &fd);

    if (fd >= 0)
        close(fd);
    return state;
}
