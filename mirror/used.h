/* mirror/used.h - files that were served, or found to be lost, until that is stored. Each once. The
 * caller locks. */
#pragma once

#include "base/arena.h"
#include "model/mirror.h"
#include "storage/mirrors.h"

#define USED_MAX 256 /* what comes after so many is forgotten */

struct used_files {
    struct {
        char sha256[MIRROR_KEY_LEN];
        int64_t at_us;
        bool is_lost;
    } files[USED_MAX];
    size_t n;
};

void used_files_add(struct used_files *u, struct str sha256, int64_t at_us, bool is_lost);

/* Take all: *used is those that were served, *lost is the digests of those that are lost. Arena. */
void used_files_take(struct used_files *u, struct arena *a, struct mirror_use **used,
                     size_t *n_used, struct str **lost, size_t *n_lost);
