/* model/mirror_name.c - the names of mirrored files (mirror.h). */
#include "model/mirror.h"

#include <string.h>

#include "base/ascii.h"

#define NAME_MAX_LEN 120 /* bytes; its end has the suffix */

static struct str decode(struct arena *a, struct str s)
{
    char *out = arena_alloc(a, s.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        bool is_code = s.ptr[i] == '%' && i + 2 < s.len && ascii_is_hex(s.ptr[i + 1]) && ascii_is_hex(s.ptr[i + 2]);

        out[n++] = is_code ? (char)(ascii_hex(s.ptr[i + 1]) * 16 + ascii_hex(s.ptr[i + 2])) : s.ptr[i];
        i += is_code ? 2 : 0;
    }
    return str_of(out, n);
}

/* Does a character begin here that nobody sees, and that makes a name look like another one? Controls
 * (U+0080 to U+009F), and those that turn the direction of what follows (U+200E and F, U+202A to E, U+2066
 * to 9) or break a line (U+2028 and 9). Its bytes; 0: it does not. */
static size_t hidden_len(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;

    if (s.len >= 2 && p[0] == 0xc2 && p[1] < 0xa0)
        return 2;
    if (s.len < 3 || p[0] != 0xe2)
        return 0;
    return (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae))) ||
                   (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)
               ? 3
               : 0;
}

/* May it stand in a name, at this place of it? */
static bool is_harmless(char c, bool is_text, size_t at)
{
    if ((unsigned char)c >= 0x80)
        return is_text;
    return ascii_is_alnum(c) || c == '-' || c == '_' || (at > 0 && c != '\0' && strchr(". ()+,!'&", c) != NULL);
}

struct str mirror_name_safe(struct arena *a, struct str part)
{
    bool is_text = str_utf8_valid(part) == part.len;
    size_t n = 0;
    char *out;

    if (part.len > NAME_MAX_LEN)
        part = str_slice(part, part.len - NAME_MAX_LEN, part.len);
    while (is_text && part.len > 0 && ((unsigned char)part.ptr[0] & 0xc0) == 0x80) /* not half a character */
        part = str_slice(part, 1, part.len);
    out = arena_alloc(a, part.len + 1);
    for (size_t i = 0; i < part.len; i++) {
        size_t hidden = is_text ? hidden_len(str_slice(part, i, part.len)) : 0;

        out[n] = hidden == 0 && is_harmless(part.ptr[i], is_text, n) ? part.ptr[i] : '_';
        n++;
        i += hidden > 0 ? hidden - 1 : 0;
    }
    return n > 0 ? str_of(out, n) : STR("file");
}

struct str mirror_name(struct arena *a, struct str url)
{
    struct str path = str_split(&url, '?'), part = STR_NULL;
    ssize_t at;

    path = str_split(&path, '#');
    at = str_find(path, STR("://"));
    path = str_slice(path, at < 0 ? 0 : (size_t)at + 3, path.len);
    (void)str_split(&path, '/'); /* the host */
    while (!str_is_null(path))
        part = str_split(&path, '/');
    return mirror_name_safe(a, decode(a, part));
}

struct str mirror_name_encoded(struct arena *a, struct str name)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = arena_alloc(a, 3 * name.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        if (ascii_is_alnum((char)c) || c == '-' || c == '_' || c == '.') {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex[c >> 4];
        out[n++] = hex[c & 15];
    }
    return str_of(out, n);
}
