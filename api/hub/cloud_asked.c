/* api/hub/cloud_asked.c - see cloud_asked.h. */
#include "api/hub/cloud_asked.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "net/hostport.h"
#include "net/url.h"
#include "net/xmlrpc.h"

#define TEXT_MAX 1024 /* bytes of a path or domain */
#define PORT_HTTPS 443

static bool fail(struct str *why, struct str text)
{
    *why = text;
    return false;
}

bool cloud_asked_add(struct arena *a, struct cloud_asked *asked, struct str url)
{
    url = str_trim(url);
    if (asked->urls == NULL)
        asked->urls = ARENA_ARRAY(a, struct str, CLOUD_URLS_MAX);
    for (size_t i = 0; i < asked->n_urls; i++)
        if (str_eq(asked->urls[i], url))
            return true;
    if (asked->n_urls == CLOUD_URLS_MAX)
        return false;
    asked->urls[asked->n_urls++] = url;
    return true;
}

static bool is_missing(struct str s)
{
    return str_trim(s).len == 0;
}

static bool read_protocol(const struct cloud_asked *asked, struct hub_intent *out, struct str *why)
{
    struct str name = str_trim(asked->protocol);

    if (is_missing(name))
        return fail(why, STR("protocol is missing: http-post or xml-rpc."));
    if (str_eqz(name, "http-post"))
        out->protocol = CLOUD_HTTP_POST;
    else if (str_eqz(name, "xml-rpc"))
        out->protocol = CLOUD_XML_RPC;
    else if (str_eqz(name, "soap"))
        return fail(why, STR("The protocol soap is not offered here; use http-post or xml-rpc."));
    else
        return fail(why, STR("The protocol is unknown; use http-post or xml-rpc."));
    return true;
}

static bool read_procedure(const struct cloud_asked *asked, struct hub_intent *out, struct str *why)
{
    out->procedure = STR_NULL;
    if (out->protocol != CLOUD_XML_RPC)
        return true; /* it is given, often empty, and means nothing */
    out->procedure = str_trim(asked->procedure);
    return rpc_is_name(out->procedure) ||
           fail(why, STR("notifyProcedure must name the procedure that is called: letters, digits "
                         "and the characters _ . : /"));
}

static bool read_port(const struct cloud_asked *asked, int64_t *port, struct str *why)
{
    struct str text = str_trim(asked->port);

    if (is_missing(text))
        return fail(why, STR("port is missing: the TCP port of your handler, from 1 to 65535."));
    if (text.len > 5 || !str_to_i64(text, port) || *port < 1 || *port > 65535)
        return fail(why, STR("port must be a number from 1 to 65535."));
    return true;
}

/* A path that begins with '/' cannot change the host before it. */
static bool read_path(const struct cloud_asked *asked, struct str *path, struct str *why)
{
    *path = str_trim(asked->path);
    if (is_missing(*path))
        return fail(why, STR("path is missing: the path of your handler, such as /notify."));
    if (path->ptr[0] != '/' || path->len > TEXT_MAX)
        return fail(why, STR("path must begin with a slash, and be at most 1024 bytes long."));
    for (size_t i = 0; i < path->len; i++)
        if (path->ptr[i] <= ' ' || path->ptr[i] > '~' || strchr("#<>\"\\", path->ptr[i]) != NULL)
            return fail(why, STR("path must be percent-encoded, without a fragment."));
    return true;
}

/* The host of the caller, as it is written in a URL. */
static struct str host_of(struct arena *a, const struct sockaddr *caller)
{
    char text[INET6_ADDRSTRLEN] = "";

    if (caller != NULL && caller->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)caller)->sin_addr, text, sizeof text);
        return str_dup(a, str_from(text));
    }
    if (caller != NULL && caller->sa_family == AF_INET6) {
        const struct in6_addr *addr = &((const struct sockaddr_in6 *)caller)->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(addr)) {
            inet_ntop(AF_INET, addr->s6_addr + 12, text, sizeof text);
            return str_dup(a, str_from(text));
        }
        inet_ntop(AF_INET6, addr, text, sizeof text);
        return str_printf(a, "[%s]", text);
    }
    return STR_NULL;
}

/* A domain is a host alone: it cannot bring a port, a path, or a user. */
static bool read_host(struct arena *a, const struct cloud_asked *asked,
                      const struct sockaddr *caller, struct str *host, struct str *why)
{
    struct str domain = str_trim(asked->domain);
    struct hostport hp;

    if (is_missing(domain)) {
        *host = host_of(a, caller);
        return !str_is_null(*host) ||
               fail(why, STR("domain is missing, and your address is not known."));
    }
    if (str_chr(domain, ':') >= 0 && domain.ptr[0] != '[')
        domain = str_printf(a, "[%.*s]", STR_ARG(domain)); /* an IPv6 address without brackets */
    if (domain.len > TEXT_MAX || !hostport_parse(domain, &hp) || hp.port >= 0 || hp.host.len == 0)
        return fail(why, STR("domain must be a host name or an address alone, without scheme, port "
                             "and path."));
    *host = hp.written;
    return true;
}

bool cloud_asked_read(struct arena *a, const struct cloud_asked *asked,
                      const struct sockaddr *caller, struct hub_intent *out, struct str *why)
{
    struct str path, host;
    struct url_parts parts;
    int64_t port;

    if (!read_protocol(asked, out, why) || !read_procedure(asked, out, why) ||
        !read_port(asked, &port, why) || !read_path(asked, &path, why) ||
        !read_host(a, asked, caller, &host, why))
        return false;
    if (asked->n_urls == 0)
        return fail(why, STR("url1 is missing: the URL of the feed; more of them are url2, url3 "
                             "and so on."));
    out->at_caller = is_missing(asked->domain);
    /* by convention, a handler at the port of https speaks https */
    if (url_parse(a,
                  str_printf(a, "%s://%.*s:%d%.*s", port == PORT_HTTPS ? "https" : "http",
                             STR_ARG(host), (int)port, STR_ARG(path)),
                  &parts, NULL) != RC_OK ||
        !str_is_null(parts.credential) || parts.port != (int)port)
        return fail(why, STR("domain, port and path do not make a URL."));
    out->callback = parts.url;
    out->credential = STR_NULL;
    return true;
}
