/* base/line_file.c - see line_file.h.
 *
 * There are two buffers: lines are put into one while the thread writes the other. A pipe takes as
 * much as poll() has promised without blocking if it is no more than PIECE, so even a reader
 * that has stopped does not keep the thread from ending. */
#include "base/line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define ROOM (1024 * 1024) /* bytes of a buffer */
#define PIECE 4096         /* bytes of one write: PIPE_BUF of Linux */
#define REST_MS 10         /* after a write, so that the next one has many lines */
#define LOOK_MS 100
#define END_MS 2000

struct line_file {
    enum stat_id written, dropped;
    pthread_t thread;
    atomic_bool is_open;
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t filled; /* len grew, or ending was set */
    char *lines;           /* that wait: ROOM bytes */
    size_t len;
    int fd;      /* for the lines from now on; -1: none */
    bool ending; /* goes false -> true once */
    int64_t end_mono_ms;
};

static bool is_over(struct line_file *f)
{
    bool over;

    pthread_mutex_lock(&f->lock);
    over = f->ending && clock_mono_ms() >= f->end_mono_ms;
    pthread_mutex_unlock(&f->lock);
    return over;
}

/* Write bytes to the end. False: that is not possible, or it takes too long at the end. */
static bool write_all(struct line_file *f, int fd, const char *at, size_t len)
{
    while (len > 0) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        ssize_t n;

        if (poll(&p, 1, LOOK_MS) == 0) {
            if (is_over(f))
                return false;
            continue;
        }
        n = write(fd, at, len < PIECE ? len : PIECE);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static size_t count_lines(const char *at, size_t len)
{
    size_t n = 0;

    for (const char *end = at + len; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        n++;
    return n;
}

static void *main_of(void *arg)
{
    struct line_file *f = arg;
    char *spare = mem_alloc(ROOM);
    bool ending = false;

    while (!ending) {
        char *lines;
        size_t len;
        int fd;

        pthread_mutex_lock(&f->lock);
        while (f->len == 0 && !f->ending)
            pthread_cond_wait(&f->filled, &f->lock);
        lines = f->lines;
        len = f->len;
        fd = f->fd < 0 ? -1 : fcntl(f->fd, F_DUPFD_CLOEXEC, 0); /* it may be replaced meanwhile */
        ending = f->ending;
        f->lines = spare;
        f->len = 0;
        pthread_mutex_unlock(&f->lock);
        stats_add(fd >= 0 && write_all(f, fd, lines, len) ? f->written : f->dropped,
                  (int64_t)count_lines(lines, len));
        if (fd >= 0)
            close(fd);
        spare = lines;
        if (!ending)
            poll(NULL, 0, REST_MS);
    }
    mem_free(spare);
    return NULL;
}

struct line_file *line_file_new(enum stat_id written, enum stat_id dropped)
{
    struct line_file *f = NEW(struct line_file);

    f->written = written;
    f->dropped = dropped;
    f->fd = -1;
    f->lines = mem_alloc(ROOM);
    atomic_init(&f->is_open, false);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->filled, NULL);
    if (pthread_create(&f->thread, NULL, main_of, f) != 0)
        f->ending = true; /* there is no thread, so nothing can be opened */
    return f;
}

enum rc line_file_open(struct line_file *f, struct str path, struct err *err)
{
    AUTO(mem_autofree) char *name = mem_strndup(path.len > 0 ? path.ptr : "", path.len);
    int fd = -1, old;

    if (f->ending)
        return err_set(err, RC_IO, "cannot start a thread for \"%s\"", name);
    if (strcmp(name, "-") == 0)
        fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    else if (name[0] != '\0')
        fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
    if (fd < 0 && name[0] != '\0')
        return err_set(err, RC_IO, "cannot open \"%s\": %s", name, strerror(errno));
    pthread_mutex_lock(&f->lock);
    old = f->fd;
    f->fd = fd;
    pthread_mutex_unlock(&f->lock);
    atomic_store(&f->is_open, fd >= 0);
    if (old >= 0)
        close(old);
    return RC_OK;
}

bool line_file_is_open(const struct line_file *f)
{
    return f != NULL && atomic_load_explicit(&f->is_open, memory_order_relaxed);
}

void line_file_put(struct line_file *f, struct str line)
{
    bool has_room, was_empty;

    pthread_mutex_lock(&f->lock);
    was_empty = f->len == 0;
    has_room = line.len <= ROOM - f->len && f->fd >= 0;
    if (has_room) {
        memcpy(f->lines + f->len, line.ptr, line.len);
        f->len += line.len;
    }
    pthread_mutex_unlock(&f->lock);
    if (!has_room)
        stats_inc(f->dropped);
    else if (was_empty)
        pthread_cond_signal(&f->filled);
}

void line_file_free(struct line_file **fp)
{
    struct line_file *f = *fp;
    bool has_thread;

    if (f == NULL)
        return;
    pthread_mutex_lock(&f->lock);
    has_thread = !f->ending;
    f->ending = true;
    f->end_mono_ms = clock_mono_ms() + END_MS;
    pthread_mutex_unlock(&f->lock);
    pthread_cond_signal(&f->filled);
    if (has_thread)
        pthread_join(f->thread, NULL);
    if (f->fd >= 0)
        close(f->fd);
    mem_free(f->lines);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->filled);
    mem_free(f);
    *fp = NULL;
}
