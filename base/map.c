/* base/map.c - uthash with a per-process seed, so that keys from outside cannot be chosen to
 * collide. */
#include "base/map.h"

#include <stdint.h>

#include "base/digest.h"
#include "base/mem.h"

#define HASH_FUNCTION(key, len, out) ((out) = (unsigned)digest_seeded64((key), (len)))
#define uthash_fatal(msg) assert_failed(msg, __FILE__, __LINE__, __func__)
#include "base/assert.h"
#include <uthash.h>

struct map_entry {
    UT_hash_handle hh;
    void *value;
    size_t len;
    char key[];
};

void map_release(struct map *m, map_value_free_fn *value_free)
{
    struct map_entry *e, *next;

    HASH_ITER (hh, m->entries, e, next) {
        HASH_DEL(m->entries, e);
        if (value_free != NULL)
            value_free(e->value);
        mem_free(e);
    }
}

static struct map_entry *find(const struct map *m, struct str key)
{
    struct map_entry *e = NULL;

    HASH_FIND(hh, m->entries, key.ptr, key.len, e);
    return e;
}

void *map_get(const struct map *m, struct str key)
{
    struct map_entry *e = find(m, key);

    return e == NULL ? NULL : e->value;
}

struct str map_key(const struct map *m, struct str key)
{
    struct map_entry *e = find(m, key);

    ASSERT(e != NULL);
    return str_of(e->key, e->len);
}

void *map_put(struct map *m, struct str key, void *value)
{
    struct map_entry *e = find(m, key);
    void *old = NULL;

    if (e != NULL) {
        old = e->value;
        e->value = value;
        return old;
    }
    e = mem_alloc(sizeof *e + key.len + 1);
    e->value = value;
    e->len = key.len;
    if (key.len > 0)
        memcpy(e->key, key.ptr, key.len);
    e->key[key.len] = '\0';
    HASH_ADD_KEYPTR(hh, m->entries, e->key, e->len, e);
    return NULL;
}

void *map_del(struct map *m, struct str key)
{
    struct map_entry *e = find(m, key);
    void *value;

    if (e == NULL)
        return NULL;
    value = e->value;
    HASH_DEL(m->entries, e);
    mem_free(e);
    return value;
}

size_t map_count(const struct map *m)
{
    return HASH_COUNT(m->entries);
}

bool map_next(const struct map *m, void **it, struct str *key, void **value)
{
    struct map_entry *e = *it == NULL ? m->entries : (struct map_entry *)*it;

    if (*it == (void *)m || e == NULL)
        return false;
    *key = str_of(e->key, e->len);
    *value = e->value;
    *it = e->hh.next != NULL ? e->hh.next : (void *)(uintptr_t)m;
    return true;
}
