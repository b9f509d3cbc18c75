/* storage/feed_names.c - see feed_names.h.
 *
 * The URLs of a feed begin alike, so a block has the feed's URL once, and of each name how much of
 * it is the beginning of that URL, and the rest. Two texts of a block are the same if both are. */
#include "storage/feed_names.h"

#include <string.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

/* The next feed of the chain of a name; 0: none. */
struct __attribute__((packed)) link {
    uint32_t feed_id;
};

struct __attribute__((packed)) feed_names {
    uint32_t size;    /* of `bytes` */
    struct link next; /* of the URL */
    uint16_t base_len;
    uint8_t bytes[]; /* the URL, then a struct entry and its rest for each other name */
};

struct __attribute__((packed)) entry {
    struct link next;
    uint16_t head_len, rest_len;
    uint8_t role;
};

/* A name as it is read, and where its link is. */
struct place {
    struct link *next;
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
    ASSERT(given[0].role == NAME_URL && base.len > 0);
    for (size_t i = 0; i < n; i++)
        ASSERT(given[i].text.len <= UINT16_MAX);
    for (size_t i = 1; i < n; i++)
        if (given[i].text.len > 0)
            size += sizeof(struct entry) + given[i].text.len - same_start(base, given[i].text);
    b = mem_alloc(sizeof *b + size);
    *b = (struct feed_names){.size = (uint32_t)size, .base_len = (uint16_t)base.len};
    memcpy(b->bytes, base.ptr, base.len);
    at = b->bytes + base.len;
    for (size_t i = 1; i < n; i++) {
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

static bool next_place(struct feed_names *b, size_t *at, struct place *out)
{
    struct entry *e = (struct entry *)(void *)(b->bytes + *at);

    if (*at == 0) {
        *at = b->base_len;
        *out = (struct place){&b->next, {NAME_URL, str_of((const char *)b->bytes, b->base_len), STR("")}};
        return true;
    }
    if (*at >= b->size)
        return false;
    *at += sizeof *e + e->rest_len;
    out->next = &e->next;
    out->name = (struct name){.role = (enum name_role)e->role,
                              .head = str_of((const char *)b->bytes, e->head_len),
                              .rest = str_of((const char *)(e + 1), e->rest_len)};
    return true;
}

bool feed_names_next(const struct feed_names *b, size_t *at, struct name *out)
{
    struct place p;

    if (!next_place((struct feed_names *)(uintptr_t)b, at, &p))
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
    uint32_t hash[2]; /* the slots are in the order of the first, but for those whose place was taken */
};

#define CAP_FIRST 64

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
    return (size_t)((uint64_t)s->hash[0] * x->cap >> 32);
}

static size_t after(const struct name_index *x, size_t slot)
{
    return slot + 1 == x->cap ? 0 : slot + 1;
}

/* How many slots to go from one to the other. */
static size_t distance(const struct name_index *x, size_t from, size_t to)
{
    return to >= from ? to - from : to + x->cap - from;
}

/* The name of a feed that is in the chain of this URL: its first one with that text. */
static bool place_of(struct feed_names *b, struct str url, struct place *out)
{
    size_t at = 0;

    while (next_place(b, &at, out))
        if (out->name.role <= NAME_SITE && name_is(&out->name, url))
            return true;
    return false;
}

#define FEW 16 /* so many names are looked through one by one */

/* Finds places in a block as place_of() does. A feed may have thousands of aliases. */
struct finder {
    uint32_t feed_id;
    struct feed_names *names; /* NULL: there are none */
    bool has_map;
    struct map places; /* by their texts */
    struct arena arena;
};

static void finder_init(struct finder *f, uint32_t feed_id, struct feed_names *names)
{
    size_t at = 0, n = 0;
    struct place p;

    *f = (struct finder){.feed_id = feed_id, .names = names, .places = MAP_INIT, .arena = ARENA_INIT};
    while (names != NULL && n <= FEW && next_place(names, &at, &p))
        n++;
    f->has_map = n > FEW;
    for (at = 0; f->has_map && next_place(names, &at, &p);) {
        struct str text = name_text(&p.name, &f->arena);

        if (p.name.role <= NAME_SITE && map_get(&f->places, text) == NULL)
            map_put(&f->places, text, arena_copy(&f->arena, &p, sizeof p));
    }
}

static void finder_release(struct finder *f)
{
    map_forget(&f->places);
    arena_release(&f->arena);
}

static bool find(const struct finder *f, struct str url, struct place *out)
{
    const struct place *p;

    if (f->names == NULL || !f->has_map)
        return f->names != NULL && place_of(f->names, url, out);
    p = map_get(&f->places, url);
    if (p != NULL)
        *out = *p;
    return p != NULL;
}

/* The slot of a URL's chain, or the free one where it would begin. There are always free ones. `own`
 * looks into the block of the feed that `of` gives for it; NULL: there is none. */
static struct name_slot *slot_of(const struct name_index *x, struct str url, const struct finder *own)
{
    struct name_slot wanted = slot_for(url, 0);
    struct place p;

    for (size_t i = home_of(x, &wanted);; i = after(x, i)) {
        struct name_slot *s = &x->slots[i];

        if (s->feed_id == 0)
            return s;
        if (is_hash(s, &wanted) && (own != NULL && own->feed_id == s->feed_id
                                        ? find(own, url, &p)
                                        : place_of(x->of(x->ctx, s->feed_id), url, &p)))
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

/* At most four of five slots are used, and at least about half of them: a million feeds have many. */
static void make_room(struct name_index *x)
{
    struct name_slot *old = x->slots;
    size_t n_old = x->cap;

    if (old != NULL && x->n + 1 <= n_old / 5 * 4)
        return;
    x->cap = old == NULL ? CAP_FIRST : n_old + n_old / 4;
    ASSERT(x->cap <= UINT32_MAX);
    x->slots = mem_zalloc(x->cap * sizeof *x->slots);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].feed_id != 0)
            place_again(x, &old[i]);
    mem_free(old);
}

static void link_in(struct name_index *x, const struct finder *own, struct link *next, struct str url)
{
    struct name_slot *s;

    make_room(x);
    s = slot_of(x, url, own);
    if (s->feed_id == own->feed_id) /* two of its names have one hash: once in a very long time */
        return;
    x->n += s->feed_id == 0;
    next->feed_id = s->feed_id;
    *s = slot_for(url, own->feed_id);
}

/* The slots after a freed one move up, if they may, so that each is found from its home. */
static void free_slot(struct name_index *x, struct name_slot *s)
{
    size_t hole = (size_t)(s - x->slots);

    for (size_t i = after(x, hole); x->slots[i].feed_id != 0; i = after(x, i)) {
        if (distance(x, home_of(x, &x->slots[i]), i) >= distance(x, hole, i)) {
            x->slots[hole] = x->slots[i];
            hole = i;
        }
    }
    x->slots[hole].feed_id = 0;
    x->n--;
}

static void take_out(struct name_index *x, const struct finder *own, const struct link *next, struct str url)
{
    struct name_slot *s = slot_of(x, url, own);
    uint32_t at = s->feed_id;
    struct place p = {.next = NULL};

    if (at == own->feed_id) {
        if (next->feed_id == 0)
            free_slot(x, s);
        else
            s->feed_id = next->feed_id;
        return;
    }
    while (at != 0 && place_of(x->of(x->ctx, at), url, &p) && p.next->feed_id != own->feed_id)
        at = p.next->feed_id;
    ASSERT(at != 0 && p.next != NULL);
    p.next->feed_id = next->feed_id;
}

/* The next name that is in a chain: of those with the same text only the first is. */
static bool next_linked(const struct finder *f, size_t *at, struct place *out, struct str *text,
                        struct arena *a)
{
    struct place first;

    while (next_place(f->names, at, out)) {
        if (out->name.role > NAME_SITE)
            continue;
        *text = name_text(&out->name, a);
        if (find(f, *text, &first) && first.next == out->next)
            return true;
    }
    return false;
}

void name_index_leave(struct name_index *x, uint32_t feed_id, struct feed_names *old,
                      struct feed_names *new)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(finder_release) struct finder was, is;
    struct place p, q;
    struct str text;
    size_t at = 0;

    finder_init(&was, feed_id, old);
    finder_init(&is, feed_id, new);
    while (next_linked(&was, &at, &p, &text, &a))
        if (!find(&is, text, &q))
            take_out(x, &was, p.next, text);
    for (at = 0; next_linked(&was, &at, &p, &text, &a);)
        if (find(&is, text, &q))
            *q.next = *p.next;
}

void name_index_join(struct name_index *x, uint32_t feed_id, struct feed_names *new,
                     struct feed_names *old)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(finder_release) struct finder was, is;
    struct place p, q;
    struct str text;
    size_t at = 0;

    finder_init(&was, feed_id, old);
    finder_init(&is, feed_id, new);
    while (next_linked(&is, &at, &p, &text, &a))
        if (!find(&was, text, &q))
            link_in(x, &is, p.next, text);
}

uint32_t name_index_first(const struct name_index *x, struct str url)
{
    return x->slots == NULL ? 0 : slot_of(x, url, NULL)->feed_id;
}

uint32_t name_index_next(const struct name_index *x, uint32_t feed_id, struct str url)
{
    struct place p;

    return place_of(x->of(x->ctx, feed_id), url, &p) ? p.next->feed_id : 0;
}
