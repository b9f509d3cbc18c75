/* api/http/token_terms.c - see token_terms.h. */
#include "api/http/token_terms.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "feed/text/date.h"

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 127)
            return false;
    return name.len > 0 && name.len <= TOKEN_NAME_MAX && str_utf8_valid(name) == name.len;
}

static bool read_rate(struct str rate, int64_t *out)
{
    *out = 0;
    return str_is_null(rate) || (str_to_i64(rate, out) && *out >= 1 && *out <= TOKEN_RATE_MAX);
}

/* Only RFC 3339, of all that a date of a feed may be: a year of four digits and a hyphen. */
static bool read_expires(struct str expires, int64_t *out)
{
    *out = TIME_UNKNOWN;
    if (str_is_null(expires))
        return true;
    for (size_t i = 0; i < 4; i++)
        if (expires.len <= 10 || expires.ptr[i] < '0' || expires.ptr[i] > '9')
            return false;
    return expires.ptr[4] == '-' && date_parse(expires, out);
}

enum rc token_terms_read(struct str name, struct str role, struct str rate, struct str expires,
                         struct token *out, const char **wrong, struct err *err)
{
    *out = (struct token){.name = name, .created_at = clock_now_s(), .used_at = TIME_UNKNOWN};
    *wrong = "name";
    if (!is_name(name))
        return err_set(err, RC_INPUT,
                       "The name of a token must have 1 to %d bytes, and no control characters.",
                       TOKEN_NAME_MAX);
    *wrong = "role";
    if (!role_read(role, &out->role) || out->role == ROLE_NONE)
        return err_set(err, RC_INPUT, "The role of a token must be one of read, subscribe, admin.");
    *wrong = "rate";
    if (!read_rate(rate, &out->rate))
        return err_set(err, RC_INPUT,
                       "The rate of a token must be a whole number of requests a minute, 1 to %d.",
                       TOKEN_RATE_MAX);
    *wrong = "expires";
    if (!read_expires(expires, &out->expires_at))
        return err_set(err, RC_INPUT,
                       "The time at which a token expires must be RFC 3339, as in "
                       "2030-01-31T12:00:00Z.");
    if (out->expires_at != TIME_UNKNOWN && out->expires_at <= out->created_at)
        return err_set(err, RC_INPUT,
                       "The time at which a token expires is over (%.*s), so it would never be accepted.",
                       STR_ARG(expires));
    *wrong = NULL;
    return RC_OK;
}

struct str token_make(struct arena *a, struct token *t)
{
    unsigned char random[TOKEN_BYTES], digest[DIGEST_SHA256_LEN];
    char *hex = arena_alloc(a, 2 * sizeof digest + 1);
    struct str text, token;
    char *out;

    digest_random(random, sizeof random);
    text = base64_write(a, str_of((const char *)random, sizeof random));
    while (str_ends(text, STR("=")))
        text.len--;
    token = str_concat(a, STR(TOKEN_PREFIX), text);
    out = (char *)(uintptr_t)token.ptr; /* ours, in the arena */
    for (size_t i = 0; i < token.len; i++)
        out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
    digest_sha256(token, digest);
    digest_hex(digest, sizeof digest, hex);
    t->digest = str_of(hex, 2 * sizeof digest);
    return token;
}
