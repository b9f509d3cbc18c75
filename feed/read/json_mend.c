/* feed/read/json_mend.c - one pass with a stack of open brackets. A comma is written only when a
 * value follows it. The end of the last complete value is remembered; if the input breaks off, the
 * output is cut there. */
#include "feed/read/json_mend.h"

#include <string.h>

#include "base/limits.h"

struct mend {
    struct buf *out;
    const char *p, *end;
    char open[LIMIT_JSON_DEPTH + 1];
    size_t depth;
    size_t good_len, good_depth; /* output up to the last complete value, and brackets open there */
    bool has_comma;              /* a comma was read but not written yet */
    bool has_colon;              /* a colon was read, so the value of a member comes next */
};

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Returns the code unit of the "\\uXXXX" at `p`; -1: there is none. */
static int32_t code_unit(const char *p, const char *end)
{
    int32_t v = 0;

    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(p[i]);

        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* Write the character that the escape at m->p means. False: the input breaks off in it. */
static bool escape(struct mend *m)
{
    int32_t unit = code_unit(m->p, m->end), next;

    if (m->end - m->p < 2)
        return false;
    if (unit >= 0) {
        bool is_high = unit >= 0xD800 && unit < 0xDC00;

        next = is_high ? code_unit(m->p + 6, m->end) : -1;
        if (is_high && next >= 0xDC00 && next < 0xE000) {
            buf_append(m->out, m->p, 12);
            m->p += 12;
            return true;
        }
        if (unit >= 0xD800 && unit < 0xE000)
            buf_puts(m->out, "\\ufffd");
        else
            buf_append(m->out, m->p, 6);
        m->p += 6;
        return true;
    }
    if (strchr("\"\\/bfnrt", m->p[1]) != NULL && m->p[1] != '\0') {
        buf_append(m->out, m->p, 2);
        m->p += 2;
        return true;
    }
    m->p++; /* "\\'" and the like: the character after the backslash is meant */
    return true;
}

/* Copy the string at m->p, with its quotes. False: the input breaks off in it. */
static bool string(struct mend *m)
{
    buf_putc(m->out, *m->p++);
    while (m->p < m->end) {
        unsigned char c = (unsigned char)*m->p;

        if (c == '\\') {
            if (!escape(m))
                return false;
            continue;
        }
        m->p++;
        if (c < 0x20)
            buf_printf(m->out, "\\u%04x", c);
        else
            buf_putc(m->out, (char)c);
        if (c == '"')
            return true;
    }
    return false;
}

static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.' || c == '_';
}

/* Copy a number, true, false or null. False: the input breaks off after it, so it may be cut. */
static bool word(struct mend *m)
{
    static const char *const nothing[] = {"NaN", "Infinity", "-Infinity", "undefined", "None"};
    const char *from = m->p;
    struct str s;

    while (m->p < m->end && is_word_byte(*m->p))
        m->p++;
    s = str_of(from, (size_t)(m->p - from));
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (str_eqz(s, nothing[i]))
            s = STR("null");
    buf_str(m->out, s);
    return m->p < m->end;
}

static void separate(struct mend *m)
{
    if (m->has_comma)
        buf_putc(m->out, ',');
    m->has_comma = false;
}

/* Returns true when the next string is a key, not a value. */
static bool is_key(const struct mend *m)
{
    return m->depth > 0 && m->open[m->depth - 1] == '{' && !m->has_colon;
}

static void complete(struct mend *m)
{
    m->good_len = m->out->len;
    m->good_depth = m->depth;
    m->has_colon = false;
}

/* Copy one token. False: nothing more can be read. */
static bool step(struct mend *m)
{
    char c = *m->p;

    if (c == ',') {
        m->has_comma = true;
        m->p++;
    } else if (c == '{' || c == '[') {
        if (m->depth == LIMIT_JSON_DEPTH)
            return false;
        separate(m);
        m->open[m->depth++] = c;
        buf_putc(m->out, c);
        m->p++;
        complete(m);
    } else if (c == '}' || c == ']') {
        m->has_comma = false;
        if (m->depth == 0 || (m->open[m->depth - 1] == '{') != (c == '}'))
            return false;
        m->depth--;
        buf_putc(m->out, c);
        m->p++;
        complete(m);
        return m->depth > 0;
    } else if (c == '"') {
        bool key = is_key(m);

        separate(m);
        if (!string(m))
            return false;
        if (!key)
            complete(m);
    } else if (is_word_byte(c)) {
        separate(m);
        if (!word(m))
            return false;
        complete(m);
    } else {
        if (c == ':') {
            buf_putc(m->out, c);
            m->has_colon = true;
        }
        m->p++;
    }
    return true;
}

void json_mend(struct buf *out, struct str text)
{
    struct mend m = {.out = out, .p = text.ptr, .end = text.ptr + text.len, .good_len = out->len};

    while (m.p < m.end && buf_ok(out) && step(&m))
        ;
    if (!buf_ok(out))
        return;
    buf_cut(out, m.good_len);
    while (m.good_depth > 0)
        buf_putc(out, m.open[--m.good_depth] == '{' ? '}' : ']');
}
