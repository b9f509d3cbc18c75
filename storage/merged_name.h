/* storage/merged_name.h - what tells that a feed became part of another one: the other one has this
 * alias. It is no URL, so nobody can ask for it. */
#pragma once

#include <inttypes.h>

#include "base/arena.h"
#include "base/str.h"

static inline struct str merged_name(struct arena *a, int64_t id)
{
    return str_printf(a, "merged:%" PRId64, id);
}
