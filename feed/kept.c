/* feed/kept.c - foreign attributes of a format's own elements, written and read in one place. */
#include "feed/kept.h"

#include "base/compiler.h"
#include "feed/fragment.h"
#include "feed/iri.h"
#include "feed/names.h"
#include "feed/xml_out.h"

static const char *const names[] = {
    [KEPT_ITSELF] = "itself",
    [KEPT_TITLE] = "title",
    [KEPT_ID] = "id",
    [KEPT_PUBLISHED] = "published",
    [KEPT_UPDATED] = "updated",
    [KEPT_SUMMARY] = "summary",
    [KEPT_CONTENT] = "content",
    [KEPT_RIGHTS] = "rights",
    [KEPT_GENERATOR] = "generator",
    [KEPT_LINK] = "link",
    [KEPT_TAG] = "tag",
    [KEPT_AUTHOR] = "author",
    [KEPT_CONTRIBUTOR] = "contributor",
};

/* A row's tag is what elements.c has a row for. */
static const struct {
    const char *tag;
    enum kept_on on;
} elements[] = {
    {"item", KEPT_ITSELF},
    {"entry", KEPT_ITSELF},
    {"feed", KEPT_ITSELF},
    {"channel", KEPT_ITSELF},
    {"title", KEPT_TITLE},
    {"id", KEPT_ID},
    {"guid", KEPT_ID},
    {"published", KEPT_PUBLISHED},
    {"pubdate", KEPT_PUBLISHED},
    {"issued", KEPT_PUBLISHED},
    {"updated", KEPT_UPDATED},
    {"modified", KEPT_UPDATED},
    {"lastbuilddate", KEPT_UPDATED},
    {"summary", KEPT_SUMMARY},
    {"description", KEPT_SUMMARY},
    {"subtitle", KEPT_SUMMARY},
    {"tagline", KEPT_SUMMARY},
    {"content", KEPT_CONTENT},
    {"content:encoded", KEPT_CONTENT},
    {"rights", KEPT_RIGHTS},
    {"copyright", KEPT_RIGHTS},
    {"generator", KEPT_GENERATOR},
    {"link", KEPT_LINK},
    {"enclosure", KEPT_LINK},
    {"category", KEPT_TAG},
    {"author", KEPT_AUTHOR},
    {"dc:creator", KEPT_AUTHOR},
    {"managingeditor", KEPT_AUTHOR},
    {"contributor", KEPT_CONTRIBUTOR},
};

/* Prefixes that the writers' documents bind themselves. */
static const char *const taken[] = {"atom", "content", "dc", "fh", "media", "f"};

enum kept_on kept_of(struct str tag)
{
    for (size_t i = 0; i < ARRAY_LEN(elements); i++)
        if (str_eqz(tag, elements[i].tag))
            return elements[i].on;
    return KEPT_NONE;
}

/* Namespaces that are grammar, not information, and one that a browser may act on. */
static bool is_kept(const struct name *n)
{
    static const char *const not_kept[] = {
        "http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/1999/xlink"};

    if (n->prefix.len == 0 || str_is_null(n->uri) || n->uri.len == 0 || n->is_barred ||
        !n->is_foreign)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(not_kept); i++)
        if (str_eqz(n->uri, not_kept[i]))
            return false;
    return true;
}

static void put_prefix(struct buf *out, struct str prefix)
{
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (str_eqz(prefix, taken[i]))
            buf_puts(out, "x-");
    buf_str(out, prefix);
}

/* Its prefix was declared for one before it; or, `*clashes`, means something else there. */
static bool is_declared(const struct attrs *at, size_t i, bool *clashes)
{
    const struct name *n = at->list[i].name;

    for (size_t k = 0; k < i; k++) {
        const struct name *o = at->list[k].name;

        if (!is_kept(o) || !str_eq(o->prefix, n->prefix))
            continue;
        *clashes = !str_eq(o->uri, n->uri) || str_eq(o->local, n->local);
        return true;
    }
    return false;
}

bool kept_put(struct buf *ext, enum kept_on on, size_t n, const struct attrs *at)
{
    bool any = false;

    for (size_t i = 0; i < at->n; i++) {
        const struct name *name = at->list[i].name;
        bool clashes = false;

        if (!is_kept(name))
            continue;
        if (!any)
            buf_printf(ext, "<f:on xmlns:f=\"" NS_KEPT "\" e=\"%s\" n=\"%zu\"", names[on], n);
        any = true;
        if (!is_declared(at, i, &clashes)) {
            buf_puts(ext, " xmlns:");
            put_prefix(ext, name->prefix);
            buf_puts(ext, "=\"");
            xml_attr_text(ext, name->uri);
            buf_putc(ext, '"');
        } else if (clashes) {
            continue;
        }
        buf_putc(ext, ' ');
        put_prefix(ext, name->prefix);
        buf_putc(ext, ':');
        buf_str(ext, name->local);
        buf_puts(ext, "=\"");
        xml_attr_text(ext, at->list[i].value);
        buf_putc(ext, '"');
    }
    if (any)
        buf_puts(ext, "/>");
    return any;
}

void kept_open(struct buf *ext, enum kept_on on, size_t n)
{
    buf_printf(ext, "<f:in xmlns:f=\"" NS_KEPT "\" e=\"%s\" n=\"%zu\">", names[on], n);
}

void kept_close(struct buf *ext)
{
    buf_puts(ext, "</f:in>");
}

const struct kept kept_none;

static enum kept_on on_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return (enum kept_on)i;
    return KEPT_NONE;
}

const struct kept *kept_read(struct arena *a, struct str ext)
{
    struct fragment_element el;
    struct kept *m;

    if (str_find(ext, STR(NS_KEPT)) < 0)
        return &kept_none;
    m = ARENA_NEW(a, struct kept);
    while (m->n < KEPT_MAX && fragment_next(&ext, &el)) {
        struct str n = fragment_attr(el.tag, STR("n"));
        int64_t place;

        if (!str_eqz(el.ns, NS_KEPT) || !str_to_i64(n, &place) || place < 0)
            continue;
        m->list[m->n].on = on_of(fragment_attr(el.tag, STR("e")));
        m->list[m->n].n = (size_t)place;
        if (str_eqz(el.local, "on")) /* behind the quote that ends `n` */
            m->list[m->n].text =
                str_slice(el.tag, (size_t)(n.ptr - el.tag.ptr) + n.len + 1, el.tag.len - 2);
        else
            m->list[m->n].inner = str_slice(el.text, el.tag.len, el.text.len - strlen("</f:in>"));
        m->n++;
    }
    return m;
}

struct str kept_get(const struct kept *m, enum kept_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].on == on && m->list[i].n == n && !str_is_null(m->list[i].text))
            return m->list[i].text;
    return STR("");
}

static bool is_inner(const struct kept *m, size_t i, enum kept_on on, size_t n)
{
    return m->list[i].on == on && m->list[i].n == n && !str_is_null(m->list[i].inner);
}

bool kept_inner(const struct kept *m, enum kept_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_inner(m, i, on, n))
            return true;
    return false;
}

void kept_put_inner(struct buf *out, const struct kept *m, enum kept_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_inner(m, i, on, n))
            buf_str(out, m->list[i].inner);
}
