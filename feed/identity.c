/* feed/identity.c - uids and hashes of essence. */
#include "feed/identity.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "base/map.h"
#include "feed/fragment.h"

/* Members that move without the entry being edited: counters kept by comment and media services.
 * Everything else is essence. `inner`, when given, is the one member of that dict (or of each dict
 * of that list) that is meant. */
static const struct {
    const char *member, *inner;
} volatile_members[] = {
    {"slash_comments", NULL},    {"slash_hit_parade", NULL},       {"thr_total", NULL},
    {"thr_total_", NULL},        {"links", "thr:count"},           {"links", "thr_count"},
    {"links", "count"},          {"thr_in-reply-to", "thr:count"}, {"media_statistics", NULL},
    {"media_statistics_", NULL}, {"media_starrating", NULL},       {"media_starrating_", NULL},
    {"media_community", NULL},   {"media_community_", NULL},
};

/* The same among foreign elements, by local name and namespace name. */
static const struct {
    const char *ns, *local;
} volatile_elements[] = {
    {"http://purl.org/rss/1.0/modules/slash/", "comments"},
    {"http://purl.org/rss/1.0/modules/slash/", "hit_parade"},
    {"http://purl.org/syndication/thread/1.0", "total"},
    {"http://search.yahoo.com/mrss/", "community"},
    {"http://search.yahoo.com/mrss", "community"},
    {"http://search.yahoo.com/mrss/", "statistics"},
    {"http://search.yahoo.com/mrss/", "starRating"},
};

/* Says nothing of its own: derived from a sibling, or the address by which references were resolved
 * (they stand there absolute), which is another when the feed moves. */
static bool is_derived(struct str key, bool top)
{
    return str_ends(key, STR("_parsed")) || (!top && str_eqz(key, "base"));
}

static bool is_volatile(struct str member, struct str inner)
{
    for (size_t i = 0; i < ARRAY_LEN(volatile_members); i++) {
        const char *in = volatile_members[i].inner;
        if (!str_eqz(member, volatile_members[i].member))
            continue;
        if (str_is_null(inner) ? in == NULL : in != NULL && str_eqz(inner, in))
            return true;
    }
    return false;
}

static void put_text(struct buf *out, struct str s)
{
    buf_append(out, &s.len, sizeof s.len);
    buf_str(out, s);
}

static int by_key(const void *x, const void *y)
{
    const struct value_member *const *a = x, *const *b = y;

    return str_cmp((*a)->key, (*b)->key);
}

/* A form with one spelling for each value: tagged, lengths in front, members in order of their
 * keys. `member`: the top-level member that v belongs to; null at the top. */
static void put_value(struct arena *a, struct buf *out, const struct value *v, struct str member)
{
    const struct value_member **sorted;

    buf_putc(out, (char)('0' + v->kind));
    switch (v->kind) {
    case VAL_NULL:
        break;
    case VAL_BOOL:
        buf_putc(out, v->b ? '1' : '0');
        break;
    case VAL_INT:
        buf_append(out, &v->i, sizeof v->i);
        break;
    case VAL_REAL:
        buf_append(out, &v->d, sizeof v->d);
        break;
    case VAL_TEXT:
        put_text(out, v->s);
        break;
    case VAL_LIST:
        buf_append(out, &v->len, sizeof v->len);
        for (uint32_t i = 0; i < v->len; i++)
            put_value(a, out, v->items[i], member);
        break;
    case VAL_DICT:
        sorted = arena_alloc(a, (v->len + 1) * sizeof *sorted);
        for (uint32_t i = 0; i < v->len; i++)
            sorted[i] = &v->members[i];
        qsort(sorted, v->len, sizeof *sorted, by_key);
        for (uint32_t i = 0; i < v->len; i++) {
            struct str key = sorted[i]->key;
            bool top = str_is_null(member);
            if (is_derived(key, top) || (top ? is_volatile(key, STR_NULL) : is_volatile(member, key)))
                continue;
            buf_putc(out, 'k');
            put_text(out, key);
            put_value(a, out, sorted[i]->val, top ? key : member);
        }
        buf_putc(out, 'e');
        break;
    }
}

/* How far into a tag a namespace declaration is looked for: a bound on the time that a hostile
 * document can cost. */
#define DECLARATION_REACH 8192

/* True when the element of `tag` is in the table. Its prefix is declared there or in the tag of the
 * top element: so does the maker of the fragment. */
static bool is_volatile_element(struct arena *a, struct str top, struct str tag)
{
    struct str name, key = STR("xmlns"), ns;
    size_t n = 1;
    ssize_t colon;

    while (n < tag.len && strchr(" \t\r\n/>", tag.ptr[n]) == NULL)
        n++;
    name = str_slice(tag, 1, n);
    colon = str_chr(name, ':');
    for (size_t i = 0; i < ARRAY_LEN(volatile_elements); i++) {
        if (!str_eqz(str_slice(name, (size_t)(colon + 1), name.len), volatile_elements[i].local))
            continue;
        if (colon >= 0)
            key = str_printf(a, "xmlns:%.*s", (int)colon, name.ptr);
        ns = fragment_attr(str_slice(tag, 0, DECLARATION_REACH), key);
        if (str_is_null(ns))
            ns = fragment_attr(str_slice(top, 0, DECLARATION_REACH), key);
        if (str_eqz(ns, volatile_elements[i].ns))
            return true;
    }
    return false;
}

/* `ext` (well-formed) without its volatile elements, however deep they stand. */
static void put_ext(struct arena *a, struct buf *out, struct str ext)
{
    struct str top = STR_NULL;
    int depth = 0,
        hidden_at = 0; /* hidden_at: depth outside the element that is left out, plus 1 */

    while (ext.len > 0) {
        size_t n;
        struct str tag;
        bool closing, empty;
        if (ext.ptr[0] != '<') {
            ssize_t next = str_chr(ext, '<');
            n = next < 0 ? ext.len : (size_t)next;
            if (depth > 0 && hidden_at == 0)
                buf_append(out, ext.ptr, n);
            ext = str_slice(ext, n, ext.len);
            continue;
        }
        n = fragment_tag_len(ext);
        tag = str_slice(ext, 0, n);
        closing = n > 1 && tag.ptr[1] == '/';
        empty = n > 2 && tag.ptr[n - 2] == '/';
        if (depth == 0)
            top = tag;
        if (!closing && hidden_at == 0 && is_volatile_element(a, top, tag))
            hidden_at = depth + 1;
        if (hidden_at == 0)
            buf_str(out, tag);
        depth += closing ? -1 : !empty;
        if (hidden_at > 0 && depth < hidden_at)
            hidden_at = 0;
        ext = str_slice(ext, n, ext.len);
    }
}

void identity_essence(const struct doc_entry *e, unsigned char out[16])
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    if (e->obj != NULL)
        put_value(&a, &b, e->obj, STR_NULL);
    put_ext(&a, &b, e->ext);
    digest_content(buf_view(&b), out);
}

/* Essences are hashed when they are first asked for, and once. */
struct essence {
    bool known;
    unsigned char md[16];
};

static const unsigned char *essence_of(const struct feed_doc *doc, struct essence *cache, size_t i)
{
    if (!cache[i].known)
        identity_essence(&doc->entries[i], cache[i].md);
    cache[i].known = true;
    return cache[i].md;
}

/* The rules in order: 0 own id, 1 link, 2 title and date, 3 content. Null when the entry lacks what
 * the rule needs. What we derive has no scheme, so that it never passes for an IRI. */
#define N_RULES 4
static struct str uid_by_rule(struct arena *a, const struct feed_doc *doc, struct essence *cache,
                              size_t i, int rule)
{
    const struct doc_entry *e = &doc->entries[i];
    unsigned char md[16];
    char hex[33];
    int64_t at = e->published_at != TIME_UNKNOWN ? e->published_at : e->updated_at;

    switch (rule) {
    case 0:
        return e->id.len > 0 ? str_dup(a, e->id) : STR_NULL;
    case 1:
        return e->link.len > 0 ? str_dup(a, e->link) : STR_NULL;
    case 2: {
        struct str key;
        if (e->title.len == 0 || at == TIME_UNKNOWN)
            return STR_NULL;
        key = str_printf(a, "%lld %.*s", (long long)at, STR_ARG(e->title));
        digest_content(key, md);
        digest_hex(md, sizeof md, hex);
        return str_printf(a, "title=%s", hex);
    }
    default:
        digest_hex(essence_of(doc, cache, i), 16, hex);
        return str_printf(a, "hash=%s", hex);
    }
}

void identity_uids(struct arena *a, const struct feed_doc *doc, struct str *uids)
{
    AUTO(arena_release) struct arena tmp = ARENA_INIT;
    struct essence *cache = ARENA_ARRAY(&tmp, struct essence, doc->n_entries + 1);
    struct map taken = MAP_INIT;

    for (size_t i = 0; i < doc->n_entries; i++) {
        uids[i] = STR_NULL;
        for (int rule = 0; rule < N_RULES; rule++) {
            struct str uid = uid_by_rule(a, doc, cache, i, rule);
            const struct doc_entry *first;
            size_t at;
            if (str_is_null(uid))
                continue;
            first = map_get(&taken, uid);
            if (first == NULL) {
                map_put(&taken, uid, &doc->entries[i]);
                uids[i] = uid;
                break;
            }
            at = (size_t)(first - doc->entries);
            if (memcmp(essence_of(doc, cache, at), essence_of(doc, cache, i), 16) == 0)
                break;
        }
    }
    map_release(&taken, NULL);
}
