/* feed/text/json.c - JSON is written by our own scanner, which copies runs, and read by jansson. */
#include "feed/text/json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

/* 0: plain; 'u': \u00XX; 'x': depends on the bytes that follow; else the letter after the
 * backslash. */
static const unsigned char escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
    ['\t'] = 't', [0] = 'u',     [1] = 'u',    [2] = 'u',    [3] = 'u',    [4] = 'u',
    [5] = 'u',    [6] = 'u',     [7] = 'u',    [11] = 'u',   [14] = 'u',   [15] = 'u',
    [16] = 'u',   [17] = 'u',    [18] = 'u',   [19] = 'u',   [20] = 'u',   [21] = 'u',
    [22] = 'u',   [23] = 'u',    [24] = 'u',   [25] = 'u',   [26] = 'u',   [27] = 'u',
    [28] = 'u',   [29] = 'u',    [30] = 'u',   [31] = 'u',   ['<'] = 'x',  [0xE2] = 'x',
};

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u

/* Returns a non-zero number when one of the eight bytes of w is zero. */
static uint64_t zero_byte(uint64_t w)
{
    return (w - ONES) & ~w & HIGHS;
}

/* Returns the offset of the first byte at or after `i` that may need an escape. Looks at eight
 * bytes at a time. */
static size_t next_special(const unsigned char *p, size_t i, size_t len)
{
    while (i + 8 <= len) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        if (((w - ONES * 0x20) & ~w & HIGHS) | zero_byte(w ^ (ONES * '"')) |
            zero_byte(w ^ (ONES * '\\')) | zero_byte(w ^ (ONES * '<')) |
            zero_byte(w ^ (ONES * 0xE2)))
            break;
        i += 8;
    }
    while (i < len && escapes[p[i]] == 0)
        i++;
    return i;
}

void json_write_text(struct buf *out, struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t from = 0, i = 0;

    buf_putc(out, '"');
    while ((i = next_special(p, i, s.len)) < s.len) {
        unsigned char e = escapes[p[i]];
        if (e == 'x' && p[i] == '<') {
            i++;
            if (i < s.len && p[i] == '/') {
                buf_append(out, p + from, i - from);
                buf_putc(out, '\\');
                from = i++;
            }
            continue;
        }
        if (e == 'x' && !(s.len - i >= 3 && p[i + 1] == 0x80 && (p[i + 2] & 0xFE) == 0xA8)) {
            i++;
            continue;
        }
        buf_append(out, p + from, i - from);
        if (e == 'x') {
            buf_puts(out, p[i + 2] == 0xA8 ? "\\u2028" : "\\u2029");
            i += 3;
        } else if (e == 'u') {
            buf_printf(out, "\\u%04x", p[i++]);
        } else {
            char c[2] = {'\\', (char)e};
            buf_append(out, c, 2);
            i++;
        }
        from = i;
    }
    if (s.len > from)
        buf_append(out, p + from, s.len - from);
    buf_putc(out, '"');
}

static void write_int(struct buf *out, int64_t v)
{
    char digits[24];
    size_t n = sizeof digits;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        digits[--n] = (char)('0' + u % 10);
    while ((u /= 10) != 0);
    if (v < 0)
        digits[--n] = '-';
    buf_append(out, digits + n, sizeof digits - n);
}

/* Write the shortest text that is read back as the same real number. */
static void write_real(struct buf *out, double d)
{
    char text[40];

    if (!isfinite(d)) {
        buf_puts(out, "null");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        double back;
        snprintf(text, sizeof text, "%.*g", precision, d);
        back = strtod(text, NULL);
        if (!(back < d) && !(back > d))
            break;
    }
    buf_puts(out, text);
    if (strpbrk(text, ".e") == NULL)
        buf_puts(out, ".0");
}

void json_write(struct buf *out, const struct value *v)
{
    switch (v->kind) {
    case VAL_NULL:
        buf_append(out, "null", 4);
        break;
    case VAL_BOOL:
        buf_puts(out, v->b ? "true" : "false");
        break;
    case VAL_INT:
        write_int(out, v->i);
        break;
    case VAL_REAL:
        write_real(out, v->d);
        break;
    case VAL_TEXT:
        json_write_text(out, v->s);
        break;
    case VAL_LIST:
        buf_putc(out, '[');
        for (uint32_t i = 0; i < v->len; i++) {
            if (i > 0)
                buf_putc(out, ',');
            json_write(out, v->items[i]);
        }
        buf_putc(out, ']');
        break;
    case VAL_DICT:
        buf_putc(out, '{');
        for (uint32_t i = 0; i < v->len; i++) {
            if (i > 0)
                buf_putc(out, ',');
            json_write_text(out, v->members[i].key);
            buf_putc(out, ':');
            json_write(out, v->members[i].val);
        }
        buf_putc(out, '}');
        break;
    }
}

/* Copy a text of jansson; U+0000 becomes U+FFFD. */
static struct str text_of(struct arena *a, const char *p, size_t n)
{
    size_t zeros = 0, len = 0;
    char *copy;

    for (size_t i = 0; i < n; i++)
        zeros += p[i] == '\0';
    if (zeros == 0)
        return str_of(arena_copy(a, p, n), n);
    copy = arena_alloc(a, n + 2 * zeros + 1);
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\0') {
            memcpy(copy + len, "\xEF\xBF\xBD", 3);
            len += 3;
        } else {
            copy[len++] = p[i];
        }
    }
    copy[len] = '\0';
    return str_of(copy, len);
}

/* Convert `j`. NULL: it is nested too deep. */
static struct value *convert(struct arena *a, json_t *j, bool wide, int depth)
{
    const char *key;
    struct value *v, *inner;
    json_t *item;
    size_t i;

    if (depth > LIMIT_JSON_DEPTH)
        return NULL;
    switch (json_typeof(j)) {
    case JSON_NULL:
        return value_null(a);
    case JSON_TRUE:
    case JSON_FALSE:
        return value_bool(a, json_is_true(j));
    case JSON_INTEGER:
        return value_int(a, json_integer_value(j));
    case JSON_REAL: {
        /* `wide`: jansson was told to read every number as a real */
        double d = json_real_value(j);
        if (wide && fabs(d) <= 9007199254740992.0 && !(floor(d) < d))
            return value_int(a, (int64_t)d);
        return value_real(a, d);
    }
    case JSON_STRING:
        return value_text(a, text_of(a, json_string_value(j), json_string_length(j)));
    case JSON_ARRAY:
        v = value_list(a);
        json_array_foreach(j, i, item)
        {
            if ((inner = convert(a, item, wide, depth + 1)) == NULL)
                return NULL;
            value_push(a, v, inner);
        }
        return v;
    case JSON_OBJECT:
        /* the keys are unique already; a search for each would take quadratic time */
        v = value_dict(a);
        v->cap = (uint32_t)json_object_size(j);
        v->members = ARENA_ARRAY(a, struct value_member, v->cap);
        json_object_foreach(j, key, item)
        {
            if ((inner = convert(a, item, wide, depth + 1)) == NULL)
                return NULL;
            v->members[v->len++] = (struct value_member){text_of(a, key, strlen(key)), inner};
        }
        return v;
    }
    return NULL;
}

/* Returns true when the text may have more values than allowed: each costs far more memory than its
 * two bytes. Counts the opening brackets and the commas. */
static bool has_too_many(struct str text)
{
    bool in_string = false;
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\')
            i++;
        else if (!in_string)
            n += c == ',' || c == '{' || c == '[';
    }
    return n > LIMIT_JSON_VALUES;
}

bool json_has_nul(struct str text)
{
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            in_string = !in_string;
        if (!in_string || text.ptr[i] != '\\')
            continue;
        if (str_starts(str_slice(text, i, text.len), STR("\\u0000")))
            return true;
        i++; /* what is escaped is neither a quotation mark nor another escape */
    }
    return false;
}

enum rc json_read(struct arena *a, struct str text, struct value **out, struct err *err)
{
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    bool wide = false;
    json_error_t e;
    struct value *v;
    json_t *j;

    if (str_starts(text, STR("\xEF\xBB\xBF")))
        text = str_slice(text, 3, text.len);
    if (str_is_null(text))
        text = STR("");
    if (has_too_many(text))
        return err_set(err, RC_LIMIT, "JSON with more than %d values", LIMIT_JSON_VALUES);
    j = json_loadb(text.ptr, text.len, flags, &e);
    if (j == NULL && json_error_code(&e) == json_error_numeric_overflow) {
        wide = true;
        j = json_loadb(text.ptr, text.len, flags | JSON_DECODE_INT_AS_REAL, &e);
    }
    if (j == NULL && json_error_code(&e) == json_error_stack_overflow)
        return err_set(err, RC_LIMIT, "JSON nested deeper than %d levels", LIMIT_JSON_DEPTH);
    if (j == NULL)
        return err_set(err, RC_INPUT, "not JSON: line %d, column %d: %s", e.line, e.column, e.text);
    v = convert(a, j, wide, 0);
    json_decref(j);
    if (v == NULL)
        return err_set(err, RC_LIMIT, "JSON nested deeper than %d levels", LIMIT_JSON_DEPTH);
    *out = v;
    return RC_OK;
}
