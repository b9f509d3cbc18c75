/* api/demo.c - GET /demo/...: files of one directory, for the demonstration page (D101). Without
 * --demo-dir this path does not exist. Nothing else uses this file.
 *
 * The files are read on a reader thread at every request, because the page watches them change. A
 * path is opened name by name, without following links, so it cannot leave the directory. */
#include "api/http/handlers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/http/reply.h"
#include "api/http/task.h"
#include "base/mem.h"
#include "model/media_types.h"
#include "model/paths.h"

#define FILE_MAX (8 * 1024 * 1024)

static const struct {
    const char *suffix, *media_type;
} types[] = {
    {".html", MEDIA_HTML MEDIA_UTF8},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", MEDIA_JSON},
    {".xml", "application/xml"},
    {".rss", MEDIA_RSS},
    {".atom", MEDIA_ATOM},
    {".opml", MEDIA_OPML MEDIA_UTF8},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".gif", "image/gif"},
    {".ico", "image/x-icon"},
    {".txt", "text/plain; charset=utf-8"},
};

struct demo_file {
    struct str dir, path; /* path: the part after "/demo/" */
    struct blob *body;
    int64_t modified_at;
    const char *media_type;
};

static void dispose(struct task *t)
{
    struct demo_file *f = t->data;

    blob_unref(&f->body);
}

static bool is_plain_name(struct str name)
{
    return name.len > 0 && name.ptr[0] != '.' && memchr(name.ptr, '\0', name.len) == NULL;
}

/* Open the file. Returns its descriptor, or -1. */
static int open_below(struct arena *a, struct str dir, struct str path)
{
    int fd = open(str_z(a, dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    while (fd >= 0 && !str_is_null(path)) {
        struct str name = str_split(&path, '/');
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
        int next = -1;

        if (is_plain_name(name))
            next = openat(fd, str_z(a, name), str_is_null(path) ? flags : flags | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    return fd;
}

static bool read_all(int fd, size_t size, char *out)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = read(fd, out + got, size - got);

        if (n <= 0)
            /* it became shorter in the meantime; the next request will read it whole */
            return false;
        got += (size_t)n;
    }
    return true;
}

static const char *type_of(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ends(path, str_from(types[i].suffix)))
            return types[i].media_type;
    return "application/octet-stream";
}

static enum task_step work(struct task *t, struct reader *r UNUSED)
{
    struct demo_file *f = t->data;
    struct stat st;
    int fd = open_below(&t->arena, f->dir, f->path);

    t->rc = RC_NOT_FOUND;
    if (fd < 0)
        return TASK_ENDS;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MAX) {
        char *bytes = mem_alloc((size_t)st.st_size + 1);

        if (read_all(fd, (size_t)st.st_size, bytes)) {
            f->body = blob_new(bytes, (size_t)st.st_size);
            f->modified_at = st.st_mtime;
            f->media_type = type_of(f->path);
            t->rc = RC_OK;
        } else {
            mem_free(bytes);
        }
    }
    close(fd);
    return TASK_ENDS;
}

static void done(struct task *t, struct request *req)
{
    struct demo_file *f = t->data;
    struct reply r = REPLY_INIT;

    if (t->rc != RC_OK) {
        struct problem p;

        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND,
                    "There is no such file in the demonstration.");
        reply_problem(req, &p);
        return;
    }
    r.media_type = f->media_type;
    r.cache = "no-cache";
    r.modified_at = f->modified_at;
    r.etag = reply_etag(req->ask.arena, blob_bytes(f->body));
    r.body = f->body;
    reply_send(req, &r);
}

void demo_get(struct request *req)
{
    struct str path = http_request_path(req->http);
    struct task *t;
    struct demo_file *f;

    if (str_is_null(req->ask.cfg->demo_dir)) {
        struct problem p;

        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND,
                    "This server does not serve the demonstration.");
        reply_problem(req, &p);
        return;
    }
    path = str_slice(path, sizeof(PATH_DEMO) - 1, path.len);
    t = task_new(req, work, done);
    f = ARENA_NEW(&t->arena, struct demo_file);
    f->dir = str_dup(&t->arena, req->ask.cfg->demo_dir);
    f->path = path.len > 1 ? str_dup(&t->arena, str_slice(path, 1, path.len)) : STR("index.html");
    t->data = f;
    t->dispose = dispose;
    task_start(t);
}
