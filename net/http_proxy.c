/* net/http_proxy.c - see http_proxy.h. */
#include "net/http_proxy.h"

#include "net/resolver.h"

static const struct {
    const char *scheme;
    int port; /* when none is given */
} kinds[] = {
    [HTTP_PROXY_HTTP] = {"http", 3128},
    [HTTP_PROXY_SOCKS5] = {"socks5", 1080},
    [HTTP_PROXY_SOCKS5H] = {"socks5h", 1080},
};

const char *http_proxy_scheme(enum http_proxy_kind kind)
{
    return kinds[kind].scheme;
}

/* Without a scheme it is an HTTP proxy, as for curl; its port must be said, so that a lone word is none. */
static bool read_kind(struct str *text, enum http_proxy_kind *out, int *port)
{
    ssize_t at = str_find(*text, STR("://"));

    if (at < 0) {
        *out = HTTP_PROXY_HTTP;
        *port = 0;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds) && at > 0; i++) {
        if (!str_ieqz(str_slice(*text, 0, (size_t)at), kinds[i].scheme))
            continue;
        *out = (enum http_proxy_kind)i;
        *port = kinds[i].port;
        *text = str_slice(*text, (size_t)at + 3, text->len);
        return true;
    }
    return false;
}

enum rc http_proxy_read(struct arena *a, struct str text, struct http_proxy *out, struct err *err)
{
    struct http_proxy proxy;
    int port;

    if (!read_kind(&text, &proxy.kind, &port))
        return err_set(err, RC_INPUT, "a proxy begins with http://, socks5:// or socks5h://, or is HOST:PORT");
    if (str_ends(text, STR("/")))
        text.len--;
    if (text.len == 0 || str_chr(text, '/') >= 0 || str_chr(text, '?') >= 0 ||
        str_chr(text, '#') >= 0)
        return err_set(err, RC_INPUT, "after the scheme of a proxy stand its host and port alone");
    if (url_read_authority(a, text, port, STR("..."), &proxy.at, NULL) != RC_OK)
        return err_set(err, RC_INPUT,
                       "the user, password, host or port of the proxy cannot be used");
    if (proxy.at.port == 0)
        return err_set(err, RC_INPUT, "a proxy without http://, socks5:// or socks5h:// has a port, as in proxy.example:3128");
    *out = proxy;
    return RC_OK;
}

bool http_proxy_is_open(const struct http_proxy *proxy, const struct guard *guard)
{
    union address addr;

    return !resolver_numeric(proxy->at.host, &addr) || guard_allows(guard, &addr.sa);
}
