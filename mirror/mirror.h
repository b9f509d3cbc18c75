/* mirror/mirror.h - the mirror: copies of the files that entries of certain feeds name, in a
 * folder.
 *
 * It is a consumer of the log: its place stands in the database and moves in one transaction with
 * the files that were found, so nothing is missed whatever ends the process. What is fetched, tried
 * again and dropped stands there, too (storage/mirrors.h). A thread of its own reads and decides,
 * and waits for the disk; a loop of its own has the transfers. With several nodes the owner of slot
 * 0 does this, and the folder must be one that all nodes have.
 */
#pragma once

#include "net/guard.h"
#include "storage/nodes.h"
#include "storage/store.h"

struct mirror_cfg { /* all borrowed, as long as the mirror lives */
    struct store *store;
    struct guard *guard;
    const char *user_agent;
    struct str dir;
    int64_t max_size;  /* bytes of one file */
    int64_t max_total; /* bytes of all files that are stored */
    struct str types;  /* as mirror_has_type() takes them */
};

struct mirror;

/* Make it, before the first write. mirror_start() makes the folder, and starts the thread. RC_IO:
 * it cannot. */
struct mirror *mirror_new(const struct mirror_cfg *cfg);
enum rc mirror_start(struct mirror *m, struct err *err) NODISCARD;

/* The file with this digest was asked for now. is_lost: it was not in the folder; if the node that leads
 * is told so and finds it, too, the file is fetched once more. Any thread. NULL is allowed. */
void mirror_used(struct mirror *m, struct str sha256, bool is_lost);

/* End the thread and all transfers, while the store is open; what has come stays. Free it after the
 * store was closed, set to NULL. NULL is allowed. */
void mirror_stop(struct mirror *m);
void mirror_free(struct mirror **mp);
