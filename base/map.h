/* base/map.h - string-keyed hash map, a thin wrapper around uthash with a seed drawn at start.
 *
 * Keys are copied; values are borrowed pointers. One thread at a time, or under the owner's lock.
 */
#pragma once

#include "base/compiler.h"
#include "base/str.h"

struct map_entry;
struct map {
    struct map_entry *entries;
};

#define MAP_INIT                                                                                   \
    {                                                                                              \
        NULL                                                                                       \
    }

typedef void map_value_free_fn(void *value);

/* Forget everything; `value_free` (may be NULL) disposes of each value. */
void map_release(struct map *m, map_value_free_fn *value_free);

/* The same for values that need no disposal: AUTO(map_forget) struct map m = MAP_INIT; */
static inline void map_forget(struct map *m)
{
    map_release(m, NULL);
}

/* The value stored for `key`, or NULL. */
void *map_get(const struct map *m, struct str key);

/* The map's own copy of a key that it has, with a NUL after it; it lives as long as the key. */
struct str map_key(const struct map *m, struct str key);

/* Store `value` (not NULL); returns the value it replaces, or NULL. */
void *map_put(struct map *m, struct str key, void *value);

/* Remove and return the value of `key`, or NULL. */
void *map_del(struct map *m, struct str key);

size_t map_count(const struct map *m);

/* Go through the map, in no particular order. Start with *it = NULL. False: there are no more keys.
 * The current key may be deleted. */
bool map_next(const struct map *m, void **it, struct str *key, void **value);
