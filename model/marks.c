/* model/marks.c - makes keys from marks, and packs marks for storage. */
#include "model/marks.h"

#include "base/assert.h"
#include "base/compiler.h"

/* The kind of a key is in its low bits, so keys of different kinds are never equal. */
enum { KEY_GUID, KEY_GUID_WEAK, KEY_LINK, KEY_TITLE, KEY_KINDS };

static int64_t key_of(uint64_t hash, unsigned kind)
{
    return (int64_t)((hash & ~(uint64_t)(KEY_KINDS - 1)) | kind);
}

/* A hash of both numbers (the last step of splitmix64). */
static uint64_t mix(uint64_t x, uint64_t y)
{
    x += y * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

size_t marks_keys(const struct entry_marks *m, int64_t out[MARKS_KEYS])
{
    size_t n = 0;

    if (m->guid_strong != 0)
        out[n++] = key_of((uint64_t)m->guid_strong, KEY_GUID);
    if (m->guid_weak != m->guid_strong)
        out[n++] = key_of((uint64_t)m->guid_weak, KEY_GUID_WEAK);
    if (m->link_weak != 0)
        out[n++] = key_of((uint64_t)m->link_weak, KEY_LINK);
    if (m->title != 0)
        out[n++] = key_of(mix((uint64_t)m->title, (uint64_t)m->at), KEY_TITLE);
    return n;
}

#define N_MARKS (MARKS_BYTES / 8)

_Static_assert(sizeof(struct entry_marks) == MARKS_BYTES, "marks are nothing but numbers");

void marks_pack(const struct entry_marks *m, unsigned char out[MARKS_BYTES])
{
    int64_t part[N_MARKS];

    memcpy(part, m, sizeof part);
    for (size_t i = 0; i < MARKS_BYTES; i++)
        out[i] = (unsigned char)((uint64_t)part[i / 8] >> (i % 8 * 8));
}

bool marks_unpack(struct str bytes, struct entry_marks *out)
{
    uint64_t part[N_MARKS] = {0};

    if (bytes.len != MARKS_BYTES)
        return false;
    for (size_t i = 0; i < MARKS_BYTES; i++)
        part[i / 8] |= (uint64_t)(unsigned char)bytes.ptr[i] << (i % 8 * 8);
    memcpy(out, part, sizeof part);
    return true;
}

static bool both(int64_t x, int64_t y)
{
    return x != 0 && x == y;
}

bool marks_certain(const struct entry_marks *x, const struct entry_marks *y)
{
    bool title = both(x->title, y->title);

    return (both(x->link, y->link) && title && both(x->at, y->at)) ||
           (both(x->guid_strong, y->guid_strong) && (both(x->link, y->link) || title));
}

bool marks_same(const struct entry_marks *x, const struct entry_marks *y)
{
    return memcmp(x, y, sizeof *x) == 0;
}

const char *identity_rule_name(enum identity_rule r)
{
    static const char *const names[IDENTITY_RULES] = {"none", "guid", "link", "title", "hash"};

    ASSERT((size_t)r < ARRAY_LEN(names));
    return names[r];
}
