/* fetcher/upstream_cloud.c - see upstream_cloud.h. */
#include "fetcher/upstream_cloud.h"

#include "base/assert.h"
#include "base/mem.h"
#include "feed/text/html.h"
#include "model/media_types.h"
#include "net/hostport.h"
#include "net/url.h"
#include "net/xmlrpc.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443
#define TEXT_MAX 1024                          /* bytes of a domain or path */
#define REGISTERS STR("rssCloud.pleaseNotify") /* when the cloud names no procedure */
#define NOTIFIES STR("rssCloud.notify")        /* what we call ours; the path says whose it is */

static bool fail(struct str *why, struct str text)
{
    *why = text;
    return false;
}

/* ---- the element ----------------------------------------------------------------------------- */

static bool read_protocol(const struct value *cloud, struct upstream_hub *out, struct str *why)
{
    struct str name = str_trim(value_get_textz(cloud, "protocol"));

    if (str_ieqz(name, "http-post"))
        out->protocol = CLOUD_HTTP_POST;
    else if (str_ieqz(name, "xml-rpc"))
        out->protocol = CLOUD_XML_RPC;
    else
        return fail(why, str_ieqz(name, "soap") ? STR("soap is not spoken here")
                                                : STR("its protocol is unknown"));
    return true;
}

static bool read_procedure(struct arena *a, const struct value *cloud, struct upstream_hub *out,
                           struct str *why)
{
    /* the parser has made the names of attributes lower case */
    struct str name = str_trim(value_get_textz(cloud, "registerprocedure"));

    out->procedure = STR_NULL;
    if (out->protocol != CLOUD_XML_RPC)
        return true; /* it is given, often empty, and means nothing */
    out->procedure = name.len == 0 ? REGISTERS : str_dup(a, name);
    return rpc_is_name(out->procedure) || fail(why, STR("registerProcedure is not a name"));
}

/* A domain is a host alone, and a path begins with a slash: neither can bring another host. */
static bool read_url(struct arena *a, const struct value *cloud, struct upstream_hub *out,
                     struct str *why)
{
    struct str domain = str_trim(value_get_textz(cloud, "domain"));
    struct str path = str_trim(value_get_textz(cloud, "path"));
    struct str port_text = str_trim(value_get_textz(cloud, "port"));
    int64_t port = PORT_HTTP;
    struct url_parts parts;
    struct hostport hp;

    if (domain.len == 0 || domain.len > TEXT_MAX || !hostport_parse(domain, &hp) || hp.port >= 0)
        return fail(why, STR("its domain is not a host"));
    if (port_text.len > 0 && (!str_to_i64(port_text, &port) || port < 1 || port > 65535))
        return fail(why, STR("its port is not a port"));
    if (path.len > TEXT_MAX ||
        url_parse(a,
                  str_printf(a, "%s://%.*s:%d%s%.*s", port == PORT_HTTPS ? "https" : "http",
                             STR_ARG(hp.written), (int)port, str_starts(path, STR("/")) ? "" : "/",
                             STR_ARG(path)),
                  &parts, NULL) != RC_OK)
        return fail(why, STR("domain, port and path do not make a URL"));
    out->url = parts.url;
    return true;
}

bool upstream_cloud_read(struct arena *a, const struct value *cloud, struct upstream_hub *out,
                         struct str *why)
{
    if (cloud == NULL || cloud->kind != VAL_DICT)
        return fail(why, STR("it has no attributes"));
    return read_protocol(cloud, out, why) && read_procedure(a, cloud, out, why) &&
           read_url(a, cloud, out, why);
}

/* ---- the registration ------------------------------------------------------------------------ */

bool upstream_cloud_can_call(struct str base_url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts parts;

    return url_parse(&a, base_url, &parts, NULL) == RC_OK &&
           str_eqz(parts.scheme, "https") == (parts.port == PORT_HTTPS);
}

static void write_call(struct arena *a, struct buf *body, struct str procedure,
                       const struct url_parts *callback, struct str path, struct str topic)
{
    struct value *urls = value_list(a);
    const struct value *params[] = {value_text(a, NOTIFIES),
                                    value_int(a, callback->port),
                                    value_text(a, path),
                                    value_text(a, STR("xml-rpc")),
                                    urls,
                                    value_text(a, callback->host)};
    enum rc rc;

    value_push(a, urls, value_text(a, topic));
    rc = rpc_write_call(body, procedure, params, ARRAY_LEN(params), NULL);
    ASSERT(rc == RC_OK); /* the body has no bound, and the name was checked */
}

struct str upstream_cloud_write(struct buf *body, const struct upstream_hub *cloud,
                                struct str callback, struct str topic)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts parts;
    struct str path;
    enum rc rc = url_parse(&a, callback, &parts, NULL);

    ASSERT(rc == RC_OK);
    path = str_slice(parts.url, parts.scheme.len + strlen("://"), parts.url.len);
    path = str_slice(path, (size_t)str_chr(path, '/'), path.len);
    if (cloud->protocol == CLOUD_XML_RPC) {
        write_call(&a, body, cloud->procedure, &parts, path, topic);
        return STR(MEDIA_XML);
    }
    buf_printf(body, "notifyProcedure=&port=%d&path=%.*s&protocol=http-post&url1=%.*s&domain=%.*s",
               parts.port, STR_ARG(url_encode(&a, path)), STR_ARG(url_encode(&a, topic)),
               STR_ARG(url_encode(&a, parts.host)));
    return STR(MEDIA_URLENCODED);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* <notifyResult success="true" msg="..."/>. Only the attributes count: names of the element differ.
 * It is read tag by tag, so that no entity is expanded. */
static bool read_result(struct arena *a, struct str body, struct str *why)
{
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct html_token t;

    html_lexer_init(lx, a, str_dup(a, body));
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        struct str success = t.kind == HTML_START_TAG ? html_attr_get(&t, "success") : STR_NULL;

        if (str_is_null(success))
            continue;
        if (str_ieqz(str_trim(success), "true"))
            return true;
        return fail(why, str_trim(html_decode(a, html_attr_get(&t, "msg"))));
    }
    return fail(why, STR(""));
}

static bool read_value(struct arena *a, struct str body, struct str *why)
{
    struct value *result;
    struct str text;
    int code;

    switch (rpc_read_answer(a, body, &result, &code, &text)) {
    case RPC_RESULT:
        return (result->kind == VAL_BOOL && result->b) ||
               fail(why, STR("it did not return the boolean true"));
    case RPC_FAULT:
        return fail(why, str_trim(text));
    case RPC_GARBAGE:
        break;
    }
    return fail(why, STR(""));
}

bool upstream_cloud_accepted(struct arena *a, enum hub_protocol protocol, struct str body,
                             struct str *why)
{
    return protocol == CLOUD_XML_RPC ? read_value(a, body, why) : read_result(a, body, why);
}
