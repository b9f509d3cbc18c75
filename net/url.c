/* net/url.c - a URL is first taken apart and mended here (what browsers forgive, curl_url() does
 * not: blanks, backslashes, stray bytes, international names), then libcurl's parser, which will
 * also make the connection, has the last word on host, numeric addresses and dot segments. */
#include "net/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <idn2.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"

#define HOST_MAX 253 /* RFC 1035 §2.3.4, without the root's dot */
#define LABEL_MAX 63

enum {
    C_UNRESERVED = 1, /* RFC 3986 §2.3 */
    C_PATH = 2,       /* may stand in a path as it is */
    C_QUERY = 4,      /* may stand in a query as it is */
    C_HOST = 8,       /* may stand in a host name */
    C_SCHEME = 16,    /* may stand in a scheme after its first letter */
};

/* The classes of an ASCII byte. `[` and `]` are not allowed in paths and queries (RFC 3986 §3.3,
 * §3.4). */
static unsigned url_class(unsigned char c)
{
    static const char other_path[] = "!$&'()*+,;=:@/";

    if (ascii_is_alnum((char)c))
        return C_UNRESERVED | C_PATH | C_QUERY | C_HOST | C_SCHEME;
    if (c == '-' || c == '.')
        return C_UNRESERVED | C_PATH | C_QUERY | C_HOST | C_SCHEME;
    if (c == '_')
        return C_UNRESERVED | C_PATH | C_QUERY | C_HOST;
    if (c == '~')
        return C_UNRESERVED | C_PATH | C_QUERY;
    if (c == '?')
        return C_QUERY;
    if (c != '\0' && strchr(other_path, c) != NULL)
        return c == '+' ? C_PATH | C_QUERY | C_SCHEME : C_PATH | C_QUERY;
    return 0;
}

/* The byte that is written as %XX at `i`; -1: there is no %XX. */
static int escaped_byte(struct str s, size_t i)
{
    int hi, lo;

    if (i + 2 >= s.len || s.ptr[i] != '%')
        return -1;
    hi = ascii_hex(s.ptr[i + 1]);
    lo = ascii_hex(s.ptr[i + 2]);
    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

static bool is_break(char c)
{
    return c == '\t' || c == '\n' || c == '\r';
}

/* Remove blanks and controls at both ends, and tabs and line breaks everywhere, as browsers do with
 * the URL in an attribute. */
static struct str url_clean(struct arena *a, struct str raw)
{
    char *p;
    size_t n = 0, i;

    while (raw.len > 0 && (unsigned char)raw.ptr[0] <= ' ')
        raw = str_slice(raw, 1, raw.len);
    while (raw.len > 0 && (unsigned char)raw.ptr[raw.len - 1] <= ' ')
        raw.len--;
    for (i = 0; i < raw.len && !is_break(raw.ptr[i]);)
        i++;
    if (i == raw.len)
        return raw.ptr == NULL ? STR("") : raw;
    p = arena_alloc(a, raw.len + 1);
    for (i = 0; i < raw.len; i++)
        if (!is_break(raw.ptr[i]))
            p[n++] = raw.ptr[i];
    p[n] = '\0';
    return str_of(p, n);
}

/* The length of the scheme, without its colon; 0: there is no scheme. */
static size_t scheme_len(struct str s)
{
    size_t i;

    if (s.len == 0 || !ascii_is_alpha(s.ptr[0]))
        return 0;
    for (i = 1; i < s.len; i++) {
        if (s.ptr[i] == ':')
            return i;
        if (!(url_class((unsigned char)s.ptr[i]) & C_SCHEME))
            return 0;
    }
    return 0;
}

/* The offset of the first byte of `s`, at or after `from`, that is in `set`; s.len: there is none.
 */
static size_t find_any(struct str s, size_t from, const char *set)
{
    const char *p;

    if (set[0] != '\0' && set[1] == '\0') {
        p = from < s.len ? memchr(s.ptr + from, set[0], s.len - from) : NULL;
        return p != NULL ? (size_t)(p - s.ptr) : from > s.len ? from : s.len;
    }
    while (from < s.len && (s.ptr[from] == '\0' || strchr(set, s.ptr[from]) == NULL))
        from++;
    return from;
}

static ssize_t last_at(struct str s)
{
    for (size_t i = s.len; i > 0; i--)
        if (s.ptr[i - 1] == '@')
            return (ssize_t)i - 1;
    return -1;
}

/* ---- the public form ---- */

/* Is it a scheme in which `x@y` is an address of a person, not a credential? */
static bool is_naming_scheme(struct str scheme)
{
    static const char *const names[] = {"mailto", "tag",  "acct", "xmpp", "sip", "sips",
                                        "urn",    "news", "mid",  "cid",  "data"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieqz(scheme, names[i]))
            return true;
    return false;
}

/* May this be a port, or nothing? */
static bool is_port(struct str s)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
        n++;
    return n == s.len && n <= 5;
}

struct str url_public(struct arena *a, struct str raw)
{
    struct str s = url_clean(a, raw), rest, authority;
    size_t at = 0, n, end;
    ssize_t sign, colon;
    bool has_slashes = false;

    end = find_any(s, 0, "#");
    while ((n = scheme_len(str_slice(s, at, s.len))) > 0) {
        struct str scheme = str_slice(s, at, at + n);
        struct str behind = str_slice(s, at + n + 1, s.len);
        bool known =
            str_ieqz(scheme, "feed") || str_ieqz(scheme, "http") || str_ieqz(scheme, "https");

        has_slashes = behind.len > 0 && (behind.ptr[0] == '/' || behind.ptr[0] == '\\');
        if (!known && !has_slashes) {
            if (is_naming_scheme(scheme))
                return str_slice(s, 0, end);
            break; /* "user:password@host": the user was taken for a scheme */
        }
        at += n + 1;
        while (at < s.len && (s.ptr[at] == '/' || s.ptr[at] == '\\'))
            at++;
        if (!known)
            break;
    }
    if (at == 0)
        while (at < s.len && (s.ptr[at] == '/' || s.ptr[at] == '\\'))
            at++;
    rest = str_slice(s, at, s.len);
    authority = str_slice(rest, 0, find_any(rest, 0, "/\\?#"));
    sign = last_at(authority);
    colon = str_chr(authority, ':');
    /* "http://user:pa/ss@host/" is not a valid URL, but "pa/ss" is meant as a password. */
    if (sign < 0 && colon >= 0 && authority.ptr[0] != '[' &&
        !is_port(str_slice(authority, (size_t)colon + 1, authority.len)))
        sign = last_at(rest);
    else
        colon = -1;
    /* "http://user:password" lacks its host */
    if (sign < 0 && colon >= 0)
        return str_concat(a, str_slice(s, 0, at + (size_t)colon + 1), STR("..."));
    if (sign < 0)
        return str_slice(s, 0, end);
    rest = str_slice(rest, (size_t)sign + 1, rest.len);
    rest.len = find_any(rest, 0, "#");
    return str_concat(a, str_slice(s, 0, at), rest);
}

struct str url_shown(struct arena *a, struct str raw)
{
    if (str_chr(raw, ':') < 0 && str_find(str_lower(a, raw), STR("%3a")) >= 0)
        return url_public(a, url_decode(a, raw, false));
    return url_public(a, raw);
}

/* ---- host names ---- */

static enum rc host_error(struct err *err, struct str shown, const char *why)
{
    return err_set(err, RC_INPUT, "URL \"%.*s\": %s", STR_ARG(shown), why);
}

/* IPv6 in brackets, in the form of RFC 5952. */
static enum rc host_ipv6(struct arena *a, struct str raw, struct str shown, struct str *out,
                         struct err *err)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr;

    if (raw.len < 4 || raw.ptr[raw.len - 1] != ']' ||
        inet_pton(AF_INET6, str_z(a, str_slice(raw, 1, raw.len - 1)), &addr) != 1)
        return host_error(err, shown, "the host in brackets is not an IPv6 address");
    inet_ntop(AF_INET6, &addr, text, sizeof text);
    *out = str_printf(a, "[%s]", text);
    return RC_OK;
}

/* A host name in lower case and ASCII: percent-decoded, with international labels in punycode
 * (UTS #46, non-transitional). Names in ASCII are only checked for their characters and lengths,
 * because resolvers accept names that registries do not. */
static enum rc host_name(struct arena *a, struct str raw, struct str shown, struct str *out,
                         struct err *err)
{
    struct str s = url_decode(a, raw, false), rest, label;
    bool ascii = true;

    for (size_t i = 0; i < s.len; i++)
        ascii = ascii && (unsigned char)s.ptr[i] < 0x80;
    if (!ascii) {
        uint8_t *puny = NULL;
        int n;

        if (str_utf8_valid(s) != s.len)
            return host_error(err, shown, "the host is not UTF-8");
        if (s.len > 4 * HOST_MAX) /* the library must not get very long names */
            return host_error(err, shown, "the host is longer than 253 characters");
        n = idn2_lookup_u8((const uint8_t *)str_z(a, s), &puny,
                           IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
        if (n != IDN2_OK)
            return err_set(err, RC_INPUT,
                           "URL \"%.*s\": the international host name is invalid: %s",
                           STR_ARG(shown), idn2_strerror(n));
        s = str_dup(a, str_from((char *)puny));
        idn2_free(puny);
    }
    s = str_lower(a, s);
    if (s.len == 0)
        return host_error(err, shown, "there is no host");
    if (s.len > HOST_MAX + (s.ptr[s.len - 1] == '.'))
        return host_error(err, shown, "the host is longer than 253 characters");
    for (size_t i = 0; i < s.len; i++)
        if (!(url_class((unsigned char)s.ptr[i]) & C_HOST))
            return host_error(err, shown, "the host has a character that no host name may have");
    for (rest = s; !str_is_null(rest);) {
        label = str_split(&rest, '.');
        if (label.len > LABEL_MAX)
            return host_error(err, shown, "a part of the host is longer than 63 characters");
        if (label.len == 0 && !(str_is_null(rest) && s.len > 1))
            return host_error(err, shown, "a part of the host is empty");
    }
    *out = s;
    return RC_OK;
}

static enum rc host_canonical(struct arena *a, struct str raw, struct str shown, struct str *out,
                              struct err *err)
{
    if (raw.len == 0)
        return host_error(err, shown, "there is no host");
    if (raw.ptr[0] == '[')
        return host_ipv6(a, raw, shown, out, err);
    return host_name(a, raw, shown, out, err);
}

/* ---- parts ---- */

/* Append `s`, and percent-encode the bytes that are not of class `keep`. A `%` that does not begin
 * a %XX becomes %25. */
static void append_part(struct buf *b, struct str s, unsigned keep)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t from = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        char text[3] = {'%', digits[c >> 4], digits[c & 15]};

        if ((url_class(c) & keep) || (c == '%' && escaped_byte(s, i) >= 0))
            continue;
        buf_append(b, s.ptr + from, i - from);
        buf_append(b, text, sizeof text);
        from = i + 1;
    }
    if (from < s.len)
        buf_append(b, s.ptr + from, s.len - from);
}

/* 1 for the path segment ".", 2 for "..", 0 for all others. The dots may be written as %2e. */
static int dot_segment(struct str s)
{
    int dots = 0;

    for (size_t i = 0; i < s.len && dots < 3; dots++) {
        if (s.ptr[i] == '.')
            i++;
        else if (escaped_byte(s, i) == '.')
            i += 3;
        else
            return 0;
    }
    return dots <= 2 ? dots : 0;
}

/* `path` without its dot segments (RFC 3986 §5.2.4). `path` is empty or starts with a slash. */
static struct str remove_dots(struct arena *a, struct str path)
{
    char *out = arena_alloc(a, path.len + 2);
    size_t n = 0, i = 0;

    while (i < path.len) {
        size_t end = find_any(path, i + 1, "/");
        struct str segment = str_slice(path, i + 1, end);
        int dots = path.ptr[i] == '/' ? dot_segment(segment) : 0;

        if (dots == 0) {
            memcpy(out + n, path.ptr + i, end - i);
            n += end - i;
        } else if (dots == 2) {
            while (n > 0 && out[--n] != '/')
                ;
        }
        if (dots > 0 && end == path.len)
            out[n++] = '/';
        i = end;
    }
    out[n] = '\0';
    return str_of(out, n);
}

static enum rc port_number(struct str text, int otherwise, struct str shown, int *out,
                           struct err *err)
{
    int64_t n;

    if (text.len == 0) {
        *out = otherwise;
        return RC_OK;
    }
    if (find_any(text, 0, "+-") != text.len || !str_to_i64(text, &n) || n < 1 || n > 65535)
        return err_set(err, RC_INPUT, "URL \"%.*s\": the port is not a number from 1 to 65535",
                       STR_ARG(shown));
    *out = (int)n;
    return RC_OK;
}

/* "user:password", decoded; null: both are empty. Control characters are refused, because they
 * could end a header field. */
static enum rc credential_of(struct arena *a, struct str userinfo, struct str shown,
                             struct str *out, struct err *err)
{
    ssize_t colon = str_chr(userinfo, ':');
    struct str user = userinfo, password = STR("");

    *out = STR_NULL;
    if (colon >= 0) {
        user = str_slice(userinfo, 0, (size_t)colon);
        password = str_slice(userinfo, (size_t)colon + 1, userinfo.len);
    }
    if (user.len == 0 && password.len == 0)
        return RC_OK;
    user = url_decode(a, user, false);
    password = url_decode(a, password, false);
    if (str_chr(user, ':') >= 0)
        return err_set(err, RC_INPUT, "URL \"%.*s\": a colon in the user name cannot be sent",
                       STR_ARG(shown));
    *out = str_printf(a, "%.*s:%.*s", STR_ARG(user), STR_ARG(password));
    if (out->len != user.len + 1 + password.len) /* it has a NUL, at which printf stopped */
        *out = STR("\1");
    for (size_t i = 0; i < out->len; i++)
        if ((unsigned char)out->ptr[i] < ' ' || out->ptr[i] == 0x7f) {
            *out = STR_NULL;
            return err_set(err, RC_INPUT,
                           "URL \"%.*s\": a control character in the user name or password",
                           STR_ARG(shown));
        }
    return RC_OK;
}

/* The URL in a link for feed readers: feed://host/x, feed:http://host/x, feed://https://host/x. */
static struct str without_feed(struct arena *a, struct str s)
{
    struct str rest;

    if (!str_istarts(s, STR("feed:")))
        return s;
    rest = str_slice(s, 5, s.len);
    while (rest.len > 0 && (rest.ptr[0] == '/' || rest.ptr[0] == '\\'))
        rest = str_slice(rest, 1, rest.len);
    if (str_istarts(rest, STR("http:")) || str_istarts(rest, STR("https:")))
        return rest;
    return str_concat(a, STR("http://"), rest);
}

/* Does libcurl read this canonical host as it is written? It takes a host for a number when each of
 * its labels begins with a digit, and all other names as they are. */
static bool is_plain(struct str host)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr addr;
    const char *dot = memrchr(host.ptr, '.', host.len);

    if (ascii_is_alpha(host.ptr[0]) ||
        (dot != NULL && dot + 1 < host.ptr + host.len && ascii_is_alpha(dot[1])))
        return true;
    if (host.len >= sizeof text)
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return inet_pton(AF_INET, text, &addr) == 1; /* which takes only 127.0.0.1 */
}

/* The host of `url` as libcurl reads it. libcurl turns a host like 0x7f000001 into 127.0.0.1. */
static enum rc curl_host(struct arena *a, const char *url, struct str shown, struct str *host,
                         struct err *err)
{
    CURLU *u = curl_url();
    CURLUcode code;
    char *text = NULL;

    code = curl_url_set(u, CURLUPART_URL, url, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(u, CURLUPART_HOST, &text, 0);
    if (code == CURLUE_OK)
        *host = str_dup(a, str_from(text));
    curl_free(text);
    curl_url_cleanup(u);
    if (code == CURLUE_OK)
        return RC_OK;
    return err_set(err, RC_INPUT, "URL \"%.*s\": %s", STR_ARG(shown), curl_url_strerror(code));
}

int url_default_port(struct str scheme)
{
    static const struct {
        const char *scheme;
        int port;
    } ports[] = {{"http", 80}, {"https", 443}, {"amqp", 5672}, {"amqps", 5671}};

    for (size_t i = 0; i < ARRAY_LEN(ports); i++)
        if (str_ieqz(scheme, ports[i].scheme))
            return ports[i].port;
    return 0;
}

enum rc url_read_authority(struct arena *a, struct str authority, int port, struct str shown,
                           struct url_parts *out, struct err *err)
{
    ssize_t at = last_at(authority);
    struct str host = str_slice(authority, (size_t)(at + 1), authority.len), number = STR("");
    struct str credential = STR_NULL;
    size_t end;
    enum rc rc;

    end = host.len > 0 && host.ptr[0] == '[' ? find_any(host, 0, "]") : 0;
    end = find_any(host, end, ":");
    if (end < host.len) {
        number = str_slice(host, end + 1, host.len);
        host = str_slice(host, 0, end);
    }
    rc = host_canonical(a, host, shown, &host, err);
    if (rc == RC_OK)
        rc = port_number(number, port, shown, &port, err);
    if (rc == RC_OK && at > 0)
        rc = credential_of(a, str_slice(authority, 0, (size_t)at), shown, &credential, err);
    if (rc == RC_OK && !is_plain(host))
        rc = curl_host(a, arena_printf(a, "http://%.*s/", STR_ARG(host)), shown, &host, err);
    if (rc != RC_OK)
        return rc;
    out->host = host;
    out->port = port;
    out->credential = credential;
    return RC_OK;
}

/* ---- URLs that are canonical already ---- */

/* The offset of the first byte, at or after `from`, that is neither of class `keep` nor part of a
 * %XX. */
static size_t end_of_part(struct str s, size_t from, unsigned keep)
{
    while (from < s.len &&
           ((url_class((unsigned char)s.ptr[from]) & keep) || escaped_byte(s, from) >= 0))
        from++;
    return from;
}

/* Is it a name of letters, digits and hyphens, or an IPv4 address, that is certain to be canonical?
 */
static bool is_usual_host(struct str host)
{
    size_t label = 0;

    if (host.len == 0 || host.len > HOST_MAX)
        return false;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];

        label = c == '.' ? 0 : label + 1;
        if (label > LABEL_MAX || (c == '.' && (i == 0 || host.ptr[i - 1] == '.')))
            return false;
        if (c != '.' && c != '-' && !(c >= 'a' && c <= 'z') && !ascii_is_digit(c))
            return false;
    }
    return label > 0 && is_plain(host);
}

/* Take a URL apart that needs no change, as most do that url_parse() has made before. False: it may
 * need one. */
static bool split_canonical(struct arena *a, struct str raw, struct url_parts *out)
{
    struct str scheme = str_starts(raw, STR("http://")) ? STR("http") : STR("https"), host;
    size_t from = scheme.len + 3, end = from, i;
    int port = url_default_port(scheme), number = 0;

    if (!str_starts(raw, STR("http://")) && !str_starts(raw, STR("https://")))
        return false;
    while (end < raw.len && raw.ptr[end] != ':' && raw.ptr[end] != '/')
        end++;
    host = str_slice(raw, from, end);
    if (!is_usual_host(host))
        return false;
    if (end < raw.len && raw.ptr[end] == ':') {
        for (i = ++end; end < raw.len && end < i + 5 && ascii_is_digit(raw.ptr[end]); end++)
            number = 10 * number + (raw.ptr[end] - '0');
        if (end == i || raw.ptr[i] == '0' || number > 65535 || number == port)
            return false;
        port = number;
    }
    if (end == raw.len || raw.ptr[end] != '/')
        return false;
    i = end_of_part(raw, end, C_PATH);
    for (size_t k = end; k < i; k++) /* it may be a dot segment */
        if (raw.ptr[k] == '/' && k + 1 < i && (raw.ptr[k + 1] == '.' || raw.ptr[k + 1] == '%'))
            return false;
    if (i < raw.len && raw.ptr[i] == '?')
        i = end_of_part(raw, i + 1, C_QUERY);
    if (i < raw.len)
        return false;
    *out = (struct url_parts){.scheme = scheme,
                              .host = str_dup(a, host),
                              .port = port,
                              .credential = STR_NULL,
                              .url = str_dup(a, raw)};
    return true;
}

enum rc url_parse(struct arena *a, struct str raw, struct url_parts *out, struct err *err)
{
    struct url_parts parts = {.credential = STR_NULL};
    struct str s, shown, path, query = STR_NULL;
    size_t n, end;
    enum rc rc;

    if (raw.len > LIMIT_URL)
        return err_set(err, RC_INPUT, "URL of %zu bytes: the limit is %d", raw.len, LIMIT_URL);
    if (split_canonical(a, raw, out))
        return RC_OK;
    s = url_clean(a, raw);
    shown = str_slice(url_shown(a, s), 0, 300);
    s = without_feed(a, s);
    n = scheme_len(s);
    if (n == 0)
        return err_set(err, RC_INPUT,
                       "\"%.*s\" is not an absolute URL: it must start with http:// or https://",
                       STR_ARG(shown));
    parts.scheme = str_lower(a, str_slice(s, 0, n));
    if (!str_eqz(parts.scheme, "http") && !str_eqz(parts.scheme, "https"))
        return err_set(err, RC_INPUT, "URL \"%.*s\": only http:// and https:// are supported",
                       STR_ARG(shown));
    s = str_slice(s, n + 1, s.len);
    if (s.len < 2 || find_any(s, 0, "/\\") != 0 || find_any(s, 1, "/\\") != 1)
        return err_set(err, RC_INPUT, "URL \"%.*s\": \"//\" and a host must follow \"%.*s:\"",
                       STR_ARG(shown), STR_ARG(parts.scheme));
    s = str_slice(s, 2, find_any(s, 0, "#"));

    end = find_any(s, 0, "/\\?");
    rc = url_read_authority(a, str_slice(s, 0, end), url_default_port(parts.scheme), shown, &parts,
                            err);
    if (rc != RC_OK)
        return rc;
    s = str_slice(s, end, s.len);

    end = find_any(s, 0, "?");
    path = str_slice(s, 0, end);
    if (end < s.len)
        query = str_slice(s, end + 1, s.len);
    path = str_dup(a, path);
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '\\')
            ((char *)path.ptr)[i] = '/';
    path = remove_dots(a, path);

    {
        AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

        buf_printf(&b, "%.*s://%.*s", STR_ARG(parts.scheme), STR_ARG(parts.host));
        if (parts.port != url_default_port(parts.scheme))
            buf_printf(&b, ":%d", parts.port);
        append_part(&b, path.len > 0 ? path : STR("/"), C_PATH);
        if (!str_is_null(query)) {
            buf_putc(&b, '?');
            append_part(&b, query, C_QUERY);
        }
        parts.url = str_dup(a, buf_view(&b));
    }
    if (parts.url.len > LIMIT_URL)
        return err_set(err, RC_INPUT, "URL of %zu bytes when encoded: the limit is %d",
                       parts.url.len, LIMIT_URL);
    *out = parts;
    return RC_OK;
}

/* ---- resolving (RFC 3986 §5.2) ---- */

struct split { /* parts as written, with their punctuation; null: the part is absent */
    struct str scheme, authority, path, query, fragment;
};

static struct split url_split(struct str s)
{
    struct split p = {STR_NULL, STR_NULL, STR_NULL, STR_NULL, STR_NULL};
    size_t n = scheme_len(s), end;

    if (n > 0) {
        p.scheme = str_slice(s, 0, n + 1);
        s = str_slice(s, n + 1, s.len);
    }
    end = find_any(s, 0, "#");
    if (end < s.len)
        p.fragment = str_slice(s, end, s.len);
    s = str_slice(s, 0, end);
    end = find_any(s, 0, "?");
    if (end < s.len)
        p.query = str_slice(s, end, s.len);
    s = str_slice(s, 0, end);
    if (str_starts(s, STR("//"))) {
        end = find_any(s, 2, "/");
        p.authority = str_slice(s, 0, end);
        s = str_slice(s, end, s.len);
    }
    p.path = s;
    return p;
}

/* The path of the reference, after the directory of the base's path. */
static struct str merge_paths(struct arena *a, const struct split *base, struct str ref)
{
    size_t n = base->path.len;

    while (n > 0 && base->path.ptr[n - 1] != '/')
        n--;
    if (n == 0)
        return str_concat(a, STR("/"), ref);
    return str_concat(a, str_slice(base->path, 0, n), ref);
}

struct str url_resolve(struct arena *a, struct str base, struct str ref)
{
    struct str r = url_clean(a, ref);
    struct split b, p;

    if (scheme_len(r) > 0)
        return r;
    b = url_split(url_clean(a, base));
    if (str_is_null(b.scheme) || (str_is_null(b.authority) && !str_starts(b.path, STR("/"))))
        return r; /* there is no base, or it has no hierarchy, as "urn:x" */
    p = url_split(r);
    if (str_is_null(p.authority)) {
        p.authority = b.authority;
        if (p.path.len == 0) {
            p.path = b.path;
            if (str_is_null(p.query))
                p.query = b.query;
        } else if (p.path.ptr[0] != '/') {
            p.path = merge_paths(a, &b, p.path);
        }
    }
    p.path = remove_dots(a, p.path);
    return str_printf(a, "%.*s%.*s%.*s%.*s%.*s", STR_ARG(b.scheme), STR_ARG(p.authority),
                      STR_ARG(p.path), STR_ARG(p.query), STR_ARG(p.fragment));
}

struct str url_authority(struct arena *a, struct str url)
{
    struct split p = url_split(url);
    struct str host = str_slice(p.authority, 2, p.authority.len);
    size_t end;

    host = str_slice(host, (size_t)(last_at(host) + 1), host.len);
    end = host.len > 0 && host.ptr[0] == '[' ? find_any(host, 0, "]") : 0;
    if (find_any(host, end, ":") < host.len)
        return str_dup(a, host);
    return str_printf(a, "%.*s:%d", STR_ARG(host), url_default_port(str_split(&p.scheme, ':')));
}

/* ---- percent-encoding ---- */

struct str url_encode(struct arena *a, struct str s)
{
    static const char digits[] = "0123456789ABCDEF";
    char *p = arena_alloc(a, 3 * s.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (url_class(c) & C_UNRESERVED) {
            p[n++] = (char)c;
        } else {
            p[n++] = '%';
            p[n++] = digits[c >> 4];
            p[n++] = digits[c & 15];
        }
    }
    p[n] = '\0';
    return str_of(p, n);
}

struct str url_decode(struct arena *a, struct str s, bool form)
{
    char *p = arena_alloc(a, s.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        int c = escaped_byte(s, i);

        if (c >= 0)
            i += 2;
        p[n++] = c >= 0 ? (char)c : form && s.ptr[i] == '+' ? ' ' : s.ptr[i];
    }
    p[n] = '\0';
    return str_of(p, n);
}

bool url_same_origin(struct str one, struct str other)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts p, q;

    return one.len > 0 && url_parse(&a, one, &p, NULL) == RC_OK &&
           url_parse(&a, other, &q, NULL) == RC_OK && str_eq(p.scheme, q.scheme) &&
           str_eq(p.host, q.host) && p.port == q.port;
}

struct str url_without_query(struct str url)
{
    ssize_t at = str_chr(url, '?');

    return at < 0 ? url : str_slice(url, 0, (size_t)at);
}

bool url_same_path(struct str one, struct str other)
{
    return str_eq(url_without_query(one), url_without_query(other));
}
