/* feed/marks.c - foreign attributes of a format's own elements, written and read in one place. */
#include "feed/marks.h"

#include "base/compiler.h"
#include "feed/fragment.h"
#include "feed/iri.h"
#include "feed/names.h"
#include "feed/xml_out.h"

static const char *const names[] = {
    [MARK_ITSELF] = "itself",
    [MARK_TITLE] = "title",
    [MARK_ID] = "id",
    [MARK_PUBLISHED] = "published",
    [MARK_UPDATED] = "updated",
    [MARK_SUMMARY] = "summary",
    [MARK_CONTENT] = "content",
    [MARK_RIGHTS] = "rights",
    [MARK_GENERATOR] = "generator",
    [MARK_LINK] = "link",
    [MARK_TAG] = "tag",
    [MARK_AUTHOR] = "author",
    [MARK_CONTRIBUTOR] = "contributor",
};

/* A row's tag is what elements.c has a row for. */
static const struct {
    const char *tag;
    enum mark_on on;
} elements[] = {
    {"item", MARK_ITSELF},
    {"entry", MARK_ITSELF},
    {"feed", MARK_ITSELF},
    {"channel", MARK_ITSELF},
    {"title", MARK_TITLE},
    {"id", MARK_ID},
    {"guid", MARK_ID},
    {"published", MARK_PUBLISHED},
    {"pubdate", MARK_PUBLISHED},
    {"issued", MARK_PUBLISHED},
    {"updated", MARK_UPDATED},
    {"modified", MARK_UPDATED},
    {"lastbuilddate", MARK_UPDATED},
    {"summary", MARK_SUMMARY},
    {"description", MARK_SUMMARY},
    {"subtitle", MARK_SUMMARY},
    {"tagline", MARK_SUMMARY},
    {"content", MARK_CONTENT},
    {"content:encoded", MARK_CONTENT},
    {"rights", MARK_RIGHTS},
    {"copyright", MARK_RIGHTS},
    {"generator", MARK_GENERATOR},
    {"link", MARK_LINK},
    {"enclosure", MARK_LINK},
    {"category", MARK_TAG},
    {"author", MARK_AUTHOR},
    {"dc:creator", MARK_AUTHOR},
    {"managingeditor", MARK_AUTHOR},
    {"contributor", MARK_CONTRIBUTOR},
};

/* Prefixes that the writers' documents bind themselves. */
static const char *const taken[] = {"atom", "content", "dc", "fh", "media", "f"};

enum mark_on mark_of(struct str tag)
{
    for (size_t i = 0; i < ARRAY_LEN(elements); i++)
        if (str_eqz(tag, elements[i].tag))
            return elements[i].on;
    return MARK_NONE;
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

bool mark_put(struct buf *ext, enum mark_on on, size_t n, const struct attrs *at)
{
    bool any = false;

    for (size_t i = 0; i < at->n; i++) {
        const struct name *name = at->list[i].name;
        bool clashes = false;

        if (!is_kept(name))
            continue;
        if (!any)
            buf_printf(ext, "<f:on xmlns:f=\"" NS_MARKS "\" e=\"%s\" n=\"%zu\"", names[on], n);
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

void mark_open(struct buf *ext, enum mark_on on, size_t n)
{
    buf_printf(ext, "<f:in xmlns:f=\"" NS_MARKS "\" e=\"%s\" n=\"%zu\">", names[on], n);
}

void mark_close(struct buf *ext)
{
    buf_puts(ext, "</f:in>");
}

const struct marks marks_none;

static enum mark_on on_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return (enum mark_on)i;
    return MARK_NONE;
}

const struct marks *marks_read(struct arena *a, struct str ext)
{
    struct fragment_element el;
    struct marks *m;

    if (str_find(ext, STR(NS_MARKS)) < 0)
        return &marks_none;
    m = ARENA_NEW(a, struct marks);
    while (m->n < MARKS_MAX && fragment_next(&ext, &el)) {
        struct str n = fragment_attr(el.tag, STR("n"));
        int64_t place;

        if (!str_eqz(el.ns, NS_MARKS) || !str_to_i64(n, &place) || place < 0)
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

struct str marks_get(const struct marks *m, enum mark_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].on == on && m->list[i].n == n && !str_is_null(m->list[i].text))
            return m->list[i].text;
    return STR("");
}

static bool is_inner(const struct marks *m, size_t i, enum mark_on on, size_t n)
{
    return m->list[i].on == on && m->list[i].n == n && !str_is_null(m->list[i].inner);
}

bool marks_inner(const struct marks *m, enum mark_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_inner(m, i, on, n))
            return true;
    return false;
}

void marks_put_inner(struct buf *out, const struct marks *m, enum mark_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_inner(m, i, on, n))
            buf_str(out, m->list[i].inner);
}
