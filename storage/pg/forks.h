/* storage/pg/forks.h - another server took over: it may lack what was acknowledged last, so it must
 * not give out the same numbers again. */
#pragma once

#include "storage/pg/link.h"

/* So many numbers are left out: more than are given out in the time by which a standby may lag. */
#define FORK_GAP (INT64_C(1) << 20)

/* Compare the server's timeline with that of the log; if it is another one, leave numbers out, and
 * note that in the table `forks`. Sequences of ids leave as many out. Each connection that draws an
 * id or a number does it first. `seen_seq` and `seen_notice`: numbers that this node has seen; 0:
 * none. One trip, rarely three. */
enum rc pg_fork_note(struct pg_link *l, int64_t seen_seq, int64_t seen_notice,
                     struct err *err) NODISCARD;
