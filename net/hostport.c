/* net/hostport.c - hosts with an optional port (RFC 3986 section 3.2). */
#include "net/hostport.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/ascii.h"
#include "net/guard.h"
#include "net/url.h"

union address {
    struct sockaddr sa;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
};

static bool to_address(int family, struct str host, union address *out)
{
    char text[INET6_ADDRSTRLEN];

    *out = (union address){.sa.sa_family = (sa_family_t)family};
    if (host.len == 0 || host.len >= sizeof text || str_chr(host, '\0') >= 0)
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return inet_pton(family, text,
                     family == AF_INET ? (void *)&out->in4.sin_addr : &out->in6.sin6_addr) == 1;
}

/* reg-name (RFC 3986 section 3.2.2). */
static bool is_name(struct str s)
{
    static const char marks[] = "-._~%!$&'()*+,;=";

    for (size_t i = 0; i < s.len; i++)
        if (!ascii_is_alnum(s.ptr[i]) && (s.ptr[i] == '\0' || strchr(marks, s.ptr[i]) == NULL))
            return false;
    return s.len > 0;
}

/* Read what follows the host: nothing, or a colon and at most five digits. */
static bool read_port(struct str s, int *out)
{
    *out = -1;
    if (s.len == 0)
        return true;
    if (s.ptr[0] != ':' || s.len > 6)
        return false;
    if (s.len == 1)
        return true; /* "host:" means "host" (RFC 3986 section 3.2.3) */
    *out = 0;
    for (size_t i = 1; i < s.len; i++) {
        if (!ascii_is_digit(s.ptr[i]))
            return false;
        *out = *out * 10 + (s.ptr[i] - '0');
    }
    return *out <= 65535;
}

/* Remove the zone from the address in brackets, and set it in the result. False: the zone after the
 * "%" is empty. */
static bool split_zone(struct hostport *hp)
{
    ssize_t percent = str_chr(hp->host, '%');

    if (percent < 0)
        return true;
    hp->zone = str_slice(hp->host, (size_t)percent + 1, hp->host.len);
    hp->host = str_slice(hp->host, 0, (size_t)percent);
    return hp->zone.len > 0;
}

static bool parse(struct str s, bool may_have_zone, struct hostport *out)
{
    bool in_brackets = s.len > 0 && s.ptr[0] == '[';
    ssize_t end = str_chr(s, in_brackets ? ']' : ':');
    union address address;

    if (in_brackets && end < 0)
        return false;
    out->zone = STR_NULL;
    out->written = str_slice(s, 0, end < 0 ? s.len : (size_t)end + (in_brackets ? 1 : 0));
    out->host = in_brackets ? str_slice(s, 1, (size_t)end) : out->written;
    if (!read_port(str_slice(s, out->written.len, s.len), &out->port))
        return false;
    if (in_brackets) {
        out->kind = HOST_IPV6;
        return (!may_have_zone || split_zone(out)) && to_address(AF_INET6, out->host, &address);
    }
    out->kind = to_address(AF_INET, out->host, &address) ? HOST_IPV4 : HOST_NAME;
    return is_name(out->host);
}

bool hostport_parse(struct str s, struct hostport *out)
{
    return parse(s, false, out);
}

bool hostport_parse_listen(struct str s, struct hostport *out)
{
    return parse(s, true, out);
}

struct str hostport_in_url(struct arena *a, const struct hostport *hp)
{
    if (str_is_null(hp->zone))
        return hp->written;
    return str_printf(a, "[%.*s%%25%.*s]", STR_ARG(hp->host), STR_ARG(url_encode(a, hp->zone)));
}

bool hostport_is_loopback(const struct hostport *hp)
{
    union address address;
    struct str name = hp->host;

    if (hp->kind != HOST_NAME)
        return to_address(hp->kind == HOST_IPV4 ? AF_INET : AF_INET6, hp->host, &address) &&
               guard_is_loopback(&address.sa);
    if (name.len > 0 && name.ptr[name.len - 1] == '.') /* "localhost." means "localhost" */
        name.len--;
    return str_ieqz(name, "localhost") ||
           (name.len > 10 && str_ieqz(str_slice(name, name.len - 10, name.len), ".localhost"));
}

bool hostport_is_any(const struct hostport *hp)
{
    union address address;

    switch (hp->kind) {
    case HOST_IPV4:
        return to_address(AF_INET, hp->host, &address) && address.in4.sin_addr.s_addr == INADDR_ANY;
    case HOST_IPV6:
        return to_address(AF_INET6, hp->host, &address) &&
               IN6_IS_ADDR_UNSPECIFIED(&address.in6.sin6_addr);
    case HOST_NAME:
        break;
    }
    return false;
}
