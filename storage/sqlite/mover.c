/* storage/sqlite/mover.c - see mover.h. */
#include "storage/sqlite/mover.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/mem.h"
#include "storage/sqlite/db_priv.h"

#define LEFT_MOST 256 /* pages: the storer moves so many in a few milliseconds */

/* The pages of each round are those that were committed during the one before. When the storer
 * writes as fast as pages can be moved, or a reader needs old ones, more rounds are of no use. */
#define ROUNDS_MOST 4

/* With so many pages in the log the storer writes faster than pages are moved, and waits. */
#define LOG_MANY_PAGES (2 * LOG_PAGES)

struct mover {
    struct db *db;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next ones */
    pthread_cond_t turn;  /* is_busy or is_stopped has changed */
    bool is_busy, is_stopped;
    bool has_moved; /* it has done what it can for the log as it is now */
    int pages;      /* in the log after the last commit */
};

/* Move what can be moved. Returns how many pages are left by now; 0 after an error. */
static int move(struct mover *m)
{
    int in_log = 0, moved = 0, left;

    if (sqlite3_wal_checkpoint_v2(OWN(m->db)->sq, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log,
                                  &moved) != SQLITE_OK)
        return 0;
    pthread_mutex_lock(&m->lock);
    left = m->pages - moved;
    pthread_mutex_unlock(&m->lock);
    return left;
}

static void *mover_main(void *arg)
{
    struct mover *m = arg;

    thread_set_name("mover");
    pthread_mutex_lock(&m->lock);
    for (;;) {
        while (!m->is_busy && !m->is_stopped)
            pthread_cond_wait(&m->turn, &m->lock);
        if (m->is_stopped)
            break;
        pthread_mutex_unlock(&m->lock);
        for (int i = 0; i < ROUNDS_MOST && move(m) > LEFT_MOST; i++)
            ;
        pthread_mutex_lock(&m->lock);
        m->is_busy = false;
        m->has_moved = m->pages >= LOG_PAGES; /* the log may just have started anew */
        pthread_cond_broadcast(&m->turn);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* The first statement opens the log, without which a connection moves nothing. */
static enum rc open_log(const char *path, struct db **out, struct err *err)
{
    int64_t n;
    enum rc rc = db_open_file(path, SQLITE_OPEN_READWRITE, out, err);

    if (rc == RC_OK)
        rc = db_script(*out, "PRAGMA synchronous = FULL", err);
    if (rc == RC_OK)
        rc = db_number(*out, "SELECT count(*) FROM sqlite_schema", &n, err);
    return rc;
}

enum rc mover_new(const char *path, struct mover **out, struct err *err)
{
    struct mover *m = NEW(struct mover);
    enum rc rc = open_log(path, &m->db, err);

    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->turn, NULL);
    if (rc == RC_OK && pthread_create(&m->thread, NULL, mover_main, m) != 0)
        rc = err_set(err, RC_IO, "cannot start the thread that empties the write-ahead log");
    if (rc == RC_OK) {
        *out = m;
        return RC_OK;
    }
    m->is_stopped = true;
    db_close(&m->db);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->turn);
    mem_free(m);
    return rc;
}

bool mover_tell(struct mover *m, int pages)
{
    bool is_ours = false;

    pthread_mutex_lock(&m->lock);
    m->pages = pages;
    while (m->is_busy && pages >= LOG_MANY_PAGES)
        pthread_cond_wait(&m->turn, &m->lock);
    if (pages < LOG_PAGES) {
        m->has_moved = false;
    } else if (!m->is_busy) {
        is_ours = m->has_moved;
        m->has_moved = false;
        m->is_busy = !is_ours;
        pthread_cond_broadcast(&m->turn);
    }
    pthread_mutex_unlock(&m->lock);
    return is_ours;
}

void mover_wait(struct mover *m)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    while (m->is_busy)
        pthread_cond_wait(&m->turn, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

void mover_free(struct mover **mp)
{
    struct mover *m = *mp;

    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    m->is_stopped = true;
    pthread_cond_broadcast(&m->turn);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    db_close(&m->db);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->turn);
    mem_free(m);
    *mp = NULL;
}
