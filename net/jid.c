/* net/jid.c - see jid.h. */
#include "net/jid.h"

#define SCHEME "xmpp:"

struct str jid_bare(struct str jid)
{
    ssize_t slash = str_chr(jid, '/');

    return slash < 0 ? jid : str_slice(jid, 0, (size_t)slash);
}

bool jid_same_bare(struct str a, struct str b)
{
    return str_ieq(jid_bare(a), jid_bare(b));
}

struct parts {
    struct str user, host, resource; /* null: absent */
};

/* The first slash begins the resource, which may have any other characters. */
static struct parts split(struct str jid)
{
    struct str bare = jid_bare(jid);
    ssize_t at = str_chr(bare, '@');
    struct parts p = {.user = STR_NULL, .resource = STR_NULL};

    p.host = str_slice(bare, (size_t)(at + 1), bare.len);
    if (at >= 0)
        p.user = str_slice(bare, 0, (size_t)at);
    if (bare.len < jid.len)
        p.resource = str_slice(jid, bare.len + 1, jid.len);
    return p;
}

static bool has_any(struct str s, const char *marks)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f || strchr(marks, s.ptr[i]) != NULL)
            return true;
    return false;
}

static bool is_valid(const struct parts *p, size_t len)
{
    return len <= JID_MAX && p->host.len > 0 && !has_any(p->host, " \"&'/:<>@?#%\\") &&
           (str_is_null(p->user) || (p->user.len > 0 && !has_any(p->user, " \"&'/:<>@"))) &&
           (str_is_null(p->resource) || (p->resource.len > 0 && !has_any(p->resource, "")));
}

static struct str write_url(struct arena *a, const struct parts *p)
{
    struct str user = str_is_null(p->user)
                          ? STR("")
                          : str_concat(a, url_encode(a, str_lower(a, p->user)), STR("@"));
    struct str resource =
        str_is_null(p->resource) ? STR("") : str_concat(a, STR("/"), url_encode(a, p->resource));

    return str_printf(a, SCHEME "%.*s%.*s%.*s", STR_ARG(user),
                      STR_ARG(url_encode(a, str_lower(a, p->host))), STR_ARG(resource));
}

enum rc jid_url_parse(struct arena *a, struct str raw, struct url_parts *out, struct err *err)
{
    struct str text = str_trim(raw), rest, jid;
    struct parts p;

    rest = str_slice(text, strlen(SCHEME), text.len);
    if (!str_istarts(text, STR(SCHEME)) || str_starts(rest, STR("//")) ||
        has_any(rest, "?# \"<>\\^`{|}"))
        return err_set(err, RC_INPUT,
                       "it is not a URL like xmpp:user@host or xmpp:user@host/resource");
    p = split(rest);
    p.user = str_is_null(p.user) ? p.user : url_decode(a, p.user, false);
    p.host = url_decode(a, p.host, false);
    p.resource = str_is_null(p.resource) ? p.resource : url_decode(a, p.resource, false);
    jid = url_decode(a, rest, false);
    if (!is_valid(&p, jid.len) || str_utf8_valid(jid) != jid.len)
        return err_set(err, RC_INPUT,
                       "it does not name an address of XMPP, as xmpp:user@host does");
    *out = (struct url_parts){.url = write_url(a, &p),
                              .credential = STR_NULL,
                              .scheme = STR("xmpp"),
                              .host = str_lower(a, p.host)};
    return RC_OK;
}

struct str jid_to_url(struct arena *a, struct str jid)
{
    struct parts p = split(jid);

    return write_url(a, &p);
}

struct str jid_of_url(struct arena *a, struct str url)
{
    return url_decode(a, str_slice(url, strlen(SCHEME), url.len), false);
}
