/* feed/sanitize.c - one pass from tokens to safe text.
 *
 * Whatever is written here is written anew: names from our lists, values decoded, judged and
 * escaped again, text with every `<` escaped. So nothing that a browser might read otherwise than
 * the tokenizer did gets through as markup; attribute values cannot close raw text elements either.
 */
#include "feed/sanitize.h"

#include <stdlib.h>

#include "feed/html.h"
#include "feed/sanitize_priv.h"
#include "feed/uri.h"

#define XLINK "http://www.w3.org/1999/xlink"
#define SVG "http://www.w3.org/2000/svg"
#define MATHML "http://www.w3.org/1998/Math/MathML"

struct cleaner {
    struct arena *a;
    struct buf out;
    struct str base;
    int hidden; /* open elements whose text is left out too */
    int math, svg;
};

static bool is_hidden_element(struct str name)
{
    return str_eqz(name, "script") || str_eqz(name, "style") || str_eqz(name, "applet");
}

/* A numeric reference with its semicolon, in the spelling of the Universal Feed Parser: as written,
 * but quotes as themselves and Windows-1252 numbers corrected. False when it is no reference. */
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

/* Text as written, with stray `<` and `&` escaped and references in a uniform spelling. */
static void write_text(struct cleaner *c, struct str s)
{
    size_t from = 0, i = 0;

    while (i < s.len) {
        char ch = s.ptr[i];
        struct str rest = str_slice(s, i, s.len), name;
        ssize_t semi;
        if (ch != '<' && ch != '&' && ch != '\r') {
            i++;
            continue;
        }
        buf_append(&c->out, s.ptr + from, i - from);
        from = ++i;
        if (ch == '\r') { /* CRLF and CR are one line end */
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
            buf_putc(&c->out, '&');
            buf_str(&c->out, name);
            buf_putc(&c->out, ';');
        } else {
            buf_puts(&c->out, "&amp;");
            continue;
        }
        from = i += (size_t)semi;
    }
    buf_append(&c->out, s.ptr + from, s.len - from);
}

static void write_attr(struct buf *out, struct str name, struct str value)
{
    size_t from = 0;

    buf_putc(out, ' ');
    buf_str(out, name);
    buf_puts(out, "=\"");
    for (size_t i = 0; i < value.len; i++) {
        const char *ref = NULL;
        switch (value.ptr[i]) {
        case '<':
            ref = "&lt;";
            break;
        case '>':
            ref = "&gt;";
            break;
        case '&':
            ref = "&amp;";
            break;
        case '"':
            ref = "&quot;";
            break;
        default:
            continue;
        }
        buf_append(out, value.ptr + from, i - from);
        buf_puts(out, ref);
        from = i + 1;
    }
    if (value.len > from)
        buf_append(out, value.ptr + from, value.len - from);
    buf_putc(out, '"');
}

/* `url` as a browser takes it: without control characters, which it drops while reading. */
static struct str strip_controls(struct arena *a, struct str url)
{
    size_t len = 0;
    char *p;

    url = str_trim(url);
    for (size_t i = 0; i < url.len; i++)
        len += (unsigned char)url.ptr[i] >= 0x20;
    if (len == url.len)
        return url;
    p = arena_alloc(a, len + 1);
    len = 0;
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] >= 0x20)
            p[len++] = url.ptr[i];
    p[len] = '\0';
    return str_trim(str_of(p, len));
}

/* Pictures inline are harmless as pictures (SVG is not one). */
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

/* Everything before a first colon counts as a scheme, if no path, query or fragment began. */
static bool is_safe_url(struct cleaner *c, struct str url)
{
    for (size_t i = 0; i < url.len && strchr("/?#", url.ptr[i]) == NULL; i++)
        if (url.ptr[i] == ':')
            return sanitize_listed(SANITIZE_SCHEMES, str_lower(c->a, str_slice(url, 0, i))) != NULL;
    return true;
}

/* The attribute's value for output; null: leave the attribute out. */
static struct str clean_url(struct cleaner *c, struct str element, struct str attr, struct str url)
{
    /* what a browser resolves; the other URL attributes are history and stay as they are */
    static const char *const resolved[] = {"href",     "src",    "cite",  "action",
                                           "longdesc", "poster", "usemap"};

    bool is_safe;

    url = strip_controls(c->a, url);
    if (str_eqz(attr, "src") && str_eqz(element, "img") && is_inline_picture(url))
        return url;
    is_safe = is_safe_url(c, url);
    for (size_t i = 0; i < sizeof resolved / sizeof resolved[0]; i++)
        if (is_safe && str_eqz(attr, resolved[i]) && url.len > 0) {
            url = uri_resolve(c->a, c->base, url);
            is_safe = is_safe_url(c, url); /* the base is the publisher's word too */
            break;
        }
    return is_safe ? url : str_eqz(attr, "href") ? STR("") : STR_NULL;
}

static int by_attr_name(const void *x, const void *y)
{
    const struct html_attr *a = x, *b = y;

    return str_cmp(a->name, b->name);
}

/* The tag's attributes, decoded, judged and sorted, in `attrs`; the last of a name counts. */
static size_t clean_attrs(struct cleaner *c, const struct html_token *t, enum sanitize_list list,
                          struct html_attr *attrs)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_attrs; i++) {
        struct str name = t->attrs[i].name, value = t->attrs[i].value;
        const char *own = sanitize_listed(list, name);
        size_t at = 0;
        if (own == NULL)
            continue;
        value = str_is_null(value) ? name : html_decode(c->a, value, true);
        if (str_eqz(name, "style"))
            value = sanitize_style(c->a, value, c->svg > 0);
        else if (sanitize_listed(SANITIZE_URL_ATTRIBUTES, name) != NULL)
            value = clean_url(c, t->name, name, value);
        else if (str_eqz(name, "rel") || str_eqz(name, "type"))
            value = str_lower(c->a, value);
        if (str_is_null(value) || (value.len == 0 && str_eqz(name, "style")))
            continue;
        name = str_from(own);
        while (at < n && !str_eq(attrs[at].name, name))
            at++;
        attrs[at] = (struct html_attr){name, value};
        n += at == n;
    }
    return n;
}

/* The list that allows the attributes of the start tag's element, counting open MathML and SVG;
 * false when the element may not stay. *own is its name for output. */
static bool admit(struct cleaner *c, const struct html_token *t, enum sanitize_list *list,
                  const char **own)
{
    *list = SANITIZE_ATTRIBUTES;
    *own = c->svg > 0 ? NULL : sanitize_listed(SANITIZE_ELEMENTS, t->name);
    if (*own != NULL)
        return true;
    c->math += str_eqz(t->name, "math");
    c->svg += str_eqz(t->name, "svg");
    if (c->math > 0 && (*own = sanitize_listed(SANITIZE_MATHML_ELEMENTS, t->name)) != NULL)
        *list = SANITIZE_MATHML_ATTRIBUTES;
    else if (c->svg > 0 && (*own = sanitize_listed(SANITIZE_SVG_ELEMENTS, t->name)) != NULL)
        *list = SANITIZE_SVG_ATTRIBUTES;
    else
        *own = sanitize_listed(SANITIZE_ELEMENTS, t->name);
    return *own != NULL;
}

/* Namespaces of inline MathML and SVG, so that the fragment is good XML too. */
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
        attrs[n++] = (struct html_attr){STR("xmlns"), str_from(own)};
    if (uses_xlink && !xlink)
        attrs[n++] = (struct html_attr){STR("xmlns:xlink"), STR(XLINK)};
    return n;
}

static void write_start(struct cleaner *c, const struct html_token *t)
{
    struct html_attr attrs[HTML_ATTRS_MAX + 2];
    enum sanitize_list list;
    const char *own;
    size_t n;

    if (!admit(c, t, &list, &own))
        return;
    n = clean_attrs(c, t, list, attrs);
    if (list != SANITIZE_ATTRIBUTES)
        n = add_namespaces(t, attrs, n);
    qsort(attrs, n, sizeof attrs[0], by_attr_name);
    buf_putc(&c->out, '<');
    buf_puts(&c->out, own);
    for (size_t i = 0; i < n; i++)
        write_attr(&c->out, attrs[i].name, attrs[i].value);
    if (sanitize_listed(SANITIZE_VOID_ELEMENTS, t->name) != NULL) {
        buf_puts(&c->out, " />");
    } else if (t->self_closing && t->n_attrs == 0) {
        /* <b/> is meant to be empty; with attributes HTML's own rule holds: the slash is noise */
        buf_puts(&c->out, "></");
        buf_puts(&c->out, own);
        buf_putc(&c->out, '>');
        c->math -= c->math > 0 && str_eqz(t->name, "math");
        c->svg -= c->svg > 0 && str_eqz(t->name, "svg");
    } else {
        buf_putc(&c->out, '>');
    }
}

static void write_end(struct cleaner *c, const struct html_token *t)
{
    const char *own = sanitize_listed(SANITIZE_ELEMENTS, t->name);

    if (own == NULL && c->math > 0)
        own = sanitize_listed(SANITIZE_MATHML_ELEMENTS, t->name);
    if (own == NULL && c->svg > 0)
        own = sanitize_listed(SANITIZE_SVG_ELEMENTS, t->name);
    if (own == NULL || sanitize_listed(SANITIZE_VOID_ELEMENTS, t->name) != NULL)
        return;
    c->math -= c->math > 0 && str_eqz(t->name, "math");
    c->svg -= c->svg > 0 && str_eqz(t->name, "svg");
    buf_puts(&c->out, "</");
    buf_puts(&c->out, own);
    buf_putc(&c->out, '>');
}

struct str sanitize_html(struct arena *a, struct str html, struct str base)
{
    struct cleaner c = {.a = a, .out = BUF_INIT(BUF_ANY), .base = base};
    struct arena_mark before = arena_mark(a);
    struct html_lexer *lx;
    struct html_token t;
    struct str safe;

    if (str_is_null(html) ||
        (str_chr(html, '<') < 0 && str_chr(html, '&') < 0 && str_chr(html, '\r') < 0))
        return str_dup(a, str_trim(html));
    lx = arena_alloc(a, sizeof *lx);
    html_lexer_init(lx, a, html);
    buf_reserve(&c.out, html.len + html.len / 8);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind == HTML_TEXT) {
            if (c.hidden == 0)
                write_text(&c, t.text);
        } else if (is_hidden_element(t.name)) {
            if (t.kind == HTML_END_TAG)
                c.hidden -= c.hidden > 0;
            else if (t.self_closing)
                continue;
            else if (str_eqz(t.name, "applet"))
                c.hidden++;
            else
                html_skip_raw(lx, t.name);
        } else if (c.hidden == 0) {
            if (t.kind == HTML_START_TAG)
                write_start(&c, &t);
            else
                write_end(&c, &t);
        }
    }
    arena_rewind(a, before); /* names, values and the lexer: often more than the result */
    safe = str_dup(a, str_trim(buf_view(&c.out)));
    buf_release(&c.out);
    return safe;
}
