/* api/http/auth.c - see auth.h. */
#include "api/http/auth.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"
#include "net/hostport.h"
#include "net/url.h"

/* Digests are compared, so that the time does not tell the length either. */
bool auth_same(struct str x, struct str y)
{
    unsigned char a[DIGEST_SHA256_LEN], b[DIGEST_SHA256_LEN];

    digest_sha256(x, a);
    digest_sha256(y, b);
    return digest_same(a, b, sizeof(a));
}

struct str auth_token(struct arena *a, struct str authorization)
{
    struct str rest = str_trim(authorization), scheme, user_password;
    ssize_t colon;

    if (rest.len == 0)
        return STR_NULL;
    scheme = str_split(&rest, ' ');
    if (str_is_null(rest))
        return STR_NULL;
    rest = str_trim(rest);
    if (str_ieqz(scheme, "bearer"))
        return rest;
    if (!str_ieqz(scheme, "basic"))
        return STR_NULL;
    user_password = base64_read(a, rest);
    colon = str_chr(user_password, ':');
    return colon < 0 ? STR_NULL : str_slice(user_password, (size_t)colon + 1, user_password.len);
}

struct str auth_cookie(struct str field, struct str name)
{
    while (!str_is_null(field)) {
        struct str value = str_trim(str_split(&field, ';'));

        if (str_eq(str_trim(str_split(&value, '=')), name) && !str_is_null(value))
            return str_trim(value);
    }
    return STR_NULL;
}

/* Is there a parameter that may be the key? Its name may be encoded. */
static bool may_have_key(struct str query)
{
    if (str_find(query, STR(AUTH_KEY)) < 0 && str_chr(query, '%') < 0)
        return false;
    while (!str_is_null(query)) {
        struct str one = str_split(&query, '&'), name = str_split(&one, '=');

        if (str_eqz(name, AUTH_KEY) || str_chr(name, '%') >= 0)
            return true;
    }
    return false;
}

struct str auth_without_key(struct arena *a, struct str target, struct str *key)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    ssize_t at = str_chr(target, '?');
    struct str rest = at < 0 ? STR_NULL : str_slice(target, (size_t)at + 1, target.len);
    char sep = '?';

    *key = STR_NULL;
    if (!may_have_key(rest))
        return target;
    buf_str(&out, str_slice(target, 0, (size_t)at));
    while (!str_is_null(rest)) {
        struct str one = str_split(&rest, '&'), value = one;
        struct str name = str_split(&value, '=');

        if (str_eqz(url_decode(a, name, true), AUTH_KEY)) {
            *key = str_is_null(value) ? STR("") : url_decode(a, value, true);
            continue;
        }
        buf_putc(&out, sep);
        buf_str(&out, one);
        sep = '&';
    }
    return str_dup(a, buf_view(&out));
}

bool auth_host_is_ours(struct str field, const struct str *names, size_t n)
{
    struct hostport hp;

    if (field.len == 0)
        return true;
    if (!hostport_parse(field, &hp))
        return false;
    if (hp.kind != HOST_NAME || hostport_is_loopback(&hp))
        return true;
    if (hp.host.ptr[hp.host.len - 1] == '.') /* a dot at the end, for the root of the DNS */
        hp.host.len--;
    for (size_t i = 0; i < n; i++)
        if (str_ieq(hp.host, names[i]))
            return true;
    return false;
}

/* Returns the part of a URL between "://" and its path; null when it has no "://". */
static struct str authority_of(struct str url)
{
    ssize_t at = str_find(url, STR("://"));
    struct str rest = at < 0 ? STR_NULL : str_slice(url, (size_t)at + 3, url.len);

    return str_is_null(rest) ? rest : str_split(&rest, '/');
}

bool auth_origin_may_write(struct str origin, struct str host, struct str base_url,
                           struct str cors_origin)
{
    struct str authority = authority_of(origin), ours = authority_of(base_url);

    if (str_is_null(origin))
        return true;
    if (str_eq(cors_origin, origin)) /* "*" allows reading, not writing */
        return true;
    if (authority.len == 0)
        return false;
    if (str_ieq(authority, ours))
        return str_istarts(base_url, origin);
    return str_istarts(origin, STR("http://")) && str_ieq(str_slice(origin, 7, origin.len), host);
}

bool auth_is_foreign(struct str sec_fetch_site, struct str origin, struct str referer,
                     struct str cors_origin)
{
    if (!str_ieqz(str_trim(sec_fetch_site), "cross-site"))
        return false;
    if (str_is_null(cors_origin))
        return true;
    if (str_eqz(cors_origin, "*") || str_eq(origin, cors_origin))
        return false;
    /* a referrer has an origin and a path; the path may be cut to a slash */
    return !str_is_null(origin) || !str_starts(referer, cors_origin) ||
           referer.len == cors_origin.len || referer.ptr[cors_origin.len] != '/';
}
