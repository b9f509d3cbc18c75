/* feed/identity/identity.c - hashes of essence: what counts as a change of an entry. */
#include "feed/identity/identity.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "feed/text/fragment.h"
#include "feed/text/iri.h"

/* Members that change although nobody has edited the entry: counters of comment and media services.
 * All other members are essence. `inner`: only this member counts as volatile, in the dict or in
 * each dict of the list. */
static const struct {
    const char *member, *inner;
} volatile_members[] = {
    {"slash_comments", NULL},    {"slash_hit_parade", NULL},       {"thr_total", NULL},
    {"thr_total_", NULL},        {"links", "thr:count"},           {"links", "thr_count"},
    {"links", "count"},          {"thr_in-reply-to", "thr:count"}, {"media_statistics", NULL},
    {"media_statistics_", NULL}, {"media_starrating", NULL},       {"media_starrating_", NULL},
    {"media_community", NULL},   {"media_community_", NULL},
};

#define NS_FEEDBURNER "http://rssnamespace.org/feedburner/ext/1.0"

/* The same for foreign elements, by local name and namespace name. */
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
    {NS_FEEDBURNER, "origLink"},
};

/* Returns true for members that add nothing to the essence. They are derived from another member,
 * or are the base URL. References are stored absolute, and the base URL changes when the feed
 * moves. */
static bool is_derived(struct str key, bool top)
{
    return str_ends(key, STR("_parsed")) || (!top && str_eqz(key, "base"));
}

/* How an essence is made. */
struct essence {
    struct arena *a;
    struct buf *out;
    bool raw; /* with ids and addresses as they are, as it was before there were marks */
};

/* Returns true for members that only say which entry it is; marks are used for that.
 * feedburner_origlink is one of them, because it is used in place of FeedBurner's own link; see
 * original(). */
static bool is_identity(const struct essence *es, struct str member)
{
    static const char *const names[] = {"id", "guidislink", "feedburner_origlink"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!es->raw && str_eqz(member, names[i]))
            return true;
    return false;
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

static bool has_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ')
            return true;
    return false;
}

static void put_string(const struct essence *es, struct str s)
{
    if (!es->raw && iri_is_http(s) && !has_blank(s))
        s = identity_ref(es->a, s, IDENTITY_STRONG);
    put_text(es->out, s);
}

static int by_key(const void *x, const void *y)
{
    const struct value_member *const *a = x, *const *b = y;

    return str_cmp((*a)->key, (*b)->key);
}

/* Write the value so that equal values have equal bytes: with a tag for its type, with lengths
 * before texts, and with members in the order of their keys. `member`: the top-level member to
 * which v belongs; null at the top. */
static void put_value(const struct essence *es, const struct value *v, struct str member)
{
    const struct value_member **sorted;
    struct buf *out = es->out;

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
        put_string(es, v->s);
        break;
    case VAL_LIST:
        buf_append(out, &v->len, sizeof v->len);
        for (uint32_t i = 0; i < v->len; i++)
            put_value(es, v->items[i], member);
        break;
    case VAL_DICT:
        sorted = arena_alloc(es->a, (v->len + 1) * sizeof *sorted);
        for (uint32_t i = 0; i < v->len; i++)
            sorted[i] = &v->members[i];
        qsort(sorted, v->len, sizeof *sorted, by_key);
        for (uint32_t i = 0; i < v->len; i++) {
            struct str key = sorted[i]->key;
            bool top = str_is_null(member);
            if (is_derived(key, top) ||
                (top ? is_volatile(key, STR_NULL) : is_volatile(member, key)))
                continue;
            if (top && is_identity(es, key))
                continue;
            buf_putc(out, 'k');
            put_text(out, key);
            put_value(es, sorted[i]->val, top ? key : member);
        }
        buf_putc(out, 'e');
        break;
    }
}

/* Limits for the time that a hostile document can cost: how many bytes of a tag are searched for a
 * namespace declaration, and how many bytes of top tags are searched in all, per byte of the
 * fragment. */
#define DECLARATION_REACH 8192
#define TOP_FACTOR 16

/* The top element of a fragment. Elements within it use its declarations. */
struct top_tag {
    struct str tag;
    size_t reach; /* how many bytes may still be searched */
};

static struct str declared_at_top(struct top_tag *top, struct str key)
{
    struct str tag = str_slice(top->tag, 0, DECLARATION_REACH);

    if (tag.len > top->reach)
        return STR_NULL;
    top->reach -= tag.len;
    return fragment_attr(tag, key);
}

/* Returns true when the element of `tag` is in the table. Its prefix is declared in the tag itself
 * or in the tag of the top element, as the writer of fragments does it. */
static bool is_volatile_element(const struct essence *es, struct top_tag *top, struct str tag)
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
        if (es->raw && strcmp(volatile_elements[i].ns, NS_FEEDBURNER) == 0)
            continue;
        if (colon >= 0)
            key = str_printf(es->a, "xmlns:%.*s", (int)colon, name.ptr);
        ns = fragment_attr(str_slice(tag, 0, DECLARATION_REACH), key);
        if (str_is_null(ns))
            ns = declared_at_top(top, key);
        if (str_eqz(ns, volatile_elements[i].ns))
            return true;
    }
    return false;
}

/* Write `ext` (well-formed) without its volatile elements, at whatever depth they are. */
static void put_ext(const struct essence *es, struct str ext)
{
    struct buf *out = es->out;
    struct top_tag top = {STR_NULL, TOP_FACTOR * ext.len + DECLARATION_REACH};
    int depth = 0, hidden_at = 0; /* depth of the element that is left out, plus 1; 0: none */

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
            top.tag = tag;
        if (!closing && hidden_at == 0 && is_volatile_element(es, &top, tag))
            hidden_at = depth + 1;
        if (hidden_at == 0)
            buf_str(out, tag);
        depth += closing ? -1 : !empty;
        if (hidden_at > 0 && depth < hidden_at)
            hidden_at = 0;
        ext = str_slice(ext, n, ext.len);
    }
}

/* Returns the object with the original link, instead of the link that FeedBurner put in. */
static const struct value *original(struct arena *a, const struct value *obj)
{
    struct str link = value_get_textz(obj, "feedburner_origlink");
    struct value *copy, *links;

    if (!iri_is_http(link))
        return obj;
    copy = value_copy(a, obj);
    links = value_getz(copy, "links");
    for (size_t i = 0; i < value_len(links); i++) {
        struct value *l = value_at(links, i);

        if (str_eq(value_get_textz(l, "href"), value_get_textz(obj, "link")))
            value_set_textz(a, l, "href", link);
    }
    value_set_textz(a, copy, "link", link);
    return copy;
}

static void hash_essence(const struct doc_entry *e, bool raw, unsigned char out[16])
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct essence es = {&a, &b, raw};

    if (e->obj != NULL)
        put_value(&es, raw ? e->obj : original(&a, e->obj), STR_NULL);
    put_ext(&es, e->ext);
    digest_content(buf_view(&b), out);
}

void identity_essence(const struct doc_entry *e, unsigned char out[16])
{
    hash_essence(e, false, out);
}

void identity_essence_unmarked(const struct doc_entry *e, unsigned char out[16])
{
    hash_essence(e, true, out);
}
