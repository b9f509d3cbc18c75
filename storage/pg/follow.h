/* storage/pg/follow.h - the connection that follows other nodes: a reader that listens to the
 * channel `feedmill`, to which each transaction with a notice sends the number of its node. */
#pragma once

#include "storage/engine.h"

/* As engine.open_follower. */
enum rc pg_follow_open(struct db *writer, struct db **out, struct err *err) NODISCARD;
