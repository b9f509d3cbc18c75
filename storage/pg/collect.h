/* storage/pg/collect.h - the lines of each statement that writes, collected of the rows that a
 * transaction has changed. */
#pragma once

#include "base/map.h"
#include "storage/pg/ids.h"
#include "storage/pg/saves.h"

/* Start with {.n = {0}}. */
struct collected {
    const void **rows[SAVE_KINDS];
    size_t n[SAVE_KINDS], cap[SAVE_KINDS];
    struct map lines[SAVE_KINDS]; /* of kinds of which lines are looked for, by two numbers */
};

/* Lines may refer to the rows, and are in the arena. New entries and bodies get their ids. */
void collect_rows(struct pg_ids *ids, struct collected *c, struct arena *a, struct rows *r);
void collected_release(struct collected *c);
