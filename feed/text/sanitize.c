/* feed/text/sanitize.c - makes safe text from tokens, in one pass.
 *
 * Everything is written anew: names come from our lists, values are decoded, judged and escaped
 * again, and in text every `<` is escaped. So nothing gets through as markup that a browser might
 * read in another way than the tokenizer did. Attribute values cannot close raw text elements
 * either. */
#include "feed/text/sanitize.h"

#include <stdlib.h>

#include "base/scan.h"
#include "feed/text/html.h"
#include "feed/text/sanitize_priv.h"
#include "feed/text/uri.h"

#define DEPTH_MAX 256 /* levels of elements; browsers stop at 512 */
/* values of sanitize_name.row; ROW_TABLE: of its tens */
enum { ROW_P = 1, ROW_LI = 11, ROW_TABLE = 3 };
#define XLINK "http://www.w3.org/1999/xlink"
#define SVG "http://www.w3.org/2000/svg"
#define MATHML "http://www.w3.org/1998/Math/MathML"

struct cleaner {
    struct arena *a;
    struct buf out;
    struct str base;
    size_t *grown; /* as in uri_resolve_within() */
    int hidden;    /* number of open elements whose text is left out, too */
    int math, svg;
    unsigned no_end;   /* a bit per hidden element: there are no more end tags of it */
    size_t n_too_deep; /* number of open elements that do not fit on the stack and are left out */
    size_t n_open;
    const struct sanitize_name *open[DEPTH_MAX]; /* those that were written, innermost last */
};

SCAN_DEFINE(scan_text, (v == '<') | (v == '&') | (v == '\r'), c == '<' || c == '&' || c == '\r')
SCAN_DEFINE(scan_value, (v == '<') | (v == '>') | (v == '&') | (v == '"'),
            c == '<' || c == '>' || c == '&' || c == '"')
SCAN_DEFINE(scan_control, v < 0x20, c < 0x20)

/* Write a numeric reference with its semicolon, as the Universal Feed Parser writes it: unchanged,
 * but quotes as characters, and Windows-1252 numbers corrected. False: it is not a reference. */
static bool write_char_ref(struct cleaner *c, struct str ref)
{
    bool hex = ref.ptr[2] == 'x' || ref.ptr[2] == 'X';
    struct str digits = str_slice(ref, hex ? 3 : 2, ref.len - 1);
    uint32_t value = 0, cp;

    for (size_t i = 0; i < digits.len; i++) {
        char d = digits.ptr[i];
        if (d >= '0' && d <= '9')
            d = (char)(d - '0');
        else if (hex && (d | 32) >= 'a' && (d | 32) <= 'f')
            d = (char)((d | 32) - 'a' + 10);
        else
            return false;
        if (value <= 0x10FFFF)
            value = value * (hex ? 16 : 10) + (uint32_t)d;
    }
    if (digits.len == 0)
        return false;
    cp = html_char_ref(value);
    if (cp == 0xFFFD || (cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r'))
        buf_utf8(&c->out, 0xFFFD);
    else if (!hex && (cp == '"' || cp == '\''))
        buf_utf8(&c->out, cp);
    else if (cp != value)
        buf_printf(&c->out, "&#x%x;", cp);
    else
        buf_str(&c->out, str_lower(c->a, ref));
    return true;
}

static void write_reference(struct cleaner *c, struct str name)
{
    buf_putc(&c->out, '&');
    buf_str(&c->out, name);
    buf_putc(&c->out, ';');
}

/* Write text. Stray `<` and `&` are escaped, and references get one spelling. */
static void write_text(struct cleaner *c, struct str s)
{
    size_t from = 0, i = 0, n;

    for (;;) {
        struct str rest, name;
        ssize_t semi;
        char ch;

        i = (size_t)(scan_text(s.ptr + i, s.ptr + s.len) - s.ptr);
        if (i == s.len)
            break;
        ch = s.ptr[i];
        rest = str_slice(s, i, s.len);
        buf_append(&c->out, s.ptr + from, i - from);
        from = ++i;
        if (ch == '\r') { /* CRLF and CR become one line end */
            if (i >= s.len || s.ptr[i] != '\n')
                buf_putc(&c->out, '\n');
            continue;
        }
        if (ch == '<') {
            buf_puts(&c->out, "&lt;");
            continue;
        }
        semi = str_chr(str_slice(rest, 0, 34), ';');
        name = semi < 0 ? STR("") : str_slice(rest, 1, (size_t)semi);
        if (name.len > 1 && name.ptr[0] == '#') {
            if (!write_char_ref(c, str_slice(rest, 0, (size_t)semi + 1))) {
                buf_puts(&c->out, "&amp;");
                continue;
            }
        } else if (html_entity(name) != 0) {
            write_reference(c, name);
        } else {
            if (html_open_entity(str_slice(rest, 1, rest.len), &n) == 0) {
                buf_puts(&c->out, "&amp;");
                continue;
            }
            write_reference(c, str_slice(rest, 1, n + 1));
            from = i += n;
            continue;
        }
        from = i += (size_t)semi;
    }
    buf_append(&c->out, s.ptr + from, s.len - from);
}

/* Returns true when every `&` begins a complete reference to a valid character. Then the text can
 * be written unchanged. */
static bool has_plain_references(struct str s)
{
    ssize_t at;

    while ((at = str_chr(s, '&')) >= 0) {
        struct str rest = str_slice(s, (size_t)at + 1, s.len), name;
        ssize_t semi = str_chr(str_slice(rest, 0, 33), ';');
        int64_t value = 0;

        if (semi < 0)
            return false;
        name = str_slice(rest, 0, (size_t)semi);
        if (str_eqz(name, "#x26") || str_eqz(name, "#X26"))
            value = '&';
        else if (str_starts(name, STR("#")) && !str_to_i64(str_slice(name, 1, name.len), &value))
            return false;
        if (value == 0 ? html_entity(name) == 0
                       : value < ' ' || (value >= 0x7F && value < 0xA0) || value > 0xFFFF ||
                             html_char_ref((uint32_t)value) != (uint32_t)value)
            return false;
        s = str_slice(rest, (size_t)semi + 1, rest.len);
    }
    return true;
}

static void write_attr(struct buf *out, const struct html_attr *attr)
{
    const char *from = attr->value.ptr, *end = attr->value.ptr + attr->value.len;

    buf_putc(out, ' ');
    buf_str(out, attr->name);
    buf_append(out, "=\"", 2);
    for (;;) {
        const char *p = scan_value(from, end);

        buf_append(out, from, (size_t)(p - from));
        if (p == end)
            break;
        if (*p == '&')
            buf_puts(out, attr->is_decoded ? "&amp;" : "&");
        else
            buf_puts(out, *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : "&quot;");
        from = p + 1;
    }
    buf_putc(out, '"');
}

/* Returns `url` without control characters, because browsers drop them, too. */
static struct str strip_controls(struct arena *a, struct str url)
{
    size_t len = 0;
    char *p;

    url = str_trim(url);
    if (scan_control(url.ptr, url.ptr + url.len) == url.ptr + url.len)
        return url;
    p = arena_alloc(a, url.len + 1);
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] >= 0x20)
            p[len++] = url.ptr[i];
    p[len] = '\0';
    return str_trim(str_of(p, len));
}

/* Returns true for an inline image. It is harmless, unless it is SVG. */
static bool is_inline_picture(struct str url)
{
    static const char *const types[] = {"png", "gif", "jpeg", "jpg", "webp", "avif", "bmp"};

    if (!str_istarts(url, STR("data:image/")))
        return false;
    url = str_slice(url, 11, url.len);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct str type = str_from(types[i]);
        if (str_istarts(url, type) && url.len > type.len &&
            (url.ptr[type.len] == ';' || url.ptr[type.len] == ','))
            return true;
    }
    return false;
}

/* If no path, query or fragment has begun, everything before the first colon counts as a scheme. */
static bool is_safe_url(struct str url)
{
    for (size_t i = 0; i < url.len; i++) {
        char c = url.ptr[i];

        if (c == ':')
            return sanitize_listed(SANITIZE_SCHEMES, str_slice(url, 0, i));
        if (c == '/' || c == '?' || c == '#' || c == '\0')
            break;
    }
    return true;
}

/* Returns true for an absolute web address without anything unusual; most URLs are like that. */
static bool is_plain_url(struct str url)
{
    size_t n = str_starts(url, STR("http://")) ? 7 : str_starts(url, STR("https://")) ? 8 : 0;

    return n > 0 && url.len > n && url.ptr[n] != '/';
}

/* Returns the attribute's value for output; null: the attribute must be left out. */
static struct str clean_url(struct cleaner *c, struct str element, const struct sanitize_name *attr,
                            struct str url)
{
    bool is_safe;

    url = strip_controls(c->a, url);
    if (is_plain_url(url))
        return url;
    if (str_eqz(attr->own, "src") && str_eqz(element, "img") && is_inline_picture(url))
        return url;
    is_safe = is_safe_url(url);
    if (is_safe && url.len > 0 && sanitize_is(attr, SANITIZE_RESOLVED_ATTRIBUTES)) {
        url = uri_resolve_within(c->a, c->base, url, c->grown);
        is_safe = is_safe_url(url); /* the base is the publisher's input, too */
    }
    return is_safe ? url : str_eqz(attr->own, "href") ? STR("") : STR_NULL;
}

static int by_attr_name(const void *x, const void *y)
{
    const struct html_attr *a = x, *b = y;

    return str_cmp(a->name, b->name);
}

/* Sort by name. For few attributes, as most tags have, without a call of qsort(). */
static void sort_attrs(struct html_attr *attrs, size_t n)
{
    if (n > 16) {
        qsort(attrs, n, sizeof attrs[0], by_attr_name);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct html_attr a = attrs[i];
        size_t at = i;

        for (; at > 0 && str_cmp(attrs[at - 1].name, a.name) > 0; at--)
            attrs[at] = attrs[at - 1];
        attrs[at] = a;
    }
}

/* Decode and judge the tag's attributes, and put them into `attrs`. If a name occurs twice, the
 * last one counts. */
static size_t clean_attrs(struct cleaner *c, const struct html_token *t, enum sanitize_list list,
                          struct html_attr *attrs)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_attrs; i++) {
        const struct sanitize_name *name = sanitize_name(t->attrs[i].name);
        struct str value = t->attrs[i].value, written = value;
        bool is_style, is_decoded = true;
        size_t at = 0;

        if (!sanitize_is(name, list))
            continue;
        value = str_is_null(value) ? t->attrs[i].name : html_decode(c->a, value);
        is_style = str_eqz(name->own, "style");
        if (is_style)
            value = sanitize_style(c->a, value, c->svg > 0);
        else if (sanitize_is(name, SANITIZE_URL_ATTRIBUTES))
            value = clean_url(c, t->name, name, value);
        else if (str_eqz(name->own, "rel") || str_eqz(name->own, "type"))
            value = str_lower(c->a, value);
        else
            is_decoded = str_is_null(written) || !has_plain_references(written);
        if (!is_decoded)
            value = written;
        if (str_is_null(value) || (value.len == 0 && is_style))
            continue;
        while (at < n && attrs[at].name.ptr != name->own.ptr)
            at++;
        attrs[at] = (struct html_attr){name->own, value, is_decoded};
        n += at == n;
    }
    return n;
}

/* Find the list of attributes that the start tag's element may have. Also counts open MathML and
 * SVG elements. False: the element must be left out. */
static bool admit(struct cleaner *c, const struct html_token *t, const struct sanitize_name *name,
                  enum sanitize_list *list)
{
    *list = SANITIZE_ATTRIBUTES;
    if (c->svg == 0 && sanitize_is(name, SANITIZE_ELEMENTS))
        return true;
    c->math += str_eqz(t->name, "math");
    c->svg += str_eqz(t->name, "svg");
    if (c->math > 0 && sanitize_is(name, SANITIZE_MATHML_ELEMENTS))
        *list = SANITIZE_MATHML_ATTRIBUTES;
    else if (c->svg > 0 && sanitize_is(name, SANITIZE_SVG_ELEMENTS))
        *list = SANITIZE_SVG_ATTRIBUTES;
    else
        return sanitize_is(name, SANITIZE_ELEMENTS);
    return true;
}

/* Add the namespaces of inline MathML and SVG, so that the fragment is also good XML. */
static size_t add_namespaces(const struct html_token *t, struct html_attr *attrs, size_t n)
{
    bool xmlns = false, xlink = false, uses_xlink = false;
    const char *own = str_eqz(t->name, "svg") ? SVG : str_eqz(t->name, "math") ? MATHML : NULL;

    for (size_t i = 0; i < n; i++) {
        xmlns |= str_eqz(attrs[i].name, "xmlns");
        xlink |= str_eqz(attrs[i].name, "xmlns:xlink");
        uses_xlink |= str_starts(attrs[i].name, STR("xlink:"));
        if (str_eqz(attrs[i].name, "xmlns"))
            attrs[i].value = own != NULL ? str_from(own) : attrs[i].value;
        if (str_eqz(attrs[i].name, "xmlns:xlink"))
            attrs[i].value = STR(XLINK);
    }
    if (own != NULL && !xmlns)
        attrs[n++] = (struct html_attr){STR("xmlns"), str_from(own), true};
    if (uses_xlink && !xlink)
        attrs[n++] = (struct html_attr){STR("xmlns:xlink"), STR(XLINK), true};
    return n;
}

/* ---- balance: what is written closes what it opens, and nothing of the page around it ---- */

/* Write the end tag of the innermost open element. */
static void close_innermost(struct cleaner *c)
{
    const struct sanitize_name *element = c->open[--c->n_open];
    struct str name = element->own;

    if (sanitize_is(element, SANITIZE_AREAS)) {
        c->math -= c->math > 0 && str_eqz(name, "math");
        c->svg -= c->svg > 0 && str_eqz(name, "svg");
    }
    buf_append(&c->out, "</", 2);
    buf_str(&c->out, name);
    buf_putc(&c->out, '>');
}

/* Close elements that cannot contain the element `name`: "<li>a<li>b", "<p>a<ul>". */
static void close_siblings(struct cleaner *c, const struct sanitize_name *name)
{
    bool ends_p = sanitize_is(name, SANITIZE_BLOCKS);

    while (c->n_open > 0 && c->open[c->n_open - 1]->row > 0) {
        unsigned open = c->open[c->n_open - 1]->row;

        if (!(open == ROW_P && ends_p) &&
            !(name->row > ROW_P && open / 10 == name->row / 10 && open >= name->row))
            return;
        close_innermost(c);
    }
}

/* Handle the end tag `name`: close its element and all open elements within it. The end tag is
 * ignored if it would close a table cell or an inner list around it. */
static void close_element(struct cleaner *c, const struct sanitize_name *name)
{
    bool is_of_table = name->row / 10 == ROW_TABLE || str_eqz(name->own, "caption");
    bool is_table = str_eqz(name->own, "table"), is_item = name->row == ROW_LI;
    size_t i = c->n_open;

    while (i > 0 && c->open[i - 1] != name) {
        const struct sanitize_name *inner = c->open[--i];

        if (sanitize_is(inner, SANITIZE_FENCES) && !is_table &&
            (!is_of_table || str_eqz(inner->own, "table")))
            return;
        if (is_item && (str_eqz(inner->own, "ul") || str_eqz(inner->own, "ol")))
            return;
    }
    if (i == 0)
        return;
    if (sanitize_is(name, SANITIZE_AREAS))
        c->n_open = i; /* elements within it get no end tags, as in the Universal Feed Parser */
    while (c->n_open >= i)
        close_innermost(c);
}

static void write_start(struct cleaner *c, const struct html_token *t,
                        const struct sanitize_name *name)
{
    struct html_attr attrs[HTML_ATTRS_MAX + 2];
    enum sanitize_list list;
    size_t n;

    bool is_void = sanitize_is(name, SANITIZE_VOID_ELEMENTS);

    if (c->n_open == DEPTH_MAX && !is_void) {
        c->n_too_deep++;
        return;
    }
    if (!admit(c, t, name, &list))
        return;
    close_siblings(c, name);
    n = clean_attrs(c, t, list, attrs);
    if (list != SANITIZE_ATTRIBUTES)
        n = add_namespaces(t, attrs, n);
    sort_attrs(attrs, n);
    buf_putc(&c->out, '<');
    buf_str(&c->out, name->own);
    for (size_t i = 0; i < n; i++)
        write_attr(&c->out, &attrs[i]);
    if (is_void) {
        buf_append(&c->out, " />", 3);
        return;
    }
    buf_putc(&c->out, '>');
    c->open[c->n_open++] = name;
    if (t->self_closing && t->n_attrs == 0)
        /* <b/> is meant to be empty; with attributes, the slash is ignored as in HTML */
        close_innermost(c);
}

static void write_end(struct cleaner *c, const struct sanitize_name *name)
{
    if (name == NULL || sanitize_is(name, SANITIZE_VOID_ELEMENTS))
        return;
    if (c->n_open > 0 && c->open[c->n_open - 1] == name) { /* the usual case */
        close_innermost(c);
        return;
    }
    if (c->n_too_deep > 0)
        c->n_too_deep--;
    else
        close_element(c, name);
}

/* ---- elements that are dropped with their text ---- */

/* Returns a bit for each element that is raw text to a browser. */
static unsigned raw_bit(struct str name)
{
    return str_eqz(name, "script") ? 1 : 2;
}

/* After the start tag of a script or the like: skip its content. In HTML a slash at the end of the
 * tag has no meaning; but if no end tag comes, it was meant as in XHTML. */
static void skip_hidden(struct cleaner *c, struct html_lexer *lx, const struct html_token *t)
{
    size_t at = lx->at;

    if (t->self_closing && (c->no_end & raw_bit(t->name)))
        return;
    if (html_skip_raw(lx, t->name))
        return;
    c->no_end |= raw_bit(t->name);
    if (t->self_closing)
        lx->at = at;
}

struct str sanitize_html(struct arena *a, struct str html, struct str base)
{
    size_t grown = 0;

    return sanitize_html_within(a, html, base, &grown);
}

struct str sanitize_html_within(struct arena *a, struct str html, struct str base, size_t *grown)
{
    struct cleaner c; /* not cleared: the stack is set as it grows */
    struct arena_mark before = arena_mark(a);
    struct html_lexer *lx;
    struct html_token t;
    struct str safe;

    memset(&c, 0, offsetof(struct cleaner, open));
    c.a = a;
    c.out = (struct buf)BUF_INIT(BUF_ANY);
    c.base = base;
    c.grown = grown;
    if (str_is_null(html) ||
        (str_chr(html, '<') < 0 && str_chr(html, '&') < 0 && str_chr(html, '\r') < 0))
        return str_dup(a, str_trim(html));
    lx = arena_alloc(a, sizeof *lx);
    html_lexer_init(lx, a, html);
    buf_reserve(&c.out, html.len + html.len / 8);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        const struct sanitize_name *name;

        if (t.kind == HTML_TEXT) {
            if (c.hidden == 0)
                write_text(&c, t.text);
            continue;
        }
        name = sanitize_name(t.name);
        if (sanitize_is(name, SANITIZE_HIDDEN_ELEMENTS)) {
            if (t.kind == HTML_END_TAG)
                c.hidden -= c.hidden > 0;
            else if (!str_eqz(t.name, "applet"))
                skip_hidden(&c, lx, &t);
            else
                c.hidden += !t.self_closing;
        } else if (c.hidden == 0) {
            if (t.kind == HTML_START_TAG)
                write_start(&c, &t, name);
            else
                write_end(&c, name);
        }
    }
    while (c.n_open > 0)
        close_innermost(&c);
    /* free names, values and the lexer; they often need more memory than the result */
    arena_rewind(a, before);
    safe = str_dup(a, str_trim(buf_view(&c.out)));
    buf_release(&c.out);
    return safe;
}
