/* mirror/used.c - see used.h. */
#include "mirror/used.h"

#include <string.h>

void used_files_add(struct used_files *u, struct str sha256, int64_t at_us, bool is_lost)
{
    size_t i = 0;

    while (i < u->n && memcmp(u->files[i].sha256, sha256.ptr, MIRROR_KEY_LEN) != 0)
        i++;
    if (i == USED_MAX)
        return;
    if (i == u->n) {
        memcpy(u->files[i].sha256, sha256.ptr, MIRROR_KEY_LEN);
        u->files[i].is_lost = false;
        u->n++;
    }
    u->files[i].at_us = at_us;
    u->files[i].is_lost |= is_lost;
}

void used_files_take(struct used_files *u, struct arena *a, struct mirror_use **used,
                     size_t *n_used, struct str **lost, size_t *n_lost)
{
    *used = ARENA_ARRAY(a, struct mirror_use, u->n + 1);
    *lost = ARENA_ARRAY(a, struct str, u->n + 1);
    *n_used = *n_lost = 0;
    for (size_t i = 0; i < u->n; i++) {
        struct str sha256 = str_dup(a, str_of(u->files[i].sha256, MIRROR_KEY_LEN));

        (*used)[(*n_used)++] = (struct mirror_use){sha256, u->files[i].at_us};
        if (u->files[i].is_lost)
            (*lost)[(*n_lost)++] = sha256;
    }
    u->n = 0;
}
