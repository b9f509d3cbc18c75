/* feed/text/uri.c - RFC 3986 section 5.2 on slices. Nothing is decoded, encoded or rejected. What a
 * publisher wrote stays as it is; only its missing beginning is taken from the base. */
#include "feed/text/uri.h"

#include "base/ascii.h"
#include "feed/text/iri.h"

struct uri_parts {
    struct str scheme, authority, path, query, fragment; /* null when the part is missing */
};

bool uri_is_absolute(struct str ref)
{
    return !str_is_null(iri_scheme(str_trim(ref)));
}

static struct uri_parts split(struct str s)
{
    struct uri_parts p = {STR_NULL, STR_NULL, STR_NULL, STR_NULL, STR_NULL};
    ssize_t at;
    size_t n;

    p.scheme = iri_scheme(s);
    if (!str_is_null(p.scheme))
        s = str_slice(s, p.scheme.len + 1, s.len);
    if ((at = str_chr(s, '#')) >= 0) {
        p.fragment = str_slice(s, (size_t)at + 1, s.len);
        s = str_slice(s, 0, (size_t)at);
    }
    if ((at = str_chr(s, '?')) >= 0) {
        p.query = str_slice(s, (size_t)at + 1, s.len);
        s = str_slice(s, 0, (size_t)at);
    }
    if (str_starts(s, STR("//"))) {
        s = str_slice(s, 2, s.len);
        at = str_chr(s, '/');
        n = at < 0 ? s.len : (size_t)at;
        p.authority = str_slice(s, 0, n);
        s = str_slice(s, n, s.len);
    }
    p.path = s;
    return p;
}

bool uri_is_base(struct str s)
{
    struct uri_parts p = split(str_trim(s));

    return !str_is_null(p.scheme) && !iri_is_script(s) &&
           (!str_is_null(p.authority) || str_starts(p.path, STR("/")));
}

/* RFC 3986 section 5.2.4: remove "." and ".." segments from path[0..len), in place. Returns the new
 * length. */
static size_t remove_dots(char *path, size_t len)
{
    size_t in = 0, out = 0;

    while (in < len) {
        /* end of the segment; a segment begins with its slash, if it has one */
        size_t end = in + 1;

        while (end < len && path[end] != '/')
            end++;
        struct str seg = {path + in, end - in};
        if (str_eqz(seg, "/..")) {
            while (out > 0 && path[--out] != '/')
                ;
            if (end == len)
                path[out++] = '/';
        } else if (str_eqz(seg, "/.")) {
            if (end == len)
                path[out++] = '/';
        } else {
            memmove(path + out, path + in, end - in);
            out += end - in;
        }
        in = end;
    }
    return out;
}

static char *put(char *at, struct str s)
{
    if (s.len > 0)
        memcpy(at, s.ptr, s.len);
    return at + s.len;
}

/* "http:///host/" is a web address with one slash too many. */
static struct str without_extra_slashes(struct arena *a, struct str s)
{
    size_t from = 0;

    for (int i = 0; i < 2 && from == 0; i++) {
        struct str scheme = i == 0 ? STR("http:///") : STR("https:///");

        if (str_istarts(s, scheme))
            from = scheme.len - 1;
    }
    if (from == 0)
        return s;
    size_t to = from;
    while (to < s.len && s.ptr[to] == '/')
        to++;
    return str_concat(a, str_slice(s, 0, from), str_slice(s, to, s.len));
}

struct str uri_resolve(struct arena *a, struct str base, struct str ref)
{
    struct uri_parts r, b;
    char *text, *at, *path;
    ssize_t slash;

    ref = without_extra_slashes(a, str_trim(ref));
    if (base.len == 0 || !str_is_null(iri_scheme(ref)))
        return ref;
    base = without_extra_slashes(a, str_trim(base));
    b = split(base);
    if (str_is_null(b.scheme) || (str_is_null(b.authority) && !str_starts(b.path, STR("/"))))
        return ref;
    r = split(ref);
    text = at = arena_alloc(a, base.len + ref.len + 8);
    at = put(at, b.scheme);
    *at++ = ':';
    if (!str_is_null(r.authority) || !str_is_null(b.authority)) {
        at = put(at, STR("//"));
        at = put(at, str_is_null(r.authority) ? b.authority : r.authority);
    }
    path = at;
    if (!str_is_null(r.authority) || str_starts(r.path, STR("/"))) {
        at = put(at, r.path);
        at = path + remove_dots(path, (size_t)(at - path));
    } else if (r.path.len == 0) {
        at = put(at, b.path);
        if (str_is_null(r.query))
            r.query = b.query;
    } else {
        for (slash = (ssize_t)b.path.len - 1; slash >= 0 && b.path.ptr[slash] != '/'; slash--)
            ;
        if (slash < 0)
            *at++ = '/';
        at = put(at, str_slice(b.path, 0, (size_t)(slash + 1)));
        at = put(at, r.path);
        at = path + remove_dots(path, (size_t)(at - path));
    }
    if (!str_is_null(r.query)) {
        *at++ = '?';
        at = put(at, r.query);
    }
    if (!str_is_null(r.fragment)) {
        *at++ = '#';
        at = put(at, r.fragment);
    }
    *at = '\0';
    return without_extra_slashes(a, str_of(text, (size_t)(at - text)));
}

struct str uri_resolve_within(struct arena *a, struct str base, struct str ref, size_t *grown)
{
    struct str url;

    if (*grown > URI_GROWTH_MAX)
        return str_trim(ref);
    url = uri_resolve(a, base, ref);
    *grown += url.len > ref.len ? url.len - ref.len : 0;
    return url;
}

struct str uri_mend_references(struct arena *a, struct str s)
{
    char *out;
    size_t n = 0;

    if (str_chr(s, '&') < 0 || str_chr(s, ';') < 0)
        return s;
    out = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++) {
        size_t to = i + 1;

        out[n++] = s.ptr[i];
        if (s.ptr[i] != '&')
            continue;
        if (str_starts(str_slice(s, i, s.len), STR("&amp;"))) {
            i += 4;
            continue;
        }
        while (to < s.len && (ascii_is_alnum(s.ptr[to]) || s.ptr[to] == '_'))
            to++;
        if (to > i + 1 && to < s.len && s.ptr[to] == ';') {
            memcpy(out + n, s.ptr + i + 1, to - i - 1);
            n += to - i - 1;
            i = to;
        }
    }
    return str_of(out, n);
}
