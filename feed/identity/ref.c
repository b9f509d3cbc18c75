/* feed/identity/ref.c - ids and links without the parts that publishers change although the entry
 * is the same. Takes linear time. */
#include "feed/identity/identity.h"

#include "base/buf.h"
#include "base/compiler.h"
#include "feed/text/iri.h"

/* Parameters that name the visitor or the page before, never the document. A name that ends in `*`
 * is a prefix. */
static const char *const noise[] = {
    "utm_*",
    "fbclid",
    "gclid",
    "dclid",
    "msclkid",
    "yclid",
    "mc_cid",
    "mc_eid",
    "igshid",
    "xtor",
    "at_medium",
    "at_campaign",
    "ns_campaign",
    "ns_mchannel",
    "wt.mc_id",
    "phpsessid",
    "jsessionid",
    "aspsessionid*",
    "asp.net_sessionid",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
};

/* The same on most sites; but some sites number their entries by them. */
static const char *const likely_noise[] = {
    "sid", "session", "sessionid", "session_id", "sess", "sessid", "token",   "_",  "t",
    "ts",  "time",    "timestamp", "rnd",        "rand", "random", "nocache", "cb",
};

static bool is_listed(struct str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(list[i]);

        if (list[i][len - 1] == '*' ? str_istarts(name, str_of(list[i], len - 1))
                                    : str_ieqz(name, list[i]))
            return true;
    }
    return false;
}

static bool is_noise(struct str name, bool weak)
{
    return is_listed(name, noise, ARRAY_LEN(noise)) ||
           (weak && is_listed(name, likely_noise, ARRAY_LEN(likely_noise)));
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

static bool is_unreserved(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* Write each character in one spelling (RFC 3986 §6.2.2): %7e becomes ~, %2f becomes %2F. */
static void put_part(struct buf *out, struct str s, bool weak)
{
    for (size_t i = 0; i < s.len; i++) {
        int hi = s.ptr[i] == '%' && i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1;
        int lo = hi >= 0 ? hex_value(s.ptr[i + 2]) : -1;

        if (lo < 0) {
            buf_putc(out, weak ? lower(s.ptr[i]) : s.ptr[i]);
            continue;
        }
        if (is_unreserved(hi * 16 + lo))
            buf_putc(out, weak ? lower((char)(hi * 16 + lo)) : (char)(hi * 16 + lo));
        else
            buf_printf(out, "%%%X%X", (unsigned)hi, (unsigned)lo);
        i += 2;
    }
}

static struct str name_of(struct str param)
{
    ssize_t eq = str_chr(param, '=');

    return eq < 0 ? param : str_slice(param, 0, (size_t)eq);
}

/* Write one segment of the path without session ids: ";jsessionid=1", and a whole segment "(S(1))"
 * of ASP.NET. */
static void put_segment(struct buf *out, struct str segment, bool weak)
{
    struct str part;

    if (str_istarts(segment, STR("(S(")) && str_ends(segment, STR("))")))
        return;
    part = str_split(&segment, ';');
    buf_putc(out, '/');
    put_part(out, part, weak);
    while (!str_is_null(segment)) {
        part = str_split(&segment, ';');
        if (is_noise(name_of(part), weak))
            continue;
        buf_putc(out, ';');
        put_part(out, part, weak);
    }
}

/* "b;=2" was "&b=2" whose "&b" was taken for a character reference. Returns "b=2". */
static struct str mend_param(struct arena *a, struct str param)
{
    size_t n = 0;

    while (n < param.len && (is_unreserved(param.ptr[n]) && param.ptr[n] != '_'))
        n++;
    if (n == 0 || n == param.len || param.ptr[n] != ';')
        return param;
    return str_concat(a, str_slice(param, 0, n), str_slice(param, n + 1, param.len));
}

static void put_query(struct arena *a, struct buf *out, struct str query, bool weak)
{
    char before = '?';

    while (!str_is_null(query)) {
        struct str param = str_split(&query, '&');

        if (str_istarts(param, STR("amp;"))) /* it was escaped twice */
            param = str_slice(param, 4, param.len);
        param = mend_param(a, param);
        if (param.len == 0 || is_noise(name_of(param), weak))
            continue;
        buf_putc(out, before);
        put_part(out, param, weak);
        before = '&';
    }
}

/* Write "//host/path?query#fragment", without the scheme. */
static void put_url(struct arena *a, struct buf *out, struct str url, bool weak)
{
    struct str rest = str_slice(url, iri_scheme(url).len + 3, url.len), host, path;
    struct str fragment = STR_NULL, query = STR_NULL;
    size_t n = 0;
    ssize_t at;

    if ((at = str_chr(rest, '#')) >= 0) {
        fragment = str_slice(rest, (size_t)at + 1, rest.len);
        rest.len = (size_t)at;
    }
    if ((at = str_chr(rest, '?')) >= 0) {
        query = str_slice(rest, (size_t)at + 1, rest.len);
        rest.len = (size_t)at;
    }
    while (n < rest.len && rest.ptr[n] != '/')
        n++;
    host = str_slice(rest, 0, n);
    path = str_slice(rest, n, rest.len);
    if (str_istarts(host, STR("www.")))
        host = str_slice(host, 4, host.len);
    if (str_ends(host, STR(":80")))
        host.len -= 3;
    else if (str_ends(host, STR(":443")))
        host.len -= 4;
    buf_puts(out, "//");
    for (size_t i = 0; i < host.len; i++)
        buf_putc(out, lower(host.ptr[i]));
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    path = str_slice(path, 1, path.len); /* put_segment() writes the slash */
    while (path.len > 0 && !str_is_null(path))
        put_segment(out, str_split(&path, '/'), weak);
    put_query(a, out, query, weak);
    if (fragment.len > 0 && !is_noise(name_of(fragment), weak)) {
        buf_putc(out, '#');
        put_part(out, fragment, weak);
    }
}

/* Returns true for hexadecimal digits in groups of 8-4-4-4-12. */
static bool is_uuid(struct str s)
{
    if (s.len != 36)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? s.ptr[i] != '-' : hex_value(s.ptr[i]) < 0)
            return false;
    }
    return true;
}

static struct str without_wrapping(struct str s)
{
    if (str_istarts(s, STR("urn:uuid:")))
        return str_slice(s, 9, s.len);
    if (s.len > 2 && s.ptr[0] == '{' && s.ptr[s.len - 1] == '}')
        return str_slice(s, 1, s.len - 1);
    return s;
}

struct str identity_ref(struct arena *a, struct str raw, enum identity_depth depth)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct str s = str_trim(raw), bare = without_wrapping(s);

    if (is_uuid(bare))
        return str_lower(a, bare);
    if (!iri_is_http(s) || iri_host(s).len == 0)
        return s;
    put_url(a, &b, s, depth == IDENTITY_WEAK);
    return str_dup(a, buf_view(&b));
}
