/* feed/text/iri.c - parts of a reference, and characters that it must not contain (RFC 3986,
 * 3987). */
#include "feed/text/iri.h"

#include <idn2.h>

#include "base/ascii.h"
#include "base/compiler.h"
#include "base/scan.h"

struct str iri_scheme(struct str s)
{
    if (s.len == 0 || !ascii_is_alpha(s.ptr[0]))
        return STR_NULL;
    for (size_t i = 1; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == ':')
            return str_of(s.ptr, i);
        if (!ascii_is_alpha(c) && !ascii_is_digit(c) && c != '+' && c != '-' && c != '.')
            return STR_NULL;
    }
    return STR_NULL;
}

bool iri_is_http(struct str s)
{
    struct str scheme = iri_scheme(s);

    return str_ieqz(scheme, "http") || str_ieqz(scheme, "https");
}

bool iri_is_script(struct str s)
{
    static const char *const schemes[] = {
        "javascript:", "vbscript:", "livescript:", "jscript:", "mocha:"};
    static const char *const media[] = {"data:image/", "data:audio/", "data:video/"};
    char head[16];
    struct str seen;
    size_t n = 0;

    for (size_t i = 0; i < s.len && n < sizeof head; i++)
        if ((unsigned char)s.ptr[i] > ' ')
            head[n++] = s.ptr[i];
    seen = str_of(head, n);
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_istarts(seen, str_from(schemes[i])))
            return true;
    if (!str_istarts(seen, STR("data:")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(media); i++)
        if (str_istarts(seen, str_from(media[i])))
            return str_istarts(seen, STR("data:image/svg")); /* SVG can have scripts */
    return true;
}

struct str iri_host(struct str s)
{
    struct str scheme = iri_scheme(s), host;
    size_t n = 0;
    ssize_t at;

    if (!str_is_null(scheme))
        s = str_slice(s, scheme.len + 1, s.len);
    if (!str_starts(s, STR("//")))
        return STR_NULL;
    host = str_slice(s, 2, s.len);
    while (n < host.len && strchr("/?#", host.ptr[n]) == NULL)
        n++;
    host = str_slice(host, 0, n);
    while ((at = str_chr(host, '@')) >= 0)
        host = str_slice(host, (size_t)at + 1, host.len);
    if (host.len > 0 && host.ptr[0] == '[') {
        at = str_chr(host, ']');
        return at < 0 ? host : str_slice(host, 0, (size_t)at + 1);
    }
    at = str_chr(host, ':');
    return at < 0 ? host : str_slice(host, 0, (size_t)at);
}

bool iri_is_permanent(struct str s)
{
    struct str scheme = iri_scheme(s);

    if (str_is_null(scheme) || s.len == scheme.len + 1)
        return false;
    if (iri_is_http(s))
        return iri_host(s).len > 0;
    return true;
}

struct str iri_relation(struct str rel)
{
    const struct str registry = STR("http://www.iana.org/assignments/relation/");

    return str_starts(rel, registry) ? str_slice(rel, registry.len, rel.len) : rel;
}

/* Returns true for bytes that an IRI must not contain. iri_escape() handles `%` and `#` itself. */
static bool is_unfit(unsigned char c, bool ascii)
{
    if (c >= 0x80)
        return ascii;
    return c <= ' ' || c == 0x7F || strchr("\"<>\\^`{|}", c) != NULL;
}

#define HOST_MAX 1024 /* longer hosts are not converted; the DNS allows 253 bytes */

/* Returns a web address with its host in ASCII (IDNA). Returns `s` itself when the host is ASCII
 * already or is not a valid name. */
static struct str with_ascii_host(struct arena *a, struct str s)
{
    struct str host = iri_is_http(s) ? iri_host(s) : STR_NULL, ascii;
    size_t at = (size_t)(host.ptr - s.ptr);
    uint8_t *name = NULL;

    if (host.len == 0 || host.len > HOST_MAX ||
        scan_non_ascii(host.ptr, host.ptr + host.len) == host.ptr + host.len ||
        idn2_lookup_u8((const uint8_t *)str_z(a, host), &name,
                       IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
        return s;
    ascii = str_concat(a, str_slice(s, 0, at), str_from((const char *)name));
    idn2_free(name);
    return str_concat(a, ascii, str_slice(s, at + host.len, s.len));
}

struct str iri_escape(struct arena *a, struct str s, bool ascii)
{
    size_t n_bad = 0, len = 0, host_end;
    bool fragment = false;
    unsigned char *bad;
    char *p;

    s = str_trim(s);
    if (s.len == 0)
        return s;
    if (ascii)
        s = with_ascii_host(a, s);
    /* only an IPv6 host may have brackets */
    ssize_t open = str_find(s, STR("://["));
    ssize_t close = open < 0 ? -1 : str_chr(str_slice(s, (size_t)open, s.len), ']');
    host_end = close < 0 ? 0 : (size_t)(open + close) + 1;
    bad = arena_zalloc(a, s.len);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool no = is_unfit((unsigned char)c, ascii);
        if (c == '%')
            no = s.len - i < 3 || !ascii_is_hex(s.ptr[i + 1]) || !ascii_is_hex(s.ptr[i + 2]);
        else if (c == '#')
            no = fragment;
        else if (c == '[' || c == ']')
            no = i >= host_end;
        if (c == '#')
            fragment = true;
        bad[i] = no;
        n_bad += no;
    }
    if (n_bad == 0)
        return s;
    p = arena_alloc(a, s.len + 2 * n_bad + 1);
    for (size_t i = 0; i < s.len; i++) {
        if (!bad[i]) {
            p[len++] = s.ptr[i];
            continue;
        }
        p[len++] = '%';
        p[len++] = "0123456789ABCDEF"[(unsigned char)s.ptr[i] >> 4];
        p[len++] = "0123456789ABCDEF"[s.ptr[i] & 15];
    }
    p[len] = '\0';
    return str_of(p, len);
}
