/* storage/judge.h - are these values of --db, --db-replica, --key-file and --memcached what a store could
 * be opened with? Nothing is made, locked or connected to. Call them while this process has no store
 * open. RC_INPUT: no; *err says why. An empty text is in order, but for the database.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum rc store_judge_database(struct str address, struct err *err) NODISCARD;
enum rc store_judge_replica(struct str address, struct str database, struct err *err) NODISCARD;
enum rc store_judge_key(struct str path, struct err *err) NODISCARD;
enum rc store_judge_memcached(struct str server, struct err *err) NODISCARD;
