/* fetcher/room.c - see room.h. */
#include "fetcher/room.h"

#include "base/clock.h"
#include "fetcher/job.h"
#include "storage/store.h"

#define MEAN_OF 16 /* the mean length of documents follows the last so many */

void room_init(struct room *r)
{
    pthread_mutex_init(&r->lock, NULL);
}

void room_release(struct room *r)
{
    pthread_mutex_destroy(&r->lock);
}

/* What was given back is free when a measurement has ended that began after it. What is given back
 * meanwhile waits for the next one. */
static void look(struct room *r, const struct store_room *now)
{
    if (now->n_ended > r->kept_since)
        r->kept = 0;
    if (r->kept > 0 || r->given == 0)
        return;
    r->kept = r->given;
    r->given = 0;
    r->kept_since = now->n_begun;
}

/* What is left of the bound. The caller has the lock, as for look(). */
static int64_t left_of(struct fetcher *f)
{
    struct store_room now = store_room(f->store);

    look(&f->room, &now);
    return now.bytes;
}

/* The caller has the lock. */
static bool change(struct fetcher *f, struct job *job)
{
    struct room *r = &f->room;
    int64_t bytes = ROOM_FACTOR * (int64_t)job->body.len, left = left_of(f);
    int64_t others = r->taken - job->room + r->kept + r->given;

    if (left <= 0 || (others > 0 && others + bytes > left / 2))
        return false;
    r->taken += bytes - job->room;
    job->room = bytes;
    return true;
}

bool room_take(struct fetcher *f, struct job *job)
{
    struct room *r = &f->room;
    bool has_room;

    if (f->stopping || store_max_bytes(f->store) == 0)
        return true;
    pthread_mutex_lock(&r->lock);
    has_room = change(f, job);
    if (has_room)
        r->mean += (job->room - r->mean) / MEAN_OF;
    r->waited_until_ms = has_room ? 0 : clock_mono_ms() + ROOM_WAITED_MS;
    pthread_mutex_unlock(&r->lock);
    return has_room;
}

bool room_take_pushed(struct fetcher *f, struct job *job)
{
    struct room *r = &f->room;
    bool has_room;

    if (store_max_bytes(f->store) == 0)
        return true;
    pthread_mutex_lock(&r->lock);
    has_room = clock_mono_ms() >= r->waited_until_ms && change(f, job);
    pthread_mutex_unlock(&r->lock);
    return has_room;
}

bool room_resize(struct fetcher *f, struct job *job)
{
    bool has_room;

    if (store_max_bytes(f->store) == 0)
        return true;
    pthread_mutex_lock(&f->room.lock);
    has_room = change(f, job);
    pthread_mutex_unlock(&f->room.lock);
    return has_room;
}

/* Returns what the job had. */
static int64_t take_back(struct room *r, struct job *job)
{
    int64_t bytes = job->room;

    r->taken -= bytes;
    job->room = 0;
    return bytes;
}

void room_give(struct fetcher *f, struct job *job)
{
    pthread_mutex_lock(&f->room.lock);
    f->room.given += take_back(&f->room, job);
    pthread_mutex_unlock(&f->room.lock);
}

void room_leave(struct fetcher *f, struct job *job)
{
    pthread_mutex_lock(&f->room.lock);
    take_back(&f->room, job);
    pthread_mutex_unlock(&f->room.lock);
}

/* A job that waits for its turn at another host is started by the same call as a new one, so it
 * must not stand in its own way. */
bool room_lets_start(struct fetcher *f)
{
    int64_t n = (int64_t)work_queue_at_work(f->queue);
    bool lets;

    if (store_max_bytes(f->store) == 0 || n == 0)
        return true;
    pthread_mutex_lock(&f->room.lock);
    lets = (n + 1) * f->room.mean <= left_of(f) / 2;
    pthread_mutex_unlock(&f->room.lock);
    return lets;
}

bool room_is_kept(struct fetcher *f)
{
    bool is_kept;

    if (store_max_bytes(f->store) == 0)
        return false;
    pthread_mutex_lock(&f->room.lock);
    left_of(f);
    is_kept = f->room.kept + f->room.given > 0;
    pthread_mutex_unlock(&f->room.lock);
    return is_kept;
}
