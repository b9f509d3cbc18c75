/* api/backup.c - POST /backup: a copy of the database while it is used.
 *
 * A thread of its own makes the copy, as a file without a name, so that no reader is occupied by it
 * and nothing is left of it. The loop of the request then sends it as it sends any file: a client
 * that reads slowly makes nobody wait, and one that does not read is cut off as always. Until then
 * the disk has the copy, so there is only one. When the loop has closed it, the thread does so, too:
 * the last one to close a file without a name takes it from the disk, which lasts a quarter of a
 * second for each GB. The thread has opened it once more, and the loop's descriptor has a lock
 * (flock(2)), which goes when it is closed, however that happens. */
#include "api/backup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/media_types.h"
#include "storage/upkeep.h"

#define MAKING_MS ((int64_t)24 * 60 * 60 * 1000) /* a request waits so long for its copy */
#define AGAIN_S 10                               /* when there is another one */
#define LOOK_MS 100                              /* whether the loop has closed the copy */

struct backups {
    pthread_mutex_t lock;    /* guards all but is_unwanted */
    pthread_cond_t stopping; /* is_stopped is set; CLOCK_MONOTONIC */
    bool is_stopped;
    bool is_making; /* a copy, which its request does not have yet */
    bool has_thread;
    pthread_t thread; /* that made the last copy, or makes one */
    int fd;           /* that thread's, of a copy that is made; -1: none */
    atomic_bool is_unwanted; /* the copy that is being made */
};

/* A copy that is being made. */
struct making { /* freed on the loop */
    struct ticket ticket;
    struct api *api;
    bool has_before;
    pthread_t before; /* the thread of the copy before; it may still be closing that */
    enum rc rc;
    struct err err;
    int fd;
    int64_t len;
};

struct backups *backups_new(void)
{
    struct backups *b = NEW(struct backups);
    pthread_condattr_t attr;

    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->stopping, &attr);
    pthread_condattr_destroy(&attr);
    b->fd = -1;
    return b;
}

void backups_stop(struct backups *b)
{
    pthread_mutex_lock(&b->lock);
    b->is_stopped = true;
    atomic_store(&b->is_unwanted, true);
    pthread_cond_broadcast(&b->stopping);
    pthread_mutex_unlock(&b->lock);
    if (b->has_thread) /* nobody begins another one */
        pthread_join(b->thread, NULL);
    b->has_thread = false;
}

void backups_free(struct backups **bp)
{
    if (*bp == NULL)
        return;
    pthread_cond_destroy(&(*bp)->stopping);
    pthread_mutex_destroy(&(*bp)->lock);
    mem_free(*bp);
    *bp = NULL;
}

/* ---- the copy is there ----------------------------------------------------------------------- */

static void reply_copy(struct request *req, const struct making *m)
{
    struct reply r = REPLY_INIT;

    r.media_type = MEDIA_SQLITE;
    r.cache = "no-store";
    r.fields = STR("Content-Disposition: attachment; filename=\"feeds.db\"\r\n"
                   "X-Content-Type-Options: nosniff\r\n");
    reply_file(req, &r, m->fd, 0, m->len);
}

static void reply_failure(struct request *req, const struct making *m)
{
    struct arena *a = req->ask.arena;
    struct problem p;

    if (m->rc == RC_UNSUPPORTED) {
        problem_set(&p, a, PROBLEM_NOT_FOUND, "%s.", m->err.text);
    } else if (m->rc == RC_FULL) {
        problem_set(&p, a, PROBLEM_UNAVAILABLE, "%s.", m->err.text);
        p.status = 507;
    } else if (m->rc == RC_CLOSED) {
        problem_set(&p, a, PROBLEM_BUSY, "The service is being started anew. Ask again.");
        p.retry_after_s = 1;
    } else {
        problem_of_err(&p, a, m->rc, &m->err);
    }
    reply_problem(req, &p);
}

static void on_home(struct request *req, void *work)
{
    struct making *m = work;
    struct backups *b = m->api->backups;

    pthread_mutex_lock(&b->lock);
    b->is_making = false;
    pthread_mutex_unlock(&b->lock);
    if (m->rc == RC_OK && req == NULL) /* the client has left */
        close(m->fd);
    if (req != NULL && m->rc == RC_OK)
        reply_copy(req, m);
    else if (req != NULL)
        reply_failure(req, m);
    mem_free(m);
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool on_progress(void *ctx, int64_t n_done UNUSED, int64_t n_all UNUSED)
{
    const struct making *m = ctx;

    return !atomic_load(&m->api->backups->is_unwanted);
}

/* Open the copy once more, and lock it by the loop's descriptor. -1: that is not possible here, so
 * the loop closes it last, and nobody knows when. */
static int open_again(int loops)
{
    char path[32];
    int fd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", loops);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && flock(loops, LOCK_SH) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Does the loop still have it open? The caller has the lock. */
static bool is_sent_locked(const struct backups *b)
{
    return b->fd >= 0 && flock(b->fd, LOCK_EX | LOCK_NB) != 0;
}

/* Close the copy after the loop has closed it. */
static void close_last(struct backups *b)
{
    int fd;

    pthread_mutex_lock(&b->lock);
    while (!b->is_stopped && is_sent_locked(b)) {
        struct timespec until = clock_mono_after_ms(LOOK_MS);

        pthread_cond_timedwait(&b->stopping, &b->lock, &until);
    }
    fd = b->fd;
    b->fd = -1;
    pthread_mutex_unlock(&b->lock);
    if (fd >= 0)
        close(fd);
}

static void *make(void *ctx)
{
    struct making *m = ctx;
    struct backups *b = m->api->backups;
    int64_t began_ms = clock_mono_ms();
    int again = -1;

    if (m->has_before)
        pthread_join(m->before, NULL);
    m->rc = store_copy(m->api->store, on_progress, m, &m->fd, &m->len, &m->err);
    if (m->rc == RC_OK)
        log_info("api", "backup", "bytes=%" PRId64 " ms=%" PRId64, m->len,
                 clock_mono_ms() - began_ms);
    else if (m->rc != RC_UNSUPPORTED && m->rc != RC_CLOSED)
        log_warn("api", "backup_failed", "error=%s", log_quote(str_from(m->err.text)));
    if (m->rc == RC_OK)
        again = open_again(m->fd);
    pthread_mutex_lock(&b->lock);
    b->fd = again;
    pthread_mutex_unlock(&b->lock);
    ticket_post(&m->ticket, on_home, m);
    close_last(b);
    return NULL;
}

/* RC_AGAIN: there is one. RC_FULL: the system has no thread. */
static enum rc begin(struct backups *b, struct making *m)
{
    enum rc rc = RC_OK;
    pthread_t thread;

    pthread_mutex_lock(&b->lock);
    if (b->is_stopped)
        rc = RC_CLOSED;
    else if (b->is_making || is_sent_locked(b))
        rc = RC_AGAIN;
    if (rc == RC_OK) {
        m->has_before = b->has_thread;
        m->before = b->thread;
        atomic_store(&b->is_unwanted, false);
        rc = pthread_create(&thread, NULL, make, m) == 0 ? RC_OK : RC_FULL;
    }
    if (rc == RC_OK) {
        b->thread = thread;
        b->has_thread = b->is_making = true;
    }
    pthread_mutex_unlock(&b->lock);
    return rc;
}

static void on_gone(struct request *req)
{
    atomic_store(&req->ask.api->backups->is_unwanted, true);
}

static void refuse(struct request *req, enum rc rc)
{
    struct problem p;

    problem_of_err(&p, req->ask.arena, rc, NULL);
    if (rc == RC_AGAIN)
        problem_set(&p, req->ask.arena, PROBLEM_BUSY,
                    "A backup is being made, or is still being read. There is one at a time.");
    p.retry_after_s = AGAIN_S;
    reply_problem(req, &p);
}

void backup_post(struct request *req)
{
    struct making *m = NEW(struct making);
    enum rc rc;

    m->api = req->ask.api;
    m->ticket = ticket_take(req, MAKING_MS);
    rc = begin(req->ask.api->backups, m);
    if (rc == RC_OK) {
        req->on_gone = on_gone;
        return;
    }
    mem_free(m);
    refuse(req, rc);
}
