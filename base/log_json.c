/* base/log_json.c - a line of logfmt as a JSON object. Every line is made in one place and one way,
 * so it is read here, not written a second time. */
#include <string.h>

#include "base/log.h"

struct target {
    char *at;
    size_t len, size;
    bool is_full;
};

static void put(struct target *t, const char *bytes, size_t len)
{
    if (len > t->size - t->len)
        t->is_full = true;
    if (t->is_full)
        return;
    memcpy(t->at + t->len, bytes, len);
    t->len += len;
}

static void put_char(struct target *t, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";

    if (c == '"' || c == '\\') {
        put(t, (char[]){'\\', (char)c}, 2);
    } else if (c < 0x20 || c == 0x7F) {
        put(t, "\\u00", 4);
        put(t, &hex[c >> 4], 1);
        put(t, &hex[c & 15], 1);
    } else {
        put(t, (const char *)&c, 1);
    }
}

/* Text as JSON has it: what is not UTF-8 becomes U+FFFD. */
static void put_text(struct target *t, struct str s)
{
    put(t, "\"", 1);
    while (s.len > 0) {
        size_t valid = str_utf8_valid(s);

        for (size_t i = 0; i < valid; i++)
            put_char(t, (unsigned char)s.ptr[i]);
        s = str_slice(s, valid, s.len);
        if (s.len > 0) {
            put(t, "\xEF\xBF\xBD", 3);
            s = str_slice(s, 1, s.len);
        }
    }
    put(t, "\"", 1);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Take a value in quotes, as log_quote() writes it, into `room`. Returns how long it was. */
static size_t unquote(struct str s, char *room, size_t size, struct str *out)
{
    size_t i = 1, n = 0;

    while (i < s.len && s.ptr[i] != '"' && n < size) {
        if (s.ptr[i] != '\\' || i + 1 >= s.len) {
            room[n++] = s.ptr[i++];
        } else if (s.ptr[i + 1] == 'x' && i + 3 < s.len && digit_of(s.ptr[i + 2]) >= 0 &&
                   digit_of(s.ptr[i + 3]) >= 0) {
            room[n++] = (char)(digit_of(s.ptr[i + 2]) * 16 + digit_of(s.ptr[i + 3]));
            i += 4;
        } else {
            room[n++] = s.ptr[i + 1];
            i += 2;
        }
    }
    *out = str_of(room, n);
    return i < s.len ? i + 1 : s.len;
}

/* Is it a number as JSON writes it, that any reader holds exactly? */
static bool is_number(struct str s)
{
    size_t i = s.len > 0 && s.ptr[0] == '-', n_digits = 0, n_points = 0;

    if (i >= s.len || (s.ptr[i] == '0' && i + 1 < s.len && s.ptr[i + 1] != '.'))
        return false;
    for (; i < s.len; i++) {
        n_points += s.ptr[i] == '.';
        n_digits += s.ptr[i] >= '0' && s.ptr[i] <= '9';
        if ((s.ptr[i] != '.' && (s.ptr[i] < '0' || s.ptr[i] > '9')) ||
            (s.ptr[i] == '.' && n_digits == 0))
            return false;
    }
    return n_digits <= 15 && n_points <= 1 && s.ptr[s.len - 1] != '.';
}

/* Take the next member from *rest. */
static void put_member(struct target *t, struct str *rest)
{
    char room[4096];
    struct str name, value;
    size_t n = 0, len;
    bool is_quoted;

    *rest = str_trim(*rest);
    while (n < rest->len && rest->ptr[n] != '=' && rest->ptr[n] != ' ')
        n++;
    if (n >= rest->len || rest->ptr[n] != '=') { /* words without a name */
        put(t, ",\"text\":", 8);
        put_text(t, *rest);
        *rest = STR("");
        return;
    }
    name = str_slice(*rest, 0, n);
    *rest = str_slice(*rest, n + 1, rest->len);
    is_quoted = rest->len > 0 && rest->ptr[0] == '"';
    for (len = 0; !is_quoted && len < rest->len && rest->ptr[len] != ' ';)
        len++;
    value = str_slice(*rest, 0, len);
    if (is_quoted)
        len = unquote(*rest, room, sizeof room, &value);
    put(t, ",", 1);
    put_text(t, name);
    put(t, ":", 1);
    if (!is_quoted && is_number(value))
        put(t, value.ptr, value.len);
    else
        put_text(t, value);
    *rest = str_slice(*rest, len, rest->len);
}

size_t log_write_json(char *out, size_t size, struct str logfmt)
{
    struct target t = {.at = out, .size = size - 1};

    for (struct str rest = str_trim(logfmt); rest.len > 0 && !t.is_full;) {
        size_t before = t.len;

        put_member(&t, &rest);
        if (t.is_full)
            t.len = before;
        rest = str_trim(rest);
    }
    if (t.len == 0)
        t.at[t.len++] = '{';
    out[0] = '{'; /* in place of the first comma */
    out[t.len++] = '}';
    return t.len;
}
