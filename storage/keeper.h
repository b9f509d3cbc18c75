/* storage/keeper.h - a thread that has the storer take what is older than is to be kept, forget
 * what need not be known any more of what was taken, and give back the space in the file.
 *
 * It goes through all feeds within a minute. What is old enough is found by a reader; what of that
 * may go is decided in the transaction that takes it (apply_retain.c). Between two operations it
 * rests, so that others have their turn at the storer. With several nodes the one that leads does
 * it.
 */
#pragma once

#include "storage/store.h"

struct keeper;

/* `options`: what is kept of a feed for which nobody has a wish (model/keep.h); 0: everything. */
struct keeper *keeper_new(struct store *s, const struct keep *options);
enum rc keeper_start(struct keeper *k, struct err *err) NODISCARD;

/* Before the store is closed, also if it was not started. */
void keeper_stop(struct keeper *k);
void keeper_free(struct keeper **kp);
