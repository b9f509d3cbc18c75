/* fetcher/room.c - see room.h. */
#include "fetcher/room.h"

#include "fetcher/job.h"
#include "storage/store.h"

#define MEAN_OF 16 /* the mean length of documents follows the last so many */

/* What was given back is free when a measurement has ended that began after it. What is given back
 * meanwhile waits for the next one. */
static void look(struct fetcher *f, const struct store_room *now)
{
    struct room *r = &f->room;

    if (now->n_ended > r->kept_since)
        r->kept = 0;
    if (r->kept > 0 || r->given == 0)
        return;
    r->kept = r->given;
    r->given = 0;
    r->kept_since = now->n_begun;
}

static int64_t room_of(struct fetcher *f)
{
    struct store_room now = store_room(f->store);

    look(f, &now);
    return now.bytes;
}

bool room_take(struct fetcher *f, struct job *job)
{
    struct room *r = &f->room;
    int64_t bytes = ROOM_FACTOR * (int64_t)job->body.len, left;

    if (f->stopping || store_max_bytes(f->store) == 0)
        return true;
    left = room_of(f);
    if (left <= 0 ||
        (r->taken + r->kept + r->given > 0 && r->taken + r->kept + r->given + bytes > left / 2))
        return false;
    r->mean += (bytes - r->mean) / MEAN_OF;
    r->taken += bytes;
    job->room = bytes;
    return true;
}

void room_give(struct fetcher *f, struct job *job)
{
    f->room.taken -= job->room;
    f->room.given += job->room;
    job->room = 0;
}

void room_leave(struct fetcher *f, struct job *job)
{
    f->room.taken -= job->room;
    job->room = 0;
}

/* A job that waits for its turn at another host is started by the same call as a new one, so it
 * must not stand in its own way. */
bool room_lets_start(struct fetcher *f)
{
    int64_t n = (int64_t)work_queue_at_work(f->queue);

    return store_max_bytes(f->store) == 0 || n == 0 || (n + 1) * f->room.mean <= room_of(f) / 2;
}

bool room_is_kept(const struct fetcher *f)
{
    return f->room.kept + f->room.given > 0;
}
