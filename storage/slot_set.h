/* storage/slot_set.h - a set of the slots into which hosts are divided (storage/slots.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS 256

struct slot_set {
    uint64_t words[SLOTS / 64];
};

static inline void slot_set_add(struct slot_set *s, unsigned slot)
{
    s->words[slot / 64] |= (uint64_t)1 << slot % 64;
}

static inline bool slot_set_has(const struct slot_set *s, unsigned slot)
{
    return (s->words[slot / 64] >> slot % 64 & 1) != 0;
}

static inline size_t slot_set_count(const struct slot_set *s)
{
    size_t n = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        n += slot_set_has(s, i);
    return n;
}
