/* storage/feed_names.c - see feed_names.h.
 *
 * The URLs of a feed begin alike, so a block has the feed's URL once, and of each name how much of
 * it is the beginning of that URL, and the rest. Two texts of a block are the same if both are. */
#include "storage/feed_names.h"

#include <string.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"

struct feed_names {
    uint32_t size; /* of `bytes` */
    uint16_t base_len;
    uint8_t bytes[]; /* the URL, then a struct entry and its rest for each name */
};

struct __attribute__((packed)) entry {
    uint32_t next; /* the next feed of the chain; 0: none */
    uint16_t head_len, rest_len;
    uint8_t role;
};

/* An entry as it is read: where it is, and its name. */
struct place {
    struct entry *entry;
    struct name name;
};

/* ---- a block --------------------------------------------------------------------------------- */

static size_t same_start(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len, i = 0;

    while (i < n && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

struct feed_names *feed_names_new(const struct name_given *given, size_t n)
{
    struct str base = given[0].text;
    size_t size = base.len;
    struct feed_names *b;
    uint8_t *at;

    _Static_assert(LIMIT_URL <= UINT16_MAX, "lengths have 16 bits");
    for (size_t i = 0; i < n; i++)
        ASSERT(given[i].text.len <= UINT16_MAX);
    for (size_t i = 0; i < n; i++)
        if (given[i].text.len > 0)
            size += sizeof(struct entry) + given[i].text.len - same_start(base, given[i].text);
    b = mem_alloc(sizeof *b + size);
    *b = (struct feed_names){.size = (uint32_t)size, .base_len = (uint16_t)base.len};
    if (base.len > 0)
        memcpy(b->bytes, base.ptr, base.len);
    at = b->bytes + base.len;
    for (size_t i = 0; i < n; i++) {
        struct str text = given[i].text;
        size_t head = same_start(base, text);
        struct entry e = {.head_len = (uint16_t)head,
                          .rest_len = (uint16_t)(text.len - head),
                          .role = (uint8_t)given[i].role};

        if (text.len == 0)
            continue;
        memcpy(at, &e, sizeof e);
        at += sizeof e;
        memcpy(at, text.ptr + head, text.len - head);
        at += text.len - head;
    }
    return b;
}

static bool next_place(const struct feed_names *b, size_t *at, struct place *out)
{
    uint8_t *bytes = (uint8_t *)b->bytes;

    if (*at == 0)
        *at = b->base_len;
    if (*at >= b->size)
        return false;
    out->entry = (struct entry *)(void *)(bytes + *at);
    *at += sizeof(struct entry);
    out->name = (struct name){.role = (enum name_role)out->entry->role,
                              .head = str_of((const char *)bytes, out->entry->head_len),
                              .rest = str_of((const char *)bytes + *at, out->entry->rest_len)};
    *at += out->entry->rest_len;
    return true;
}

bool feed_names_next(const struct feed_names *b, size_t *at, struct name *out)
{
    struct place p;

    if (!next_place(b, at, &p))
        return false;
    *out = p.name;
    return true;
}

/* Of names of the same block, or of blocks with the same URL. */
static bool is_same(const struct name *a, const struct name *b)
{
    return a->head.len == b->head.len && str_eq(a->rest, b->rest);
}

bool feed_names_same(const struct feed_names *a, const struct feed_names *b)
{
    size_t at = 0, bt = 0;
    struct name n, m;

    if (a->size != b->size || a->base_len != b->base_len ||
        memcmp(a->bytes, b->bytes, a->base_len) != 0)
        return false;
    while (feed_names_next(a, &at, &n))
        if (!feed_names_next(b, &bt, &m) || n.role != m.role || !is_same(&n, &m))
            return false;
    return true;
}

bool feed_names_find(const struct feed_names *b, enum name_role role, struct name *out)
{
    size_t at = 0;

    while (feed_names_next(b, &at, out))
        if (out->role == role)
            return true;
    return false;
}

enum name_role feed_names_role(const struct feed_names *b, struct str url)
{
    enum name_role best = NAME_CREDENTIAL;
    size_t at = 0;
    struct name n;

    while (feed_names_next(b, &at, &n))
        if (n.role < best && name_is(&n, url))
            best = n.role;
    return best;
}

bool name_is(const struct name *n, struct str text)
{
    return text.len == n->head.len + n->rest.len &&
           str_eq(n->head, str_slice(text, 0, n->head.len)) &&
           str_eq(n->rest, str_slice(text, n->head.len, text.len));
}

struct str name_text(const struct name *n, struct arena *a)
{
    size_t len = n->head.len + n->rest.len;
    char *text = arena_alloc(a, len + 1);

    memcpy(text, n->head.ptr, n->head.len);
    memcpy(text + n->head.len, n->rest.ptr, n->rest.len);
    text[len] = '\0';
    return str_of(text, len);
}

/* ---- the index ------------------------------------------------------------------------------- */

/* The whole hash tells chains apart: with half of it, two names of one of a million feeds might be
 * taken for each other. */
struct name_slot {
    uint32_t feed_id; /* the first of the chain; 0: the slot is free */
    uint32_t hash[2]; /* the upper bits of the first are the slot's number, unless that was taken */
};

#define BITS_FIRST 6

void name_index_release(struct name_index *x)
{
    mem_free(x->slots);
    x->slots = NULL;
    x->n = 0;
}

static struct name_slot slot_for(struct str url, uint32_t feed_id)
{
    uint64_t hash = digest_seeded64(url.ptr, url.len);

    return (struct name_slot){feed_id, {(uint32_t)(hash >> 32), (uint32_t)hash}};
}

static bool is_hash(const struct name_slot *a, const struct name_slot *b)
{
    return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

static size_t home_of(const struct name_index *x, const struct name_slot *s)
{
    return s->hash[0] >> (32 - x->bits);
}

static size_t after(const struct name_index *x, size_t slot)
{
    return (slot + 1) & (((size_t)1 << x->bits) - 1);
}

/* The entry of a feed that is in the chain of this URL: its first one with that text. */
static bool entry_of(const struct feed_names *b, struct str url, struct place *out)
{
    size_t at = 0;

    while (next_place(b, &at, out))
        if (out->name.role <= NAME_SITE && name_is(&out->name, url))
            return true;
    return false;
}

/* The slot of a URL's chain, or the free one where it would begin. There are always free ones. */
static struct name_slot *slot_of(const struct name_index *x, struct str url)
{
    struct name_slot wanted = slot_for(url, 0);
    struct place p;

    for (size_t i = home_of(x, &wanted);; i = after(x, i)) {
        struct name_slot *s = &x->slots[i];

        if (s->feed_id == 0 ||
            (is_hash(s, &wanted) && entry_of(x->of(x->ctx, s->feed_id), url, &p)))
            return s;
    }
}

/* Put a chain into a larger table; the texts need not be read for it. */
static void place_again(struct name_index *x, const struct name_slot *s)
{
    size_t i = home_of(x, s);

    while (x->slots[i].feed_id != 0)
        i = after(x, i);
    x->slots[i] = *s;
}

/* At most three of four slots are used. */
static void make_room(struct name_index *x)
{
    struct name_slot *old = x->slots;
    size_t n_old = old == NULL ? 0 : (size_t)1 << x->bits;

    if (old != NULL && x->n + 1 <= n_old / 4 * 3)
        return;
    x->bits = old == NULL ? BITS_FIRST : x->bits + 1;
    ASSERT(x->bits < 32);
    x->slots = mem_zalloc(((size_t)1 << x->bits) * sizeof *x->slots);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].feed_id != 0)
            place_again(x, &old[i]);
    mem_free(old);
}

/* Is it the first name of the block with this text? Only that one is in a chain. */
static bool is_first(const struct feed_names *b, const struct place *p)
{
    struct place other;
    size_t at = 0;

    while (next_place(b, &at, &other) && other.entry != p->entry)
        if (is_same(&other.name, &p->name))
            return false;
    return p->name.role <= NAME_SITE;
}

static void link_in(struct name_index *x, uint32_t feed_id, struct entry *e, struct str url)
{
    struct name_slot *s;

    make_room(x);
    s = slot_of(x, url);
    if (s->feed_id == feed_id) /* two of its names have one hash: once in a very long time */
        return;
    x->n += s->feed_id == 0;
    e->next = s->feed_id;
    *s = slot_for(url, feed_id);
}

/* The slots after a freed one move up, if they may, so that each is found from its home. */
static void free_slot(struct name_index *x, struct name_slot *s)
{
    size_t hole = (size_t)(s - x->slots), mask = ((size_t)1 << x->bits) - 1;

    for (size_t i = after(x, hole); x->slots[i].feed_id != 0; i = after(x, i)) {
        size_t from_home = (i - home_of(x, &x->slots[i])) & mask;

        if (from_home >= ((i - hole) & mask)) {
            x->slots[hole] = x->slots[i];
            hole = i;
        }
    }
    x->slots[hole].feed_id = 0;
    x->n--;
}

static void take_out(struct name_index *x, uint32_t feed_id, const struct entry *e, struct str url)
{
    struct name_slot *s = slot_of(x, url);
    uint32_t at = s->feed_id;
    struct place p = {.entry = NULL};

    if (at == feed_id) {
        if (e->next == 0)
            free_slot(x, s);
        else
            s->feed_id = e->next;
        return;
    }
    while (at != 0 && entry_of(x->of(x->ctx, at), url, &p) && p.entry->next != feed_id)
        at = p.entry->next;
    ASSERT(at != 0 && p.entry != NULL);
    p.entry->next = e->next;
}

void name_index_leave(struct name_index *x, uint32_t feed_id, struct feed_names *old,
                      struct feed_names *new)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    size_t at = 0;
    struct place p, q;

    while (next_place(old, &at, &p))
        if (is_first(old, &p) && (new == NULL || !entry_of(new, name_text(&p.name, &a), &q)))
            take_out(x, feed_id, p.entry, name_text(&p.name, &a));
    for (at = 0; next_place(old, &at, &p);)
        if (new != NULL && is_first(old, &p) && entry_of(new, name_text(&p.name, &a), &q))
            q.entry->next = p.entry->next;
}

void name_index_join(struct name_index *x, uint32_t feed_id, struct feed_names *new,
                     const struct feed_names *old)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    size_t at = 0;
    struct place p, q;

    while (next_place(new, &at, &p))
        if (is_first(new, &p) && (old == NULL || !entry_of(old, name_text(&p.name, &a), &q)))
            link_in(x, feed_id, p.entry, name_text(&p.name, &a));
}

uint32_t name_index_first(const struct name_index *x, struct str url)
{
    return x->slots == NULL ? 0 : slot_of(x, url)->feed_id;
}

uint32_t name_index_next(const struct name_index *x, uint32_t feed_id, struct str url)
{
    struct place p;

    return entry_of(x->of(x->ctx, feed_id), url, &p) ? p.entry->next : 0;
}
