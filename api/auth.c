/* api/auth.c - the token and the origin of a request. */
#include "api/auth.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/digest.h"

static int base64_digit(char ch)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = ch != '\0' ? strchr(digits, ch) : NULL;

    return at == NULL ? -1 : (int)(at - digits);
}

/* Base64 (RFC 4648 §4); null when it is none. */
static struct str base64_decode(struct arena *a, struct str s)
{
    char *out = arena_alloc(a, s.len + 1);
    size_t n = 0;
    uint32_t bits = 0;
    int n_bits = 0;

    while (s.len > 0 && s.ptr[s.len - 1] == '=')
        s.len--;
    for (size_t i = 0; i < s.len; i++) {
        int digit = base64_digit(s.ptr[i]);

        if (digit < 0)
            return STR_NULL;
        bits = bits << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[n++] = (char)(bits >> n_bits & 0xff);
        }
    }
    return str_of(out, n);
}

/* Digests are compared, so that the length does not tell either. */
static bool same_secret(struct str x, struct str y)
{
    unsigned char a[DIGEST_SHA256_LEN], b[DIGEST_SHA256_LEN];

    digest_sha256(x, a);
    digest_sha256(y, b);
    return digest_same(a, b, sizeof(a));
}

bool auth_has_token(struct arena *a, struct str authorization, struct str token)
{
    struct str rest = str_trim(authorization), scheme, user_password;
    ssize_t colon;

    if (rest.len == 0)
        return false;
    scheme = str_split(&rest, ' ');
    if (str_is_null(rest))
        return false;
    rest = str_trim(rest);
    if (str_ieqz(scheme, "bearer"))
        return same_secret(rest, token);
    if (!str_ieqz(scheme, "basic"))
        return false;
    user_password = base64_decode(a, rest);
    colon = str_chr(user_password, ':');
    return colon >= 0 &&
           same_secret(str_slice(user_password, (size_t)colon + 1, user_password.len), token);
}

static bool is_address(struct str host, int family)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr;

    if (host.len >= sizeof text)
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return inet_pton(family, text, &addr) == 1;
}

bool auth_host_is_ours(struct str host, const struct str *names, size_t n)
{
    ssize_t end = host.len > 0 && host.ptr[0] == '[' ? str_chr(host, ']') : str_chr(host, ':');

    if (host.len == 0)
        return true;
    if (host.ptr[0] == '[')
        return end > 0 && is_address(str_slice(host, 1, (size_t)end), AF_INET6);
    if (end >= 0)
        host = str_slice(host, 0, (size_t)end);
    if (host.len > 0 && host.ptr[host.len - 1] == '.') /* the root of all names */
        host.len--;
    if (is_address(host, AF_INET) || str_ieqz(host, "localhost") ||
        (host.len > 10 && str_ieqz(str_slice(host, host.len - 10, host.len), ".localhost")))
        return true;
    for (size_t i = 0; i < n; i++)
        if (str_ieq(host, names[i]))
            return true;
    return false;
}

bool auth_origin_may_write(struct str origin, struct str host, struct str cors_origin)
{
    ssize_t at;

    if (str_is_null(origin))
        return true;
    if (str_eq(cors_origin, origin)) /* "*" permits reading only */
        return true;
    at = str_find(origin, STR("://"));
    return at >= 0 && str_ieq(str_slice(origin, (size_t)at + 3, origin.len), host);
}
