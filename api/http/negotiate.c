/* api/http/negotiate.c - compares formats by the q values of http_accept_q(). */
#include "api/http/negotiate.h"

#include <stdio.h>

#include "base/compiler.h"
#include "model/media_types.h"
#include "net/http_fields.h"

/* The q of a media type, also with "charset=utf-8", because all our documents are UTF-8. */
static int q_of_type(struct str accept, struct str bare)
{
    char type[128];

    snprintf(type, sizeof type, "%.*s" MEDIA_UTF8, STR_ARG(bare));
    return http_accept_q(accept, str_from(type));
}

static int q_of_others(struct str accept, enum feed_format format)
{
    struct str rest = str_from(format_accepts(format));
    int best = 0;

    while (!str_is_null(rest)) {
        struct str type = str_split(&rest, '|');
        int q = type.len == 0 ? 0 : http_accept_q(accept, type);

        best = q > best ? q : best;
    }
    return best;
}

int negotiate_q(struct str accept, enum feed_format format)
{
    int own = q_of_type(accept, format_bare_type(format)), others = q_of_others(accept, format);

    return own > others ? own : others;
}

bool negotiate_format(struct str accept, enum format_trait use, enum feed_format *out)
{
    int best = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < FORMAT_COUNT_; i++) {
            enum feed_format format = (enum feed_format)i;
            int q = 0;

            if (format_has(format, use))
                q = pass == 0 ? q_of_type(accept, format_bare_type(format))
                              : q_of_others(accept, format);
            if (q > best) {
                best = q;
                *out = format;
            }
        }
    return best > 0;
}

const char *negotiate_offers(struct arena *a, enum format_trait use)
{
    char *types = arena_alloc(a, FORMAT_NAMES_MAX);

    format_bare_types(use, types, FORMAT_NAMES_MAX);
    return types;
}

bool negotiate_gzip(struct str accept_encoding)
{
    int gzip = http_accept_encoding_q(accept_encoding, STR("gzip"));

    /* gzip with a weight below 1 is compared with identity, if the field names identity */
    return gzip > 0 && (str_ifind(accept_encoding, STR("identity")) < 0 ||
                        gzip >= http_accept_encoding_q(accept_encoding, STR("identity")));
}
