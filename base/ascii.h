/* base/ascii.h - classes and values of single bytes as ASCII.
 *
 * Unlike <ctype.h> nothing here depends on the locale, and every value of `char` is allowed: a byte
 * of 0x80 or more belongs to no class. Pure functions, any thread.
 */
#pragma once

#include <stdbool.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_alnum(char c)
{
    return ascii_is_alpha(c) || ascii_is_digit(c);
}

/* Space or tab: the white space inside a line of HTTP (OWS, RFC 9110 section 5.6.3). */
static inline bool ascii_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Space, tab, CR or LF: the white space of XML and JSON. */
static inline bool ascii_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The same and form feed: the white space of HTML. */
static inline bool ascii_is_html_space(char c)
{
    return ascii_is_space(c) || c == '\f';
}

static inline char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* The value of a hexadecimal digit in either case, 0 to 15; -1 for any other byte. */
static inline int ascii_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool ascii_is_hex(char c)
{
    return ascii_hex(c) >= 0;
}

/* The value of a digit of Base64 (RFC 4648 section 4), 0 to 63; -1 for any other byte. */
static inline int ascii_base64(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}
