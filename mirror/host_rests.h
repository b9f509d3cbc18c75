/* mirror/host_rests.h - hosts that have asked to be left alone for a while. Pure; one thread at a time. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define HOST_RESTS_MAX 64 /* what is more is not noted */

struct host_rests {
    struct {
        char host[256];
        int64_t until_s;
    } all[HOST_RESTS_MAX];
    size_t n;
};

/* Leave it alone until then, Unix seconds; a rest of before ends. */
void host_rests_add(struct host_rests *r, struct str host, int64_t until_s);

/* Is it to be left alone now? What is over is forgotten. */
bool host_rests_has(struct host_rests *r, struct str host, int64_t now_s);
