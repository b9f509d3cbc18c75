/* storage/pg/mirrors.h - writing of mirrored files (storage/mirrors.h); the reading calls are in
 * reads.h. */
#pragma once

#include "storage/mirrors.h"
#include "storage/pg/link.h"

/* Carry out the change, in a transaction of its own. RC_CONFLICT: as store_mirror(). */
enum rc pg_mirrors_write(struct pg_link *l, const struct mirror_change *c,
                         struct err *err) NODISCARD;
