/* api/negotiate.c - a table of offers; the first one wins where a client likes several equally. */
#include "api/negotiate.h"

#include "base/compiler.h"
#include "net/http_fields.h"

static const struct {
    const char *media_type;
    enum feed_format format;
} offers[] = {
    {"application/atom+xml; charset=utf-8", FORMAT_ATOM},
    {"application/rss+xml; charset=utf-8", FORMAT_RSS},
    {"application/json; charset=utf-8", FORMAT_JSON},
    {"application/feed+json; charset=utf-8", FORMAT_JSONFEED},
    /* who asks for XML in general can read Atom */
    {"application/xml; charset=utf-8", FORMAT_ATOM},
    {"text/xml; charset=utf-8", FORMAT_ATOM},
};

const char negotiate_offers[] =
    "application/atom+xml|application/rss+xml|application/json|application/feed+json";

bool negotiate_format(struct str accept, enum feed_format *out)
{
    int best = 0;

    for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
        int q = http_accept_q(accept, str_from(offers[i].media_type));

        if (q > best) {
            best = q;
            *out = offers[i].format;
        }
    }
    return best > 0;
}

bool negotiate_gzip(struct str accept_encoding)
{
    int gzip = http_accept_encoding_q(accept_encoding, STR("gzip"));

    /* a weight below 1 is a wish against others that are named */
    return gzip > 0 && (str_ifind(accept_encoding, STR("identity")) < 0 ||
                        gzip >= http_accept_encoding_q(accept_encoding, STR("identity")));
}
