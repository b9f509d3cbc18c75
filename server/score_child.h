/* server/score_child.h - the fetcher that is judged: a process, and what it says.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct score_child {
    long pid;        /* of the process and its group; 0: it has ended */
    int out;         /* its standard output, to be read; -1: it has closed it */
    struct buf said; /* the line that is not complete yet */
};

/* Start argv, a list that ends with NULL, in a group of its own; it ends with this process. */
enum rc score_child_start(struct score_child *c, char *const *argv, struct err *err) NODISCARD;

/* Take in what it says, and copy that to standard error. If a line of it says that a daemon of
 * Feedmill is ready, return its URL; else null. Arena. */
struct str score_child_listen(struct score_child *c, struct arena *a);

/* Has it ended by itself? */
bool score_child_has_ended(struct score_child *c);

/* End the whole group. */
void score_child_stop(struct score_child *c);
