/* net/xmlrpc_shim.c - the mapping, with X = U+E000 and E = U+E800:
 *
 *   U+10000 + n          (X + n / 1024), (X + 1024 + n % 1024)
 *   CR                   E, U+E801
 *   U+E000..U+E800       E, itself
 *   <i8>                 E, U+E802 in front of the digits
 *
 * Every pair is six bytes, and its first half starts with the byte EE. So text without this byte,
 * without CR and without sequences of four bytes stays as it is. Incoming documents are rewritten
 * in one pass. The library's old XML parser sees only tags, text and five entities. */
#include "net/xmlrpc_shim.h"

#include <errno.h>
#include <iconv.h>

#include "base/ascii.h"
#include "base/mem.h"

#define PAIR_HIGH 0xE000
#define PAIR_LOW 0xE400
#define ESCAPE 0xE800
#define ESCAPED_CR 0xE801
#define DEPTH_MAX 320 /* of elements; 64 nested values need at most 5 each */

/* The code point at `i`, and its length in bytes. For an invalid byte: U+FFFD and 1. */
static uint32_t utf8_at(struct str s, size_t i, size_t *len_out)
{
    const unsigned char *p = (const unsigned char *)s.ptr + i;
    size_t left = s.len - i;
    uint32_t cp;

    *len_out = 1;
    if (p[0] < 0x80)
        return p[0];
    if (p[0] >= 0xC2 && p[0] < 0xE0 && left >= 2 && (p[1] & 0xC0) == 0x80) {
        *len_out = 2;
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
    }
    if ((p[0] & 0xF0) == 0xE0 && left >= 3 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80) {
        cp = (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        if (cp >= 0x800 && !(cp >= 0xD800 && cp < 0xE000)) {
            *len_out = 3;
            return cp;
        }
    }
    if (p[0] >= 0xF0 && p[0] < 0xF5 && left >= 4 && (p[1] & 0xC0) == 0x80 &&
        (p[2] & 0xC0) == 0x80 && (p[3] & 0xC0) == 0x80) {
        cp = (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
             (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
        if (cp >= 0x10000 && cp <= 0x10FFFF) {
            *len_out = 4;
            return cp;
        }
    }
    return 0xFFFD;
}

/* XML 1.0 §2.2, production Char. */
static bool is_xml_char(uint32_t cp)
{
    if (cp < 0x20)
        return cp == '\t' || cp == '\n' || cp == '\r';
    return cp < 0xD800 || (cp >= 0xE000 && cp <= 0xFFFD) || (cp >= 0x10000 && cp <= 0x10FFFF);
}

/* Append one character in its mapped form. A forbidden character is dropped. */
static void shim_char(struct buf *b, uint32_t cp)
{
    if (!is_xml_char(cp))
        return;
    if (cp >= 0x10000) {
        buf_utf8(b, PAIR_HIGH + (cp - 0x10000) / 1024);
        buf_utf8(b, PAIR_LOW + (cp - 0x10000) % 1024);
    } else if (cp == '\r') {
        buf_utf8(b, ESCAPE);
        buf_utf8(b, ESCAPED_CR);
    } else {
        if (cp >= PAIR_HIGH && cp <= ESCAPE)
            buf_utf8(b, ESCAPE);
        buf_utf8(b, cp);
    }
}

/* The length of the part at the start of `s` that the mapping does not change. */
static size_t same_len(struct str s)
{
    size_t i = 0, n;

    while (i < s.len) {
        unsigned char c = (unsigned char)s.ptr[i];
        uint64_t eight;

        if (i + 8 <= s.len) { /* most text is ASCII without control characters: skip 8 at once */
            memcpy(&eight, s.ptr + i, 8);
            if (((eight | (eight - 0x2020202020202020)) & 0x8080808080808080) == 0) {
                i += 8;
                continue;
            }
        }
        if ((c >= 0x20 && c < 0x80) || c == '\n' || c == '\t') {
            i++;
        } else if (c < 0x80 || c == 0xEE || c >= 0xF0) {
            break;
        } else {
            uint32_t cp = utf8_at(s, i, &n);

            if (n == 1 || !is_xml_char(cp))
                break;
            i += n;
        }
    }
    return i;
}

struct str shim_text(struct arena *a, struct str s)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    size_t i = same_len(s), n;

    if (i == s.len)
        return s;
    buf_append(&b, s.ptr, i);
    while (i < s.len) {
        shim_char(&b, utf8_at(s, i, &n));
        i += n;
        n = same_len(str_slice(s, i, s.len));
        buf_append(&b, s.ptr + i, n);
        i += n;
    }
    return str_dup(a, buf_view(&b));
}

/* The character that the pair at `i` stands for; 0: there is no pair. Half of a pair stays as it
 * is; it occurs only in text that was never mapped. */
static uint32_t pair_at(struct str s, size_t i)
{
    uint32_t first, second;
    size_t n;

    if ((unsigned char)s.ptr[i] != 0xEE || i + 6 > s.len)
        return 0;
    first = utf8_at(s, i, &n);
    if (n != 3)
        return 0;
    second = utf8_at(s, i + 3, &n);
    if (n != 3)
        return 0;
    if (first >= PAIR_HIGH && first < PAIR_LOW && second >= PAIR_LOW && second < ESCAPE)
        return 0x10000 + (first - PAIR_HIGH) * 1024 + (second - PAIR_LOW);
    if (first != ESCAPE)
        return 0;
    if (second == ESCAPED_CR)
        return '\r';
    return second >= PAIR_HIGH && second <= ESCAPE ? second : 0;
}

static void unshim(struct buf *out, struct str s, const char *cr)
{
    size_t from = 0, i = 0;

    while (i < s.len) {
        const char *hit = memchr(s.ptr + i, 0xEE, s.len - i);
        uint32_t cp;

        if (hit == NULL)
            break;
        i = (size_t)(hit - s.ptr);
        cp = pair_at(s, i);
        if (cp == 0) {
            i++;
            continue;
        }
        buf_append(out, s.ptr + from, i - from);
        if (cp == '\r')
            buf_puts(out, cr);
        else
            buf_utf8(out, cp);
        from = i += 6;
    }
    buf_append(out, s.ptr + from, s.len - from);
}

struct str unshim_text(struct arena *a, struct str s)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    if (s.len == 0 || memchr(s.ptr, 0xEE, s.len) == NULL)
        return s;
    unshim(&b, s, "\r");
    return str_dup(a, buf_view(&b));
}

void unshim_document(struct buf *out, struct str s)
{
    if (s.len > 0)
        unshim(out, s, "&#13;");
}

/* ---- encodings ---- */

/* The value after `key` and "=", with or without quotes, up to a blank or `;`; null: there is none.
 */
static struct str value_after(struct str s, struct str key)
{
    ssize_t at = str_ifind(s, key);
    struct str v;
    size_t n;

    if (at < 0)
        return STR_NULL;
    v = str_trim(str_slice(s, (size_t)at + key.len, s.len));
    if (v.len == 0 || v.ptr[0] != '=')
        return STR_NULL;
    v = str_trim(str_slice(v, 1, v.len));
    if (v.len > 0 && (v.ptr[0] == '"' || v.ptr[0] == '\'')) {
        ssize_t close = str_chr(str_slice(v, 1, v.len), v.ptr[0]);

        return close < 0 ? STR_NULL : str_slice(v, 1, (size_t)close + 1);
    }
    for (n = 0; n < v.len && !ascii_is_space(v.ptr[n]) && v.ptr[n] != ';';)
        n++;
    return str_slice(v, 0, n);
}

/* The encoding that the XML declaration names; null: it does not name one. */
static struct str declared_encoding(struct str body)
{
    struct str head = str_slice(body, 0, 400);
    ssize_t end;

    while (head.len > 0 && ascii_is_space(head.ptr[0]))
        head = str_slice(head, 1, head.len);
    if (!str_starts(head, STR("<?xml")) || (end = str_find(head, STR("?>"))) < 0)
        return STR_NULL;
    return value_after(str_slice(head, 0, (size_t)end), STR("encoding"));
}

/* `body` as UTF-8. Invalid bytes become U+FFFD. Null: `encoding` is unknown, or it has wide
 * characters, and `wide` is false because the text has `<` as one byte. */
static struct str to_utf8(struct arena *a, struct str body, struct str encoding, bool wide)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    char *in = (char *)body.ptr, *name;
    size_t left = body.len;
    iconv_t cd;

    if (encoding.len == 0 || encoding.len > 40)
        return STR_NULL;
    for (size_t i = 0; i < encoding.len; i++) {
        char c = encoding.ptr[i];

        if (!(ascii_is_alnum(c) || c == '-' || c == '_' || c == '.' || c == ':'))
            return STR_NULL;
    }
    if (!wide && (str_istarts(encoding, STR("utf-16")) || str_istarts(encoding, STR("utf-32")) ||
                  str_istarts(encoding, STR("ucs")) || str_istarts(encoding, STR("iso-10646"))))
        return STR_NULL;
    if (str_ieqz(encoding, "utf-8") || str_ieqz(encoding, "utf8"))
        return body;
    name = str_z(a, encoding);
    /* As in browsers, these names mean windows-1252: 0x80 to 0x9F are not control characters. */
    if (str_ieqz(encoding, "iso-8859-1") || str_ieqz(encoding, "latin1") ||
        str_ieqz(encoding, "us-ascii") || str_ieqz(encoding, "ascii"))
        name = str_z(a, STR("WINDOWS-1252"));
    cd = iconv_open("UTF-8", name);
    if (cd == (iconv_t)-1)
        return STR_NULL;
    while (left > 0) {
        char piece[4096], *out = piece;
        size_t room = sizeof piece;
        size_t n = iconv(cd, &in, &left, &out, &room);
        int code = n == (size_t)-1 ? errno : 0;

        buf_append(&b, piece, sizeof piece - room);
        if (code == EILSEQ || code == EINVAL) {
            buf_utf8(&b, 0xFFFD);
            in++;
            left--;
        }
    }
    iconv_close(cd);
    return str_dup(a, buf_view(&b));
}

static const struct {
    const char *mark;
    size_t len;
    const char *encoding;
    bool skip; /* true: a byte order mark; false: the first characters of a document without one */
} marks[] = {
    {"\xEF\xBB\xBF", 3, "UTF-8", true},    {"\xFF\xFE\0\0", 4, "UTF-32LE", true},
    {"\0\0\xFE\xFF", 4, "UTF-32BE", true}, {"\xFF\xFE", 2, "UTF-16LE", true},
    {"\xFE\xFF", 2, "UTF-16BE", true},     {"<\0?\0", 4, "UTF-16LE", false},
    {"\0<\0?", 4, "UTF-16BE", false},
};

static enum rc decode(struct arena *a, struct str body, struct str content_type, struct str *out,
                      struct err *err)
{
    struct str names[2] = {declared_encoding(body), value_after(content_type, STR("charset"))};
    struct str text = STR_NULL, given = STR_NULL;

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (str_starts(body, str_of(marks[i].mark, marks[i].len))) {
            if (marks[i].skip)
                body = str_slice(body, marks[i].len, body.len);
            *out = to_utf8(a, body, str_from(marks[i].encoding), true);
            return RC_OK;
        }
    for (size_t i = 0; i < ARRAY_LEN(names) && str_is_null(text); i++) {
        if (str_is_null(names[i]))
            continue;
        given = str_is_null(given) ? names[i] : given;
        text = to_utf8(a, body, names[i], false);
        /* Software often declares UTF-8 without checking the text. */
        if (text.ptr == body.ptr && str_utf8_valid(body) != body.len)
            text = STR_NULL;
    }
    if (str_is_null(text) && str_utf8_valid(body) == body.len)
        text = body;
    if (str_is_null(text) && (str_is_null(given) || str_istarts(given, STR("utf"))))
        text = to_utf8(a, body, STR("WINDOWS-1252"), false);
    if (str_is_null(text))
        return err_set(err, RC_INPUT, "the encoding \"%.*s\" is unknown; use UTF-8",
                       STR_ARG(str_slice(given, 0, 40)));
    *out = text;
    return RC_OK;
}

/* ---- incoming documents ---- */

struct scan {
    struct str s;
    size_t at;
    int depth;
    struct buf out;
};

static struct str scan_rest(const struct scan *sc)
{
    return str_slice(sc->s, sc->at, sc->s.len);
}

/* Skip to the byte after `end`. False: `end` does not occur. */
static bool scan_past(struct scan *sc, struct str end)
{
    ssize_t n = str_find(scan_rest(sc), end);

    if (n < 0)
        return false;
    sc->at += (size_t)n + end.len;
    return true;
}

static void scan_char(struct scan *sc, uint32_t cp)
{
    switch (cp) {
    case '<':
        buf_puts(&sc->out, "&lt;");
        break;
    case '>':
        buf_puts(&sc->out, "&gt;");
        break;
    case '&':
        buf_puts(&sc->out, "&amp;");
        break;
    default:
        shim_char(&sc->out, cp);
    }
}

/* Copy the text up to offset `end`, with line ends normalised (XML 1.0 §2.11). */
static void scan_text(struct scan *sc, size_t end)
{
    struct str s = str_slice(sc->s, 0, end);
    size_t n;

    while (sc->at < end) {
        uint32_t cp = utf8_at(s, sc->at, &n);

        sc->at += n;
        if (cp == '\r') {
            if (sc->at < end && s.ptr[sc->at] == '\n')
                sc->at++;
            cp = '\n';
        }
        scan_char(sc, cp);
    }
}

static enum rc scan_reference(struct scan *sc, struct err *err)
{
    static const struct {
        const char *name;
        char c;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    struct str rest = str_slice(sc->s, sc->at + 1, sc->at + 34);
    ssize_t end = str_chr(rest, ';');
    struct str name = str_slice(rest, 0, end < 0 ? 0 : (size_t)end);
    uint32_t cp = 0;

    if (name.len == 0)
        return err_set(err, RC_INPUT, "byte %zu: \"&\" must be written as \"&amp;\"", sc->at);
    sc->at += name.len + 2;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eqz(name, known[i].name)) {
            scan_char(sc, (unsigned char)known[i].c);
            return RC_OK;
        }
    if (name.len > 1 && name.ptr[0] == '#') {
        bool hex = name.ptr[1] == 'x';
        size_t digits = hex ? 2 : 1, i = digits;

        for (; i < name.len && cp <= 0x10FFFF; i++) {
            int digit = ascii_hex(name.ptr[i]);

            if (digit < 0 || digit >= (hex ? 16 : 10))
                break;
            cp = cp * (hex ? 16 : 10) + (uint32_t)digit;
        }
        if ((i == name.len && i > digits) || cp > 0x10FFFF) {
            scan_char(sc, cp);
            return RC_OK;
        }
    }
    return err_set(err, RC_INPUT, "entity \"&%.*s;\" is not defined in XML-RPC", STR_ARG(name));
}

static bool is_name_byte(char c)
{
    return ascii_is_alnum(c) || c == '.' || c == '-' || c == '_' || c == ':';
}

/* Copy a tag without its attributes; XML-RPC does not have attributes. */
static enum rc scan_tag(struct scan *sc, struct err *err)
{
    struct str s = sc->s;
    size_t i = sc->at + 1, from;
    bool closing = i < s.len && s.ptr[i] == '/', empty, is_i8;
    struct str name;

    if (closing)
        i++;
    for (from = i; i < s.len && is_name_byte(s.ptr[i]);)
        i++;
    if (i == from || i - from > 64)
        return err_set(err, RC_INPUT, "byte %zu: expected a tag after \"<\"", sc->at);
    name = str_slice(s, from, i);
    is_i8 = str_eqz(name, "i8") || str_eqz(name, "ex:i8");
    if (is_i8)
        name = STR("string");
    buf_puts(&sc->out, closing ? "</" : "<");
    buf_str(&sc->out, name);
    for (; i < s.len && s.ptr[i] != '>'; i++) {
        if (s.ptr[i] == '"' || s.ptr[i] == '\'') {
            ssize_t n = str_chr(str_slice(s, i + 1, s.len), s.ptr[i]);

            if (n < 0)
                break;
            i += (size_t)n + 1;
        } else if (s.ptr[i] == '<') {
            break;
        }
    }
    if (i >= s.len || s.ptr[i] != '>')
        return err_set(err, RC_INPUT, "byte %zu: the tag does not end", sc->at);
    empty = !closing && s.ptr[i - 1] == '/';
    if (is_i8 && empty)
        return err_set(err, RC_INPUT, "byte %zu: an empty <i8> is not a number", sc->at);
    buf_puts(&sc->out, empty ? "/>" : ">");
    if (is_i8 && !closing)
        buf_str(&sc->out, SHIM_I8);
    sc->depth += closing ? -1 : empty ? 0 : 1;
    if (sc->depth > DEPTH_MAX)
        return err_set(err, RC_LIMIT, "elements are nested more than %d deep", DEPTH_MAX);
    sc->at = i + 1;
    return RC_OK;
}

static enum rc scan_markup(struct scan *sc, struct err *err)
{
    struct str rest = scan_rest(sc);
    size_t start = sc->at;

    if (str_starts(rest, STR("<?"))) {
        if (scan_past(sc, STR("?>")))
            return RC_OK;
    } else if (str_starts(rest, STR("<!--"))) {
        sc->at += 4;
        if (scan_past(sc, STR("-->")))
            return RC_OK;
    } else if (str_starts(rest, STR("<![CDATA["))) {
        ssize_t n = str_find(rest, STR("]]>"));

        if (n >= 0) {
            sc->at += 9;
            scan_text(sc, start + (size_t)n);
            sc->at = start + (size_t)n + 3;
            return RC_OK;
        }
    } else if (str_starts(rest, STR("<!"))) {
        return err_set(err, RC_INPUT, "byte %zu: a DOCTYPE or declaration is not accepted", start);
    } else {
        return scan_tag(sc, err);
    }
    return err_set(err, RC_INPUT, "byte %zu: \"%.*s\" does not end", start,
                   STR_ARG(str_slice(rest, 0, 4)));
}

enum rc shim_document(struct arena *a, struct str body, struct str content_type, size_t max,
                      struct str *out, struct err *err)
{
    struct scan sc = {.out = BUF_INIT(BUF_ANY)};
    enum rc rc;

    if (body.len > max)
        return err_set(err, RC_LIMIT, "%zu bytes of XML; the limit is %zu", body.len, max);
    if ((rc = decode(a, body, content_type, &sc.s, err)) != RC_OK)
        return rc;
    while (rc == RC_OK && sc.at < sc.s.len) {
        size_t end = sc.at;

        while (end < sc.s.len && sc.s.ptr[end] != '<' && sc.s.ptr[end] != '&')
            end++;
        if (sc.depth > 0)
            scan_text(&sc, end);
        else
            sc.at = end; /* blanks around the document, or junk, which is ignored */
        if (sc.at < sc.s.len)
            rc = sc.s.ptr[sc.at] == '<' ? scan_markup(&sc, err) : scan_reference(&sc, err);
    }
    if (rc == RC_OK)
        *out = str_dup(a, buf_view(&sc.out));
    buf_release(&sc.out);
    return rc;
}
