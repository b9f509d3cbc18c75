/* api/backup.c - POST /backup: a copy of the database while it is used.
 *
 * A thread of its own makes the copy, as a file without a name, so that no reader is occupied by it
 * and nothing is left of it. The loop of the request then sends it as it sends any file: a client
 * that reads slowly makes nobody wait, and one that does not read is cut off as always. Until then
 * the disk has the copy, so there is only one. */
#include "api/backup.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <sys/stat.h>
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

struct backups {
    pthread_mutex_t lock; /* guards all but is_unwanted */
    bool is_stopped;
    bool is_making; /* a copy, which its request does not have yet */
    bool has_thread;
    pthread_t thread; /* that made the last copy, or makes one */
    int fd;           /* of the last copy that was sent. Whoever sends it closes it, ... */
    struct stat sent; /* ... and then it is none, or that of another file */
    atomic_bool is_unwanted; /* the copy that is being made */
};

/* A copy that is being made. */
struct making { /* freed on the loop */
    struct ticket ticket;
    struct api *api;
    enum rc rc;
    struct err err;
    int fd;
    int64_t len;
};

struct backups *backups_new(void)
{
    struct backups *b = NEW(struct backups);

    pthread_mutex_init(&b->lock, NULL);
    b->fd = -1;
    return b;
}

void backups_stop(struct backups *b)
{
    pthread_mutex_lock(&b->lock);
    b->is_stopped = true;
    atomic_store(&b->is_unwanted, true);
    pthread_mutex_unlock(&b->lock);
    if (b->has_thread) /* nobody begins another one */
        pthread_join(b->thread, NULL);
    b->has_thread = false;
}

void backups_free(struct backups **bp)
{
    if (*bp == NULL)
        return;
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

/* Note which copy is being sent, and let the next one be made after it. */
static void hand_out(struct backups *b, int fd)
{
    pthread_mutex_lock(&b->lock);
    b->is_making = false;
    b->fd = fd;
    if (fd >= 0 && fstat(fd, &b->sent) != 0)
        b->fd = -1;
    pthread_mutex_unlock(&b->lock);
}

static void on_home(struct request *req, void *work)
{
    struct making *m = work;

    if (m->rc == RC_OK && req == NULL) /* the client has left */
        close(m->fd);
    hand_out(m->api->backups, m->rc == RC_OK && req != NULL ? m->fd : -1);
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

static void *make(void *ctx)
{
    struct making *m = ctx;
    int64_t began_ms = clock_mono_ms();

    m->rc = store_copy(m->api->store, on_progress, m, &m->fd, &m->len, &m->err);
    if (m->rc == RC_OK)
        log_info("api", "backup", "bytes=%" PRId64 " ms=%" PRId64, m->len,
                 clock_mono_ms() - began_ms);
    else if (m->rc != RC_UNSUPPORTED && m->rc != RC_CLOSED)
        log_warn("api", "backup_failed", "error=%s", log_quote(str_from(m->err.text)));
    ticket_post(&m->ticket, on_home, m);
    return NULL;
}

/* Is the last copy still being sent? Other files of this process have a name. */
static bool is_sending(const struct backups *b)
{
    struct stat now;

    return b->fd >= 0 && fstat(b->fd, &now) == 0 && now.st_dev == b->sent.st_dev &&
           now.st_ino == b->sent.st_ino && now.st_nlink == 0;
}

/* RC_AGAIN: there is one. RC_FULL: the system has no thread. */
static enum rc begin(struct backups *b, struct making *m)
{
    enum rc rc = RC_OK;

    pthread_mutex_lock(&b->lock);
    if (b->is_stopped)
        rc = RC_CLOSED;
    else if (b->is_making || is_sending(b))
        rc = RC_AGAIN;
    if (rc == RC_OK && b->has_thread) /* it has ended: it does nothing after its copy went home */
        pthread_join(b->thread, NULL);
    if (rc == RC_OK) {
        atomic_store(&b->is_unwanted, false);
        b->has_thread = b->is_making = pthread_create(&b->thread, NULL, make, m) == 0;
        rc = b->is_making ? RC_OK : RC_FULL;
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
