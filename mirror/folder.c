/* mirror/folder.c - see folder.h. */
#include "mirror/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/mirror.h"
#include "storage/mirrors.h"

/* Look through a folder. `take` says whether a name counts, and makes it the name of the file. */
typedef bool take_fn(struct str *name);

static int by_name(const void *x, const void *y)
{
    const struct folder_file *f = x, *g = y;

    return str_cmp(f->name, g->name);
}

static int by_time(const void *x, const void *y)
{
    const struct folder_file *f = x, *g = y;

    return f->written_us != g->written_us
               ? (f->written_us > g->written_us) - (f->written_us < g->written_us)
               : str_cmp(f->name, g->name);
}

static void list(const char *path, take_fn *take, struct arena *a, struct folder_file **out,
                 size_t *n)
{
    DIR *d = opendir(path);
    struct dirent *e;
    size_t cap = 0;
    struct folder_file *all = NULL;

    *n = 0;
    while (d != NULL && (e = readdir(d)) != NULL) {
        struct str name = str_from(e->d_name);
        bool is_tag = str_ends(name, STR(".tag"));
        struct stat st;

        if (!take(&name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        all = mem_grow(all, &cap, *n + 1, sizeof *all);
        all[(*n)++] =
            (struct folder_file){str_dup(a, name), is_tag ? 0 : st.st_size,
                                 (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000};
    }
    if (d != NULL)
        (void)closedir(d);
    *out = ARENA_ARRAY(a, struct folder_file, *n + 1);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = all[i];
    mem_free(all);
}

static bool take_partial(struct str *name)
{
    if (str_ends(*name, STR(".tag")))
        *name = str_slice(*name, 0, name->len - 4);
    return mirror_is_digest(*name);
}

/* A file and its tag are one. */
static size_t join_tags(struct folder_file *files, size_t n)
{
    size_t kept = 0;

    qsort(files, n, sizeof *files, by_name);
    for (size_t i = 0; i < n; i++) {
        struct folder_file *last = kept > 0 ? &files[kept - 1] : NULL;

        if (last == NULL || !str_eq(last->name, files[i].name)) {
            files[kept++] = files[i];
            continue;
        }
        last->size += files[i].size; /* that of the tag is 0 */
        if (files[i].written_us > last->written_us)
            last->written_us = files[i].written_us;
    }
    return kept;
}

void folder_partials(struct str dir, struct arena *a, struct folder_file **out, size_t *n)
{
    list(arena_printf(a, "%.*s/partial", STR_ARG(dir)), take_partial, a, out, n);
    *n = join_tags(*out, *n);
    qsort(*out, *n, sizeof **out, by_time);
}

static bool take_stored(struct str *name)
{
    return mirror_is_digest(*name);
}

void folder_files(struct str dir, unsigned char first, struct arena *a, struct folder_file **out,
                  size_t *n)
{
    struct str prefix = str_printf(a, "%02x", first);
    size_t kept = 0;

    list(arena_printf(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(prefix)), take_stored, a, out, n);
    for (size_t i = 0; i < *n; i++)
        if (str_starts((*out)[i].name, prefix))
            (*out)[kept++] = (*out)[i];
    *n = kept;
}

bool folder_drop_partial(struct str dir, struct str key)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *path = arena_printf(&a, "%.*s/partial/%.*s", STR_ARG(dir), STR_ARG(key));
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_free = fd >= 0 ? flock(fd, LOCK_EX | LOCK_NB) == 0 : errno == ENOENT;

    if (is_free) {
        (void)unlink(arena_printf(&a, "%s.tag", path));
        (void)unlink(path);
    }
    if (fd >= 0)
        close(fd);
    return is_free;
}

bool folder_watch(struct str dir, bool *is_broken)
{
    bool was = *is_broken;

    *is_broken = !mirror_folder_is_there(dir);
    stats_set(STAT_mirror_folder_broken, *is_broken);
    if (*is_broken && !was)
        log_error("mirror", "folder_broken", "dir=%s effect=nothing_is_fetched_or_served what=%s", log_quote(dir),
                  log_quote(STR("it has no folder 'partial' that can be written to: is the disk mounted? If the files "
                                "are gone for ever, make that folder")));
    if (!*is_broken && was)
        log_info("mirror", "folder_back", "dir=%s", log_quote(dir));
    return !*is_broken;
}
