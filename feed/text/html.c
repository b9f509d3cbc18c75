/* feed/text/html.c - the tokenizer. It follows the states of the HTML standard, section 13.2.5. */
#include "feed/text/html.h"

#include "base/ascii.h"
#include "base/compiler.h"

void html_lexer_init(struct html_lexer *lx, struct arena *a, struct str in)
{
    lx->a = a;
    lx->in = in;
    lx->at = 0;
    lx->tail = lx->no_quote[0] = lx->no_quote[1] = false;
}

/* Returns the offset of `needle` at or after `from`, or the length of the input. */
static size_t find_from(const struct html_lexer *lx, size_t from, struct str needle)
{
    struct str rest = str_slice(lx->in, from, lx->in.len);
    ssize_t at = needle.len == 1 ? str_chr(rest, needle.ptr[0]) : str_find(rest, needle);

    return at < 0 ? lx->in.len : from + (size_t)at;
}

/* Returns the offset after the comment whose `<!--` is at `from`. A comment that is not closed
 * extends to the end of the input, because a part of it shown as text could reveal hidden
 * markup. */
static size_t comment_end(const struct html_lexer *lx, size_t from)
{
    struct str in = lx->in;
    size_t at = from + 4;

    if (at < in.len && in.ptr[at] == '>')
        return at + 1;
    if (str_starts(str_slice(in, at, in.len), STR("->")))
        return at + 2;
    while ((at = find_from(lx, at, STR("--"))) < in.len) {
        struct str rest = str_slice(in, at + 2, in.len);
        if (str_starts(rest, STR(">")))
            return at + 3;
        if (str_starts(rest, STR("!>")))
            return at + 4;
        at++;
    }
    return in.len;
}

/* Returns `s` in lower case. It is `s` itself when nothing changes, as with most names. */
static struct str lower_name(struct arena *a, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z')
            return str_lower(a, s);
    return s;
}

/* Returns the value whose quote is at *at, and moves *at after it. Null: the input ends within it.
 * If the quote is never closed, the value ends before the next `>`. By the HTML standard it would
 * take all the rest, which no author meant. */
static struct str quoted_value(struct html_lexer *lx, size_t *at)
{
    const char *p = lx->in.ptr + *at + 1, *end = NULL;
    size_t len = lx->in.len - *at - 1;
    bool *none_follows = &lx->no_quote[p[-1] == '"'];

    if (!*none_follows)
        end = memchr(p, p[-1], len);
    *none_follows = end == NULL;
    if (end == NULL)
        end = memchr(p, '>', len);
    if (end == NULL)
        return STR_NULL;
    *at = (size_t)(end - lx->in.ptr) + !*none_follows;
    return str_of(p, (size_t)(end - p));
}

/* Read the tag whose name begins at `at`. False: the input ends within it. */
static bool read_tag(struct html_lexer *lx, size_t at, struct html_token *t)
{
    const char *p = lx->in.ptr;
    size_t len = lx->in.len, from = at;

    while (at < len && !ascii_is_html_space(p[at]) && p[at] != '/' && p[at] != '>')
        at++;
    t->text = STR_NULL;
    t->name = str_of(p + from, at - from);
    t->attrs = lx->attrs;
    t->n_attrs = 0;
    t->self_closing = false;
    while (at < len && p[at] != '>') {
        struct html_attr attr = {.value = STR_NULL};
        if (ascii_is_html_space(p[at]) || p[at] == '/') {
            t->self_closing = p[at] == '/' && at + 1 < len && p[at + 1] == '>';
            at++;
            continue;
        }
        from = at++; /* a name may begin with `=` */
        while (at < len && !ascii_is_html_space(p[at]) && p[at] != '/' && p[at] != '>' &&
               p[at] != '=')
            at++;
        attr.name = str_of(p + from, at - from);
        while (at < len && ascii_is_html_space(p[at]))
            at++;
        if (at < len && p[at] == '=') {
            at++;
            while (at < len && ascii_is_html_space(p[at]))
                at++;
            if (at < len && (p[at] == '"' || p[at] == '\'')) {
                attr.value = quoted_value(lx, &at);
                if (str_is_null(attr.value))
                    return false;
            } else {
                from = at;
                while (at < len && !ascii_is_html_space(p[at]) && p[at] != '>')
                    at++;
                attr.value = str_of(p + from, at - from);
            }
        }
        if (t->n_attrs < HTML_ATTRS_MAX) {
            attr.name = lower_name(lx->a, attr.name);
            lx->attrs[t->n_attrs++] = attr;
        }
    }
    if (at >= len)
        return false;
    t->name = lower_name(lx->a, t->name);
    lx->at = at + 1;
    return true;
}

/* Skip what is ignored at lx->at: comments, declarations, processing instructions, end tags without
 * a name. Returns the offset after it, or lx->at when there is nothing to ignore. */
static size_t skippable_end(const struct html_lexer *lx)
{
    struct str rest = str_slice(lx->in, lx->at, lx->in.len);
    char c = rest.len > 1 ? rest.ptr[1] : ' ', d = rest.len > 2 ? rest.ptr[2] : ' ';
    bool bogus;
    size_t end;

    if (str_starts(rest, STR("<!--")))
        return comment_end(lx, lx->at);
    bogus = c == '?' || (c == '/' && !ascii_is_alpha(d)) || str_istarts(rest, STR("<!doctype")) ||
            (str_starts(rest, STR("<![")) && !str_starts(rest, STR("<![CDATA[")));
    if (!bogus || lx->tail)
        return lx->at;
    end = find_from(lx, lx->at, STR(">"));
    return end < lx->in.len ? end + 1 : end;
}

enum html_kind html_next(struct html_lexer *lx, struct html_token *t)
{
    struct str in = lx->in;
    size_t from;

    while (lx->at < in.len && in.ptr[lx->at] == '<') {
        size_t name = lx->at + 1;
        bool closing = name < in.len && in.ptr[name] == '/';

        name += closing;
        if (name >= in.len || !ascii_is_alpha(in.ptr[name])) {
            size_t end = skippable_end(lx);

            if (end == lx->at)
                break;
            lx->at = end;
            continue;
        }
        if (lx->tail)
            break;
        if (read_tag(lx, name, t))
            return t->kind = closing ? HTML_END_TAG : HTML_START_TAG;
        lx->tail = true;
        break;
    }
    *t = (struct html_token){.kind = HTML_END_OF_INPUT};
    if (lx->at >= in.len)
        return HTML_END_OF_INPUT;
    from = lx->at++; /* text; it may begin with a `<` that does not open a tag */
    lx->at = find_from(lx, lx->at, STR("<"));
    t->text = str_slice(in, from, lx->at);
    return t->kind = HTML_TEXT;
}

bool html_is_raw(struct str name)
{
    static const char *const names[] = {"script", "style",  "textarea", "xmp",     "template",
                                        "title",  "iframe", "noembed",  "noframes"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return false;
}

bool html_skip_raw(struct html_lexer *lx, struct str name)
{
    size_t at = lx->at;

    while ((at = find_from(lx, at, STR("</"))) < lx->in.len) {
        struct str rest = str_slice(lx->in, at + 2, lx->in.len);
        char next = rest.len > name.len ? rest.ptr[name.len] : ' ';
        if (str_istarts(rest, name) && (ascii_is_html_space(next) || next == '/' || next == '>')) {
            at = find_from(lx, at, STR(">"));
            lx->at = at < lx->in.len ? at + 1 : at;
            return true;
        }
        at += 2;
    }
    lx->at = lx->in.len;
    return false;
}

struct str html_attr_get(const struct html_token *t, const char *name)
{
    for (size_t i = t->n_attrs; i > 0; i--)
        if (str_eqz(t->attrs[i - 1].name, name))
            return str_is_null(t->attrs[i - 1].value) ? STR("") : t->attrs[i - 1].value;
    return STR_NULL;
}

/* Read the numeric reference after `&#` at s[i]. Returns the length of its `x` and digits; 0: there
 * is none. */
static size_t numeric(struct str s, size_t i, uint32_t *value)
{
    bool hex = i < s.len && (s.ptr[i] == 'x' || s.ptr[i] == 'X');
    size_t from = i += hex;

    *value = 0;
    for (; i < s.len; i++) {
        char c = s.ptr[i];
        uint32_t digit;
        if (ascii_is_digit(c))
            digit = (uint32_t)(c - '0');
        else if (hex && ascii_is_alpha(c) && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a' + 10);
        else
            break;
        if (*value <= 0x10FFFF)
            *value = *value * (hex ? 16 : 10) + digit;
    }
    return i == from ? 0 : i - from + hex;
}

uint32_t html_open_entity(struct str s, size_t *len_out)
{
    uint32_t cp;
    size_t n = 0;

    while (n < s.len && n < 32 && ascii_is_alnum(s.ptr[n]))
        n++;
    if (n < s.len && (s.ptr[n] == ';' || s.ptr[n] == '='))
        return 0;
    cp = html_entity(str_slice(s, 0, n));
    *len_out = n;
    return cp > 0xFF || (cp < 0xA0 && cp != '&' && cp != '<' && cp != '>' && cp != '"') ? 0 : cp;
}

static void decode_to(struct buf *out, struct str s)
{
    size_t from = 0;

    for (size_t i = 0; i < s.len;) {
        const char *amp = memchr(s.ptr + i, '&', s.len - i);
        size_t n = 0, at;
        uint32_t cp = 0;
        if (amp == NULL)
            break;
        at = (size_t)(amp - s.ptr);
        i = at + 1;
        if (i < s.len && s.ptr[i] == '#') {
            n = numeric(s, i + 1, &cp);
            if (n > 0) {
                i += 1 + n;
                cp = html_char_ref(cp);
            }
        } else {
            while (i + n < s.len && n < 32 && ascii_is_alnum(s.ptr[i + n]))
                n++;
            cp = i + n < s.len && s.ptr[i + n] == ';'
                     ? html_entity(str_of(s.ptr + i, n))
                     : html_open_entity(str_slice(s, i, s.len), &n);
            if (cp != 0)
                i += n;
        }
        if (cp == 0)
            continue;
        if (i < s.len && s.ptr[i] == ';')
            i++;
        buf_append(out, s.ptr + from, at - from);
        buf_utf8(out, cp);
        from = i;
    }
    if (s.len > from)
        buf_append(out, s.ptr + from, s.len - from);
}

struct str html_decode(struct arena *a, struct str s)
{
    struct buf b = BUF_INIT(BUF_ANY);
    struct str out;

    if (str_chr(s, '&') < 0)
        return s;
    decode_to(&b, s);
    out = str_dup(a, buf_view(&b));
    buf_release(&b);
    return out;
}

/* Elements that separate the words before and after them. */
static bool is_block(struct str name)
{
    static const char *const blocks[] = {
        "address", "article", "aside",  "blockquote", "br", "dd", "div", "dl",
        "dt",      "figure",  "footer", "form",       "h1", "h2", "h3",  "h4",
        "h5",      "h6",      "header", "hr",         "li", "ol", "p",   "pre",
        "section", "table",   "td",     "th",         "tr", "ul"};

    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        if (str_eqz(name, blocks[i]))
            return true;
    return false;
}

/* Returns `s` with each run of white space as one space, and with the ends trimmed. */
static struct str squeeze(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);
    size_t len = 0;
    bool gap = false;

    for (size_t i = 0; i < s.len; i++) {
        if (ascii_is_html_space(s.ptr[i])) {
            gap = len > 0;
            continue;
        }
        if (gap)
            p[len++] = ' ';
        gap = false;
        p[len++] = s.ptr[i];
    }
    p[len] = '\0';
    return str_of(p, len);
}

struct str html_to_text(struct arena *a, struct str html)
{
    struct buf b = BUF_INIT(BUF_ANY);
    struct html_lexer *lx;
    struct html_token t;
    struct str text;
    bool no_end[2] = {false, false}; /* there are no more end tags of scripts, of styles */

    if (str_chr(html, '<') < 0 && str_chr(html, '&') < 0)
        return squeeze(a, html);
    lx = arena_alloc(a, sizeof *lx);
    html_lexer_init(lx, a, html);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind == HTML_TEXT) {
            decode_to(&b, t.text);
        } else if (is_block(t.name)) {
            buf_putc(&b, ' ');
        } else if (t.kind == HTML_START_TAG &&
                   (str_eqz(t.name, "script") || str_eqz(t.name, "style"))) {
            bool *none = &no_end[str_eqz(t.name, "style")];
            size_t at = lx->at;

            if (t.self_closing && *none)
                continue;
            *none = !html_skip_raw(lx, t.name);
            if (*none && t.self_closing) /* it was meant as an empty element of XHTML */
                lx->at = at;
        }
    }
    text = squeeze(a, buf_view(&b));
    buf_release(&b);
    return text;
}
