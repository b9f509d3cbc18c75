/* api/lists/sub_endpoint.c - see sub_endpoint.h. */
#include "api/lists/sub_endpoint.h"

#include "model/sinks.h"
#include "net/amqp_url.h"
#include "net/jid.h"
#include "net/url.h"

typedef enum rc read_fn(struct arena *a, struct str raw, struct url_parts *out, struct err *err);

static const struct {
    const char *schemes;
    read_fn *read;
} carriers[] = {
#define CARRIER(id, schemes, read) {schemes, read},
#include "model/carriers.def"
#undef CARRIER
};

struct str sub_endpoint_scheme(struct str endpoint)
{
    return str_is_null(endpoint) ? STR_NULL : str_split(&endpoint, ':');
}

/* What reads URLs with this scheme; NULL: no carrier has it. */
static read_fn *reader_of(struct str scheme)
{
    for (size_t i = 0; i < ARRAY_LEN(carriers); i++)
        for (struct str rest = str_from(carriers[i].schemes); !str_is_null(rest);)
            if (str_eq(str_split(&rest, ' '), scheme))
                return carriers[i].read;
    return NULL;
}

/* What a problem may repeat of an endpoint that could not be read: nothing, if it may have a
 * password, as "amqp://user:password" has, which lacks its host. */
static struct str repeatable(struct arena *a, struct str raw)
{
    static const struct str slashes = {"://", 3};
    struct str text = url_decode(a, raw, false);
    ssize_t at = str_find(text, slashes);

    if (at >= 0)
        text = str_concat(a, str_slice(text, 0, (size_t)at),
                          str_slice(text, (size_t)at + slashes.len, text.len));
    return str_chr(text, '@') >= 0 || str_chr(text, ':') >= 0 ? STR_NULL : raw;
}

bool sub_endpoint_read(const struct params *ps, struct arena *a, const struct api_cfg *cfg,
                       struct wanted_url *out, struct problem *p)
{
    struct url_parts parts;
    struct err err = ERR_INIT;
    struct str raw, scheme;

    *out = (struct wanted_url){.url = STR_NULL, .credential = STR_NULL, .shown = STR_NULL};
    if (!params_one(ps, a, PARAM_endpoint, &raw, p))
        return false;
    if (str_is_null(raw))
        return true;
    raw = str_trim(raw);
    scheme = str_lower(a, sub_endpoint_scheme(raw));
    if (str_is_null(sinks_default(scheme)))
        return problem_parameter(p, a, "endpoint", repeatable(a, raw), NULL,
                                 "The parameter `endpoint` must be an absolute URL that begins "
                                 "with one of these (the sinks are in parentheses): %s.",
                                 sinks_by_scheme(a));
    if (str_eqz(scheme, "xmpp") && cfg->component == NULL)
        return problem_parameter(p, a, "endpoint", raw, NULL,
                                 "The parameter `endpoint` names an address of XMPP, but this "
                                 "daemon is not connected to an XMPP server (--xmpp-server).");
    if (reader_of(scheme)(a, raw, &parts, &err) != RC_OK)
        return problem_parameter(p, a, "endpoint", repeatable(a, raw), NULL,
                                 "The parameter `endpoint` cannot be used: %s.", err.text);
    *out = (struct wanted_url){.url = parts.url,
                               .credential = parts.credential,
                               .shown = str_is_null(parts.credential) ? raw : url_public(a, raw)};
    if (str_utf8_valid(raw) != raw.len) /* it cannot be written into a document */
        out->shown = parts.url;
    return true;
}

bool sub_endpoint_fits(struct arena *a, struct str endpoint, struct str sink, struct problem *p)
{
    if (sinks_has_scheme(sink, sub_endpoint_scheme(endpoint)))
        return true;
    return problem_parameter(p, a, "endpoint", endpoint, NULL,
                             "The parameter `endpoint` does not go with the sink %.*s, whose "
                             "endpoints begin with %s. These go together: %s.",
                             STR_ARG(sink), sinks_schemes(a, sink), sinks_by_scheme(a));
}
