/* fetcher/room.h - what documents may still add to a database whose size is bounded (--max-size).
 *
 * How much a document adds is not known before it is stored, so each takes room first, by its
 * length, and keeps it until the database was measured after it was stored. Half of what is left is
 * given out at a time; so the warning is seen before the bound is reached, and less and less is
 * under way. At least one document is. What hubs push takes its room in the same way as what was fetched.
 *
 * Whoever frees a job must have given its room back; room that nobody gives back stops fetching for
 * ever. The struct has a lock, because pushes come and end on any thread.
 */
#pragma once

#include <stdbool.h>

#include "fetcher/fetcher_priv.h"

/* A document adds at most about so many times its length, for a while: its entries, their words,
 * the indexes, and once more what of them is in the write-ahead log. */
#define ROOM_FACTOR 8

#define ROOM_LOOK_MS 100 /* how often to look again while documents have room or wait for it */

/* While a fetched document waits, and so long after, pushes get no room: many small ones would never let a large one
 * have its turn. */
#define ROOM_WAITED_MS 500

void room_init(struct room *r);
void room_release(struct room *r);

/* May the document of this job be stored? It has its room then. The fetch loop. */
bool room_take(struct fetcher *f, struct job *job);

/* The same for what a hub has pushed. Any thread. */
bool room_take_pushed(struct fetcher *f, struct job *job);

/* The document of a job that has room turned out to be longer: may it still be stored? If not, it keeps what it
 * had. Any thread. */
bool room_resize(struct fetcher *f, struct job *job);

/* It was stored, or is not to be. A job that has no room is allowed. Any thread. */
void room_give(struct fetcher *f, struct job *job);

/* It is not read now after all, and takes its room again later. Any thread. */
void room_leave(struct fetcher *f, struct job *job);

/* May one more fetch start, as far as the size goes? The fetch loop. */
bool room_lets_start(struct fetcher *f);

/* Is room kept until the next measurement? Then somebody must see to it that there is one. Any thread. */
bool room_is_kept(struct fetcher *f);
