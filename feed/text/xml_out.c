/* feed/text/xml_out.c - escapes XML in one place. Runs are copied; other bytes are looked up in a
 * table. */
#include "feed/text/xml_out.h"

/* 1: escape in text and attributes; 2: in attributes only; 3: left out; 4: depends on the bytes
 * that follow. */
static const unsigned char classes[256] = {
    [0] = 3,   [1] = 3,    [2] = 3,    [3] = 3,   [4] = 3,    [5] = 3,    [6] = 3,    [7] = 3,
    [8] = 3,   ['\t'] = 2, ['\n'] = 2, [11] = 3,  [12] = 3,   ['\r'] = 1, [14] = 3,   [15] = 3,
    [16] = 3,  [17] = 3,   [18] = 3,   [19] = 3,  [20] = 3,   [21] = 3,   [22] = 3,   [23] = 3,
    [24] = 3,  [25] = 3,   [26] = 3,   [27] = 3,  [28] = 3,   [29] = 3,   [30] = 3,   [31] = 3,
    ['"'] = 2, ['&'] = 1,  ['<'] = 1,  ['>'] = 1, [0x7F] = 0, [0xED] = 4, [0xEF] = 4,
};

static const char *reference(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\t':
        return "&#9;";
    case '\n':
        return "&#10;";
    default:
        return "&#13;";
    }
}

static void escape_valid(struct buf *out, struct str s, bool attr)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t from = 0, i = 0;

    for (;;) {
        unsigned char class = 0;
        size_t n = 1;
        while (i < s.len && (class = classes[p[i]]) == 0)
            i++;
        if (i >= s.len)
            break;
        if (class == 2 && !attr) {
            i++;
            continue;
        }
        if (class == 4) { /* U+FFFE and U+FFFF are not characters */
            if (s.len - i < 3 || p[i + 1] != 0xBF || p[i + 2] < 0xBE) {
                i++;
                continue;
            }
            n = 3;
        }
        buf_append(out, p + from, i - from);
        if (class <= 2)
            buf_puts(out, reference((char)p[i]));
        i += n;
        from = i;
    }
    if (s.len > from)
        buf_append(out, p + from, s.len - from);
}

static void escape(struct buf *out, struct str s, bool attr)
{
    while (s.len > 0) {
        size_t n = str_utf8_valid(s);
        escape_valid(out, str_slice(s, 0, n), attr);
        s = str_slice(s, n + 1, s.len);
    }
}

void xml_text(struct buf *out, struct str s)
{
    escape(out, s, false);
}

void xml_attr_text(struct buf *out, struct str s)
{
    escape(out, s, true);
}

void xml_attr(struct buf *out, const char *name, struct str value)
{
    if (str_is_null(value))
        return;
    buf_putc(out, ' ');
    buf_puts(out, name);
    buf_puts(out, "=\"");
    xml_attr_text(out, value);
    buf_putc(out, '"');
}

void xml_element(struct buf *out, const char *name, struct str text)
{
    xml_element_at(out, name, text, STR_NULL);
}

void xml_element_at(struct buf *out, const char *name, struct str text, struct str attrs)
{
    if (str_is_null(text))
        return;
    buf_putc(out, '<');
    buf_puts(out, name);
    buf_str(out, attrs);
    buf_putc(out, '>');
    xml_text(out, text);
    buf_puts(out, "</");
    buf_puts(out, name);
    buf_puts(out, ">\n");
}
