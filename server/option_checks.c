/* server/option_checks.c - checks of single options, and of options that depend on each other. */
#include "server/option_checks.h"

#include <stddef.h>
#include <string.h>

#include "base/ascii.h"
#include "base/log.h"
#include "model/access.h"
#include "net/guard.h"
#include "net/hostport.h"
#include "net/url.h"

#define NODE_NAME_MAX 100 /* bytes */

/* Is it an address to listen on? */
static enum rc check_listen(struct str listen, struct err *err)
{
    struct hostport hp;

    if (hostport_parse_listen(listen, &hp) && hp.port >= 0)
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not an address to listen on; write HOST:PORT or "
                   "[IPV6]:PORT, as in 127.0.0.1:8080 or [::1]:8080",
                   STR_ARG(listen));
}

bool options_is_exposed(struct str listen)
{
    struct hostport hp;

    return hostport_parse_listen(listen, &hp) && !hostport_is_loopback(&hp);
}

enum rc options_check_exposed(const struct options *o, struct str listen, bool has_tokens,
                              struct err *err)
{
    if (!options_is_exposed(listen) || has_tokens || o->token.len > 0 || o->anonymous.len > 0)
        return RC_OK;
    err_set(err, RC_INPUT,
                   "%.*s can be reached from other machines; make a token (feedmill "
                   "token add --db ...), set --token (or FEEDMILL_TOKEN), say what may be done "
                   "without one (--anonymous), or listen on 127.0.0.1",
                   STR_ARG(listen));
    return options_blame(o, "listen", o->listen, err);
}

/* Is it a role that callers without a token may have? */
static enum rc check_anonymous(struct str role, struct err *err)
{
    enum access_role read;

    if (role.len == 0 || (role_read(role, &read) && read != ROLE_ADMIN))
        return RC_OK;
    return err_set(err, RC_INPUT, "\"%.*s\" is not none, read or subscribe",
                   STR_ARG(role));
}

static bool has_one_of(struct str s, const char *marks)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(marks, s.ptr[i]) != NULL)
            return true;
    return false;
}

/* Is it an http(s) URL to which the paths of links can be added? */
static enum rc check_base_url(struct str url, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    bool is_web = str_istarts(url, STR("http://")) || str_istarts(url, STR("https://"));
    struct url_parts parts;

    if (str_is_null(url))
        return RC_OK;
    if (is_web && !has_one_of(url, "?#\\ \t\r\n") && url_parse(&a, url, &parts, NULL) == RC_OK &&
        str_is_null(parts.credential))
        return RC_OK;
    url = url_public(&a, url);
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not a public address of this server; write "
                   "http:// or https:// and a host, without user, query and fragment, as in "
                   "https://feeds.example.org",
                   STR_ARG(url));
}

/* The origin (RFC 6454) that `typed` means, as browsers write it: "scheme://host[:port]" in lower
 * case, without the default port of the scheme. Null: it is not an origin. */
static struct str origin_of(struct arena *a, struct str typed)
{
    ssize_t at = str_find(typed, STR("://"));
    size_t start = (size_t)at + 3; /* of host and port */
    struct url_parts parts;
    struct hostport hp;

    if (at <= 0 || has_one_of(typed, "*?#\\ \t\r\n") ||
        has_one_of(str_slice(typed, 0, (size_t)at), ":/"))
        return STR_NULL;
    if (url_parse(a, typed, &parts, NULL) == RC_OK) {
        start = parts.scheme.len + 3;
        at = str_chr(str_slice(parts.url, start, parts.url.len), '/');
        return start + (size_t)at + 1 == parts.url.len && str_is_null(parts.credential)
                   ? str_slice(parts.url, 0, start + (size_t)at)
                   : STR_NULL;
    }
    return hostport_parse(str_slice(typed, start, typed.len), &hp) ? str_lower(a, typed) : STR_NULL;
}

/* Is it an origin as browsers write it? It is compared with the Origin field byte by byte. */
static enum rc check_cors_origin(struct str typed, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str origin = origin_of(&a, typed);

    if (str_is_null(typed) || str_eqz(typed, "*") ||
        (!str_is_null(origin) && str_eq(typed, origin)))
        return RC_OK;
    if (!str_is_null(origin))
        return err_set(err, RC_INPUT,
                       "\"%.*s\" is not what browsers send; write %.*s",
                       STR_ARG(typed), STR_ARG(origin));
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not an origin; write one, as in "
                   "https://app.example or http://localhost:3000, or * for any",
                   STR_ARG(typed));
}

static enum rc check_server_url(struct str url, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts parts;

    return url_parse(&a, url, &parts, err) == RC_OK ? RC_OK : RC_INPUT;
}

/* Is it the address of a page, or of a mailbox, that can stand in the comment of a User-Agent field
 * (RFC 9110 section 5.6.5)? */
static enum rc check_contact_url(struct str url, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    bool is_web = str_istarts(url, STR("http://")) || str_istarts(url, STR("https://"));
    bool is_mail = str_istarts(url, STR("mailto:")) && str_chr(url, '@') > (ssize_t)strlen("mailto:");
    struct url_parts parts;

    if (!has_one_of(url, "()\\ \t\r\n") &&
        (is_mail || (is_web && url_parse(&a, url, &parts, NULL) == RC_OK && str_is_null(parts.credential))))
        return RC_OK;
    url = url_public(&a, url);
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not the address of a page; write it with http:// or https://, or a mailbox "
                   "with mailto:, as in https://feeds.example.org/bot",
                   STR_ARG(url));
}

/* A word of a media type (RFC 6838 section 4.2). */
static bool is_type_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!ascii_is_alnum(s.ptr[i]) && strchr("!#$&-^_.+", s.ptr[i]) == NULL)
            return false;
    return s.len > 0;
}

/* "image/png", "image" "/" "*", or "*" "/" "*". */
static bool is_type_range(struct str s)
{
    struct str type = str_split(&s, '/');

    return str_eqz(s, "*") ? str_eqz(type, "*") || is_type_name(type) : is_type_name(type) && is_type_name(s);
}

static enum rc check_mirror_types(struct str list, struct err *err)
{
    struct str rest = list, item;

    do {
        item = str_trim(str_split(&rest, ','));
        if (!is_type_range(item))
            return err_set(err, RC_INPUT,
                           "\"%.*s\" is not a media type; write %.*s/*, or */* for all, with commas between "
                           "several",
                           STR_ARG(item), STR_ARG(is_type_name(item) ? item : STR("audio")));
    } while (!str_is_null(rest));
    return RC_OK;
}

/* A name of labels with dots between them (RFC 952, RFC 1123 section 2.1), or an address. Beside
 * letters that are not ASCII it may have "_", which names of machines have in practice. */
static bool is_domain(struct str name)
{
    struct hostport hp;

    if (!hostport_parse(name, &hp) || hp.port >= 0)
        return false;
    if (hp.kind != HOST_NAME)
        return true;
    while (!str_is_null(name)) {
        struct str label = str_split(&name, '.');

        if (label.len == 0 || label.len > 63 || label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
            return false;
    }
    return true;
}

/* Is it a bare JID (RFC 7622), or a domain? */
static enum rc check_xmpp_allow(struct str who, struct err *err)
{
    struct str domain = who, local = str_chr(who, '@') >= 0 ? str_split(&domain, '@') : STR_NULL;

    if ((str_is_null(local) || (local.len > 0 && !has_one_of(local, "\"&'/:<> \t"))) && is_domain(domain))
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not an XMPP address; write one without resource, as in alice@example.org, or a "
                   "domain, as in example.org",
                   STR_ARG(who));
}

/* A name that people type, and that stands in a line of a table. */
static enum rc check_node(struct str name, struct err *err)
{
    size_t i = 0;

    while (i < name.len && (ascii_is_alnum(name.ptr[i]) || strchr("._:-", name.ptr[i]) != NULL))
        i++;
    if (i == name.len && name.len <= NODE_NAME_MAX)
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not a name of a node; it has at most %d letters, digits and any of . _ : -, as in "
                   "mill-1",
                   STR_ARG(name), NODE_NAME_MAX);
}

static enum rc check_range(struct str range, struct err *err)
{
    struct guard *guard = NULL;
    enum rc rc = guard_new(&range, 1, &guard, err);

    guard_free(&guard);
    return rc;
}

static enum rc check_allow_host(struct str name, struct err *err)
{
    if (str_chr(name, '/') < 0 && str_chr(name, ':') < 0)
        return RC_OK;
    return err_set(err, RC_INPUT, "\"%.*s\" is not a host name; give it without scheme and port",
                   STR_ARG(name));
}

static enum rc check_log_level(struct str name, struct err *err)
{
    for (int i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++)
        if (str_eqz(name, log_level_name((enum log_level)i)))
            return RC_OK;
    return err_set(err, RC_INPUT, "\"%.*s\" is not error, warn, info or debug", STR_ARG(name));
}

static enum rc check_log_format(struct str name, struct err *err)
{
    if (str_eqz(name, "text") || str_eqz(name, "json"))
        return RC_OK;
    return err_set(err, RC_INPUT, "\"%.*s\" is not text or json", STR_ARG(name));
}

static enum rc check_xmpp_server(struct str server, struct err *err)
{
    struct hostport hp;

    if (server.len == 0 || (hostport_parse(server, &hp) && hp.port > 0))
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not the address of a server; write HOST:PORT, as in 127.0.0.1:5347",
                   STR_ARG(server));
}

static enum rc check_xmpp_component(struct str name, struct err *err)
{
    struct hostport hp;

    if (name.len == 0 || (hostport_parse(name, &hp) && hp.port < 0 && hp.kind == HOST_NAME))
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "\"%.*s\" is not an address of a component; write a host name, as in "
                   "feeds.example.org",
                   STR_ARG(name));
}

/* A check of a text, or of each item of a list. What it says gets the option in front. */
#define TEXT(name, shown, fn)                                                                      \
    {                                                                                              \
        shown, offsetof(struct options, name), false, fn                                           \
    }
#define LIST(name, shown, fn)                                                                      \
    {                                                                                              \
        shown, offsetof(struct options, name), true, fn                                            \
    }
static const struct {
    const char *name;
    size_t offset;
    bool is_list;
    enum rc (*check)(struct str value, struct err *err);
} checks[] = {
    TEXT(log_format, "log-format", check_log_format),
    TEXT(log_level, "log-level", check_log_level),
    LIST(announce, "announce", check_server_url),
    LIST(ping_server, "ping-server", check_server_url),
    TEXT(contact_url, "contact-url", check_contact_url),
    TEXT(mirror_types, "mirror-types", check_mirror_types),
    LIST(xmpp_allow, "xmpp-allow", check_xmpp_allow),
    TEXT(node, "node", check_node),
    LIST(allow_host, "allow-host", check_allow_host),
    TEXT(xmpp_server, "xmpp-server", check_xmpp_server),
    TEXT(xmpp_component, "xmpp-component", check_xmpp_component),
    TEXT(base_url, "base-url", check_base_url),
    TEXT(cors_origin, "cors-origin", check_cors_origin),
    TEXT(anonymous, "anonymous", check_anonymous),
    TEXT(listen, "listen", check_listen),
    LIST(allow_fetch, "allow-fetch", check_range),
    LIST(allow_callback, "allow-callback", check_range),
};

/* All three options of XMPP, or none? */
static enum rc check_xmpp(const struct options *o, struct err *err)
{
    if (o->xmpp_server.len == 0 && o->xmpp_component.len == 0 && o->xmpp_secret.len == 0)
        return RC_OK;
    if (o->xmpp_server.len > 0 && o->xmpp_component.len > 0 && o->xmpp_secret.len > 0)
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "options xmpp-server, xmpp-component and xmpp-secret go together: give all three, "
                   "or none");
}

bool options_xmpp_server(const struct options *o, struct hostport *out)
{
    return hostport_parse(o->xmpp_server, out) && out->port > 0;
}

enum rc options_check(const struct options *o, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        const void *at = (const char *)o + checks[i].offset;
        const struct option_list *list = at;
        const struct str *values = checks[i].is_list ? list->items : at;
        size_t n = checks[i].is_list ? list->n : 1;

        for (size_t k = 0; k < n; k++)
            if (checks[i].check(values[k], err) != RC_OK)
                return options_blame(o, checks[i].name, values[k], err);
    }
    return check_xmpp(o, err);
}
