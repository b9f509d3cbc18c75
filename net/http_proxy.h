/* net/http_proxy.h - the proxy of a call, as a URL names it. Pure; any thread. */
#pragma once

#include "net/guard.h"
#include "net/url.h"

/* How a call goes through a proxy. Either way the guard judges the addresses of the target's name, as
 * they are here, and those of the proxy. */
enum http_proxy_kind {
    HTTP_PROXY_HTTP,    /* http: the proxy gets the URL, or for https the name (CONNECT) */
    HTTP_PROXY_SOCKS5,  /* socks5: it gets an address that the guard allowed */
    HTTP_PROXY_SOCKS5H, /* socks5h: it gets the name */
};

struct http_proxy {
    enum http_proxy_kind kind;
    struct url_parts at; /* host, port and credential count */
};

/* Read http://, socks5:// or socks5h://, and [user:password@]host[:port]; or without a scheme
 * [user:password@]host:port, which is http://. RC_INPUT: *err says what is
 * wrong, without the text. Arena. */
enum rc http_proxy_read(struct arena *a, struct str text, struct http_proxy *out,
                        struct err *err) NODISCARD;

/* May it be contacted, as far as that is known without a resolver? Of a name nothing is known. */
bool http_proxy_is_open(const struct http_proxy *proxy, const struct guard *guard);

/* "socks5h" */
const char *http_proxy_scheme(enum http_proxy_kind kind);
