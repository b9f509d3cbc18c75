/* storage/follower.h - follows the commits of other nodes: one thread with a connection of its own.
 * It is woken when another node has committed, and looks once a second anyway, because a wake-up
 * may be lost. Only for an engine that has several writers. */
#pragma once

#include "storage/tail.h"

struct follower;

/* Connect and start the thread. The writing connection, the engine and the tail are borrowed.
 * RC_IO: it cannot be started. */
enum rc follower_start(const struct engine *engine, struct db *writer, struct tail *t,
                       struct follower **out, struct err *err) NODISCARD;

/* As store_catch_up(). Any thread. */
void follower_ask(struct follower *f, store_current_fn *done, void *ctx);

/* End the thread, free. All that still ask are answered. NULL is allowed. */
void follower_free(struct follower **fp);
