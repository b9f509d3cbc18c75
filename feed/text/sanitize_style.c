/* feed/text/sanitize_style.c - style attributes: keeps declarations of listed properties.
 *
 * The rules are those of the Universal Feed Parser, which uses regular expressions. Here one pass
 * over the text does the same without backtracking. */
#include "feed/text/sanitize_priv.h"

#include "base/ascii.h"
#include "base/buf.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_alnum(char c)
{
    return ascii_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Append `style` to `out`, with a space instead of each url(...). */
static void cut_urls(struct buf *out, struct str style)
{
    size_t unclosed = 0; /* a url( that begins before this offset is not closed */

    for (size_t i = 0; i < style.len; i++) {
        struct str rest = str_slice(style, i, style.len);
        size_t n = 3, from, end;
        if (i + 4 < unclosed || !str_starts(rest, STR("url"))) {
            buf_putc(out, style.ptr[i]);
            continue;
        }
        while (n < rest.len && is_space(rest.ptr[n]))
            n++;
        from = n;
        if (n < rest.len && rest.ptr[n] == '(') {
            n++;
            while (n < rest.len && is_space(rest.ptr[n]))
                n++;
            from = n;
            while (n < rest.len && !is_space(rest.ptr[n]) && rest.ptr[n] != ')')
                n++;
        }
        if (n == from) { /* not url(x): is_plain() refuses what remains */
            buf_putc(out, style.ptr[i]);
            continue;
        }
        end = n;
        while (n < rest.len && is_space(rest.ptr[n]))
            n++;
        if (n == rest.len || rest.ptr[n] != ')') {
            unclosed = i + end;
            buf_putc(out, style.ptr[i]);
            continue;
        }
        n++;
        while (n < rest.len && is_space(rest.ptr[n]))
            n++;
        buf_putc(out, ' ');
        i += n - 1;
    }
}

/* Returns the offset after the quoted words or bracketed numbers that begin at s[i]; 0: there are
 * none. */
static size_t group_end(struct str s, size_t i)
{
    char open = s.ptr[i], close = open == '(' ? ')' : open;
    size_t from = ++i;

    while (i < s.len && s.ptr[i] != close) {
        char c = s.ptr[i++];
        bool fits = open == '(' ? ascii_is_digit(c) || c == ',' || is_space(c)
                                : is_alnum(c) || c == '_' || is_space(c);
        if (!fits)
            return 0;
    }
    return i < s.len && i > from ? i + 1 : 0;
}

static bool is_punctuation(char c)
{
    return c == ':' || c == ';' || c == '.' || c == ',' || c == '#' || c == '%' || c == '!';
}

/* Returns true when `s` has only letters, digits, plain punctuation, quoted words, bracketed
 * numbers, and hyphens between word characters. Escapes, functions and comments are refused. */
static bool is_plain(struct str s)
{
    bool word = false; /* the byte before may be followed by a hyphen */

    for (size_t i = 0; i < s.len;) {
        char c = s.ptr[i];
        if (c == '-') {
            if (!word || i + 1 >= s.len || !is_alnum(s.ptr[i + 1]))
                return false;
            word = false;
            i += 2;
        } else if (c == '\'' || c == '"' || c == '(') {
            if ((i = group_end(s, i)) == 0)
                return false;
            word = false;
        } else if (is_alnum(c) || is_space(c) || is_punctuation(c)) {
            word = is_alnum(c);
            i++;
        } else {
            return false;
        }
    }
    return true;
}

/* Returns true for a colour, or for a size with at most two digits before and after the point,
 * because 9999em would hide a page. */
static bool is_measure(struct str v)
{
    static const char *const units[] = {"",   "cm", "em", "ex", "in", "mm",
                                        "pc", "pt", "px", "%",  ",",  ")"};
    size_t i = 0, n;

    if (v.len > 1 && v.ptr[0] == '#') {
        for (i = 1; i < v.len; i++)
            if (!ascii_is_digit(v.ptr[i]) && !(v.ptr[i] >= 'a' && v.ptr[i] <= 'f'))
                return false;
        return true;
    }
    if (str_starts(v, STR("rgb("))) {
        for (i = 4; i < v.len; i++)
            if (!ascii_is_digit(v.ptr[i]) && v.ptr[i] != '%' && v.ptr[i] != ',' &&
                !(v.ptr[i] == ')' && i + 1 == v.len))
                return false;
        return v.len > 4 && ascii_is_digit(v.ptr[4]);
    }
    for (n = 0; n < 2 && i < v.len && ascii_is_digit(v.ptr[i]); n++)
        i++;
    if (i < v.len && v.ptr[i] == '.')
        i++;
    for (n = 0; n < 2 && i < v.len && ascii_is_digit(v.ptr[i]); n++)
        i++;
    for (n = 0; n < sizeof units / sizeof units[0]; n++)
        if (str_eqz(str_slice(v, i, v.len), units[n]))
            return true;
    return false;
}

static bool are_measures(struct str value)
{
    for (size_t i = 0; i < value.len;) {
        size_t from = i;
        struct str word;
        while (i < value.len && !is_space(value.ptr[i]))
            i++;
        word = str_slice(value, from, i);
        if (word.len > 0 && !sanitize_listed(SANITIZE_CSS_KEYWORDS, word) && !is_measure(word))
            return false;
        while (i < value.len && is_space(value.ptr[i]))
            i++;
    }
    return true;
}

static bool is_allowed(struct str prop, struct str value, bool svg)
{
    static const char *const families[] = {"background", "border", "margin", "padding"};
    const struct sanitize_name *name = sanitize_name(prop);
    struct str rest = prop, family;

    if (sanitize_is(name, SANITIZE_CSS_PROPERTIES))
        return true;
    family = str_split(&rest, '-');
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (str_ieqz(family, families[i]))
            return are_measures(value);
    return svg && sanitize_is(name, SANITIZE_SVG_CSS_PROPERTIES);
}

/* Split one declaration into property and value. False: it is not a declaration. */
static bool read_declaration(struct str part, struct str *prop, struct str *value)
{
    ssize_t colon = str_chr(part, ':');

    if (colon < 0)
        return false;
    *value = str_slice(part, (size_t)colon + 1, part.len);
    while (value->len > 0 && is_space(value->ptr[0]))
        *value = str_slice(*value, 1, value->len);
    *prop = str_trim(str_slice(part, 0, (size_t)colon));
    for (size_t i = 0; i < prop->len; i++)
        if (!is_alnum(prop->ptr[i]) && prop->ptr[i] != '-' && prop->ptr[i] != '_')
            return false;
    return prop->len > 0 && str_chr(*value, ':') < 0;
}

struct str sanitize_style(struct arena *a, struct str style, bool svg)
{
    AUTO(buf_release) struct buf plain = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str rest = style;

    if (str_find(style, STR("url")) >= 0) {
        cut_urls(&plain, style);
        rest = buf_view(&plain);
    }
    if (!is_plain(rest))
        return STR("");
    buf_reserve(&out, 2 * rest.len);
    while (!str_is_null(rest)) {
        struct str part = str_split(&rest, ';'), prop, value;
        if (str_is_null(rest) && str_trim(part).len == 0)
            break;
        if (!read_declaration(part, &prop, &value))
            return STR("");
        if (value.len == 0 || !is_allowed(prop, value, svg))
            continue;
        if (out.len > 0)
            buf_putc(&out, ' ');
        buf_str(&out, prop);
        buf_puts(&out, ": ");
        buf_str(&out, value);
        buf_putc(&out, ';');
    }
    return str_dup(a, buf_view(&out));
}
