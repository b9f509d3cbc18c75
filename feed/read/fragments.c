/* feed/read/fragments.c - keeps foreign elements and attributes as XML, which is copied while it is
 * read.
 *
 * The object form has no member for what is nested, repeated, or in an unknown namespace. It is
 * copied element by element into the fragment of its entry or head (model/document.h). Each
 * namespace is declared where it is needed, so that a writer can put the fragment into any document
 * unchanged. */
#include "base/compiler.h"
#include "base/scan.h"
#include "feed/read/builder.h"
#include "feed/text/iri.h"
#include "feed/text/kept.h"
#include "feed/text/names.h"
#include "feed/text/uri.h"
#include "feed/text/xml_out.h"

#define NAMESPACE_URI_MAX 1024 /* it may be repeated in each element; real ones are shorter */

static const char *const escapes[256] = {
    ['&'] = "&amp;",  ['<'] = "&lt;",   ['>'] = "&gt;",  ['\r'] = "&#13;",
    ['"'] = "&quot;", ['\n'] = "&#10;", ['\t'] = "&#9;",
};

SCAN_DEFINE(scan_markup, (v == '&') | (v == '<') | (v == '>') | (v == '\r'),
            c == '&' || c == '<' || c == '>' || c == '\r')
SCAN_DEFINE(scan_in_value,
            (v == '&') | (v == '<') | (v == '>') | (v == '"') | ((v >= '\t') & (v <= '\r')),
            escapes[c] != NULL)

void builder_put_escaped(struct buf *out, struct str s, bool in_attribute)
{
    const char *from = s.ptr, *p = s.ptr, *end = s.ptr + s.len;

    while ((p = in_attribute ? scan_in_value(p, end) : scan_markup(p, end)) < end) {
        const char *esc = escapes[(unsigned char)*p];

        p++;
        if (esc == NULL)
            continue;
        buf_append(out, from, (size_t)(p - 1 - from));
        buf_puts(out, esc);
        from = p;
    }
    buf_append(out, from, (size_t)(end - from));
}

/* Returns the URI of a name. If a usual prefix was not declared, it has its usual URI. Null: there
 * is none. */
static struct str name_uri(const struct name *n)
{
    if (!str_is_null(n->uri) || n->prefix.len == 0)
        return n->uri;
    return str_from(ns_uri_of_prefix(n->prefix));
}

/* Declare prefix -> uri in the fragment, unless it is declared already. False: there is no room for
 * more declarations. */
static bool declare(struct builder *b, struct buf *out, struct str prefix, struct str uri)
{
    if (str_eqz(prefix, "xml"))
        return true;
    for (size_t i = b->n_scope; i-- > 0;)
        if (str_eq(b->scope[i].prefix, prefix)) {
            if (str_eq(b->scope[i].uri, uri))
                return true;
            break;
        }
    if (b->n_scope == SCOPE_MAX || uri.len > NAMESPACE_URI_MAX)
        return false;
    b->scope[b->n_scope++] = (struct ns_decl){prefix, uri};
    buf_puts(out, prefix.len > 0 ? " xmlns:" : " xmlns");
    buf_str(out, prefix);
    buf_puts(out, "=\"");
    builder_put_escaped(out, uri, true);
    buf_putc(out, '"');
    return true;
}

/* Returns true for an element that the format does not know and that has no namespace of its own.
 * It is kept under a name that any document may have, and that the parser takes as it was. */
static bool is_unknown(const struct builder *b, const struct name *n)
{
    return !n->is_foreign &&
           (n->element == NULL || (b->in_entry && (n->element->flags & EL_UNWRITTEN)));
}

static void put_qname(struct buf *out, const struct name *n)
{
    if (n->prefix.len > 0) {
        buf_str(out, n->prefix);
        buf_putc(out, ':');
    }
    buf_str(out, n->local);
}

void builder_copy_drop(struct builder *b)
{
    struct buf *out = NULL;

    for (size_t i = 0; i < b->depth; i++) {
        struct frame *f = &b->frames[i];

        if (f->ext != NULL && out == NULL) {
            out = f->ext;
            buf_cut(out, f->ext_at);
        }
        f->ext = NULL;
    }
    b->n_scope = 0;
}

/* Returns true when an attribute before this one has the same name, as may happen in repaired
 * tags. */
static bool is_repeated(const struct attrs *at, size_t i)
{
    const struct name *n = at->list[i].name;

    for (size_t k = 0; k < i; k++) {
        const struct name *o = at->list[k].name;

        if (o == n || (str_eq(o->local, n->local) && str_eq(name_uri(o), name_uri(n))))
            return true;
    }
    return false;
}

/* Returns the value of a kept attribute. A value that is certainly a reference is made absolute. */
static struct str kept_value(struct builder *b, const struct name *n, struct str value)
{
    static const char *const names[] = {"href", "url", "src", "resource"};

    if (value.len == 0 || uri_is_absolute(value))
        return value;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(n->local, names[i]))
            return iri_escape(b->a, uri_resolve_within(b->a, b->base, value, &b->uri_grown), false);
    return value;
}

/* Write the start tag. False: there was no room for its declarations. */
static bool put_start(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct str uri = name_uri(f->name);

    buf_putc(f->ext, '<');
    if (f->is_unknown) {
        buf_str(f->ext, f->name->local);
        /* never fails: it is the first declaration */
        (void)declare(b, f->ext, STR(""), STR(NS_UNKNOWN));
    } else {
        put_qname(f->ext, f->name);
        if (!declare(b, f->ext, f->name->prefix, str_is_null(uri) ? STR("") : uri))
            return false;
    }
    for (size_t i = 0; i < at->n; i++) {
        const struct name *n = at->list[i].name;
        struct str attr_uri = name_uri(n);

        if (n->is_barred || is_repeated(at, i))
            continue;
        if (n->prefix.len > 0) {
            if (str_is_null(attr_uri))
                continue;
            if (!declare(b, f->ext, n->prefix, attr_uri))
                return false;
        }
        buf_putc(f->ext, ' ');
        put_qname(f->ext, n);
        buf_puts(f->ext, "=\"");
        builder_put_escaped(f->ext, kept_value(b, n, at->list[i].value), true);
        buf_putc(f->ext, '"');
    }
    buf_putc(f->ext, '>');
    return true;
}

static void copy_start(struct builder *b, struct frame *f, const struct attrs *at)
{
    f->n_scope = b->n_scope;
    if (!put_start(b, f, at))
        builder_copy_drop(b);
}

void builder_copy(struct builder *b, struct frame *f, struct buf *out, const struct attrs *at)
{
    builder_copy_drop(b);
    f->ext = out;
    f->ext_at = out->len;
    copy_start(b, f, at);
}

void builder_copy_end(struct builder *b, struct frame *f)
{
    buf_puts(f->ext, "</");
    if (f->is_unknown)
        buf_str(f->ext, f->name->local);
    else
        put_qname(f->ext, f->name);
    buf_putc(f->ext, '>');
    if (f->is_inner)
        kept_close(f->ext);
    b->n_scope = f->n_scope;
    f->ext = NULL;
}

/* ---------------------------------------------------------------- attributes of our own elements
 */

/* Each tag must have a row in elements.c. */
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

/* Prefixes that the documents of our writers declare. */
static const char *const taken[] = {"atom", "content", "dc", "fh", "media", "f"};

static enum kept_on kept_of(struct str tag)
{
    for (size_t i = 0; i < ARRAY_LEN(elements); i++)
        if (str_eqz(tag, elements[i].tag))
            return elements[i].on;
    return KEPT_NONE;
}

/* Namespaces of syntax, without information, and one on which browsers act, are not kept. */
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

/* Returns true when the prefix was declared for an attribute before this one. *clashes: it has
 * another meaning there. */
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

static bool put_kept(struct buf *ext, enum kept_on on, size_t n, const struct attrs *at)
{
    bool any = false;

    for (size_t i = 0; i < at->n; i++) {
        const struct name *name = at->list[i].name;
        bool clashes = false;

        if (!is_kept(name))
            continue;
        if (!any)
            buf_printf(ext, "<f:on xmlns:f=\"" NS_KEPT "\" e=\"%s\" n=\"%zu\"", kept_name(on), n);
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

/* Returns the index of the link, tag or person that has just begun. */
static size_t index_of(struct builder *b, enum kept_on on, size_t n_tags)
{
    static const struct {
        enum kept_on on;
        const char *list;
    } lists[] = {
        {KEPT_LINK, "links"}, {KEPT_AUTHOR, "authors"}, {KEPT_CONTRIBUTOR, "contributors"}};
    size_t n;

    if (on == KEPT_TAG) /* a tag without attributes is added only when its text is known */
        return n_tags;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (lists[i].on == on) {
            n = value_len(value_get(builder_context(b), str_from(lists[i].list)));
            return n > 0 ? n - 1 : 0;
        }
    return 0;
}

/* Copy a foreign element that is a child of an author or contributor of an entry or head. */
static void copy_inner(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct buf *out = b->in_entry ? &b->entry_ext : &b->head_ext;
    size_t *n = b->in_entry ? &b->n_entry_kept : &b->n_head_kept;
    enum kept_on on;

    if (b->depth < 3 || !f[-2].is_container || !f->name->is_foreign || *n == KEPT_MAX)
        return;
    on = kept_of(f[-1].name->tag);
    if (on != KEPT_AUTHOR && on != KEPT_CONTRIBUTOR)
        return;
    builder_copy_drop(b);
    f->ext_at = out->len;
    kept_open(out, on, index_of(b, on, 0));
    f->ext = out;
    f->is_inner = true;
    (*n)++;
    copy_start(b, f, at);
}

void builder_copy_content(struct builder *b, struct frame *f, const struct attrs *at)
{
    if (f->name->is_barred || (f->name->prefix.len > 0 && str_is_null(name_uri(f->name))))
        return;
    f->ext = &b->text;
    f->ext_at = b->text.len;
    copy_start(b, f, at);
}

void builder_choose_ext(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct frame *parent = b->depth > 1 ? f - 1 : NULL;
    const struct name *n = f->name;

    if (parent == NULL)
        return;
    if (parent->ext != NULL) {
        /* inside a copy, an element with a barred name or an undeclared prefix is left out */
        if (n->is_barred || (n->prefix.len > 0 && str_is_null(name_uri(n))))
            return;
        f->ext = parent->ext;
        copy_start(b, f, at);
        return;
    }
    f->is_unknown = is_unknown(b, n);
    if (n->is_barred || (!f->is_unknown && (!n->is_foreign || str_is_null(name_uri(n)))) ||
        (n->element != NULL && (n->element->flags & EL_MAPPED)))
        return;
    if (!parent->is_container) {
        copy_inner(b, f, at);
        return;
    }
    builder_copy(b, f, b->in_entry ? &b->entry_ext : &b->head_ext, at);
}

void builder_keep_attributes(struct builder *b, const struct frame *f, const struct attrs *at,
                             size_t n_tags)
{
    enum kept_on on;
    size_t *n = b->in_entry ? &b->n_entry_kept : &b->n_head_kept;

    if (f->ext != NULL || !(f->is_container || (b->depth > 1 && f[-1].is_container)) ||
        *n == KEPT_MAX || !(b->in_entry || b->in_feed))
        return;
    on = kept_of(f->name->tag);
    if (on != KEPT_NONE &&
        put_kept(b->in_entry ? &b->entry_ext : &b->head_ext, on, index_of(b, on, n_tags), at))
        (*n)++;
}
