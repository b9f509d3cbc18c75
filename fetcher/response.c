/* fetcher/response.c - see response.h. */
#include "fetcher/response.h"

#include <inttypes.h>

#include "base/clock.h"
#include "feed/read/parse.h"
#include "net/http_fields.h"

/* All Cache-Control fields are one list (RFC 9110 5.3): many servers send one for each directive that is set up. */
static struct cache_control cache_control_of(const struct http_answer *answer)
{
    struct cache_control all = {.max_age_s = -1};

    for (size_t i = 0; i < answer->n_fields; i++) {
        struct cache_control cc;

        if (!str_eqz(answer->fields[i].name, "cache-control"))
            continue;
        cc = http_cache_control(answer->fields[i].value);
        all.no_cache = all.no_cache || cc.no_cache;
        all.no_store = all.no_store || cc.no_store;
        if (all.max_age_s < 0)
            all.max_age_s = cc.max_age_s;
    }
    return all;
}

/* For how many seconds the answer stays fresh (RFC 9111 §4.2.1), without the time that it spent in
 * caches. */
static int64_t fresh_for_s(const struct http_answer *answer, int64_t now)
{
    struct cache_control cc = cache_control_of(answer);
    int64_t age, expires_at, date_at, fresh;
    struct str value;

    if (cc.no_cache || cc.no_store)
        return 0;
    if (cc.max_age_s >= 0) {
        fresh = cc.max_age_s;
        if (str_to_i64(str_trim(http_answer_field(answer, "age")), &age) && age > 0)
            fresh = fresh > age ? fresh - age : 0;
        return fresh;
    }
    value = http_answer_field(answer, "expires");
    if (str_is_null(value))
        return -1;
    expires_at = http_date(value);
    date_at = http_date(http_answer_field(answer, "date"));
    if (date_at == TIME_UNKNOWN)
        date_at = now;
    /* also "0" and other invalid dates: the answer is stale already */
    if (expires_at == TIME_UNKNOWN || expires_at <= date_at)
        return 0;
    return expires_at - date_at;
}

static const char *explain(int status)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {
        {304, "304 (not modified), although the request had no condition"},
        {400, "400 (bad request)"},
        {401, "401: it needs a user name and a password, or the given ones are wrong"},
        {402, "402 (payment required)"},
        {403, "403 (forbidden)"},
        {404, "404 (not found)"},
        {406, "406: it has no feed in a format that Feedmill understands"},
        {407, "407: the proxy needs a user name and a password, or the given ones are wrong"},
        {410, "410 (gone)"},
        {429, "429 (too many requests): it asks us to come less often"},
        {500, "500 (internal error)"},
        {502, "502 (bad gateway)"},
        {503, "503 (unavailable)"},
        {504, "504 (gateway timeout)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].status == status)
            return known[i].text;
    return NULL;
}

static bool is_guarded(const struct http_answer *answer)
{
    return !str_is_null(http_answer_field(answer, "cf-mitigated"));
}

/* A page that asks the reader to prove that it is a browser. Sites that are guarded by others say so in
 * a field; without it, a page in place of a refusal is most often such a one. */
static enum challenge {
    CHALLENGE_NONE,
    CHALLENGE_LIKELY,
    CHALLENGE_SURE
} challenge_of(struct arena *a, const struct http_answer *answer)
{
    struct str type = http_answer_field(answer, "content-type");
    bool is_page = str_is_null(type) ? feed_looks_like_html(answer->body)
                                     : str_eqz(http_media_type(a, type), "text/html") ||
                                           str_eqz(http_media_type(a, type), "application/xhtml+xml");

    if (is_guarded(answer))
        return CHALLENGE_SURE;
    return is_page && (answer->status == 403 || answer->status == 503) ? CHALLENGE_LIKELY
                                                                       : CHALLENGE_NONE;
}

/* Why it is not a success, and what would help. */
static struct str reason(struct arena *a, const struct http_answer *answer)
{
    switch (challenge_of(a, answer)) {
    case CHALLENGE_SURE:
        return str_printf(a,
                          "the publisher answered %d with a challenge that only a browser passes; it "
                          "would have to let this User-Agent read the feed",
                          answer->status);
    case CHALLENGE_LIKELY:
        return str_printf(a,
                          "the publisher answered %d with a page in place of the feed, perhaps a "
                          "challenge that only a browser passes",
                          answer->status);
    default:
        return explain(answer->status) != NULL
                   ? str_printf(a, "the publisher answered %s", explain(answer->status))
                   : str_printf(a, "the publisher answered with status %d", answer->status);
    }
}

static enum response_kind kind_of(const struct http_answer *answer, const struct response *r,
                                  bool conditional)
{
    if (is_guarded(answer) && (answer->status == 200 || answer->status == 203))
        return RESPONSE_ERROR; /* it is the challenge: nothing in it leads to the feed */
    switch (answer->status) {
    case 200:
    case 203:
        return RESPONSE_DOCUMENT;
    case 226:
        return conditional && http_list_has(http_answer_field(answer, "im"), STR("feed"))
                   ? RESPONSE_DOCUMENT
                   : RESPONSE_ERROR;
    case 304:
        return conditional ? RESPONSE_NOT_MODIFIED : RESPONSE_ERROR;
    case 404:
        return RESPONSE_MISSING;
    case 410:
        return RESPONSE_GONE;
    case 429:
        return RESPONSE_LIMITED;
    case 503:
        return r->retry_after_s >= 0 ? RESPONSE_LIMITED : RESPONSE_ERROR;
    default:
        return RESPONSE_ERROR;
    }
}

/* Returns null when the field is absent or empty. */
static struct str value_of_field(const struct http_answer *answer, const char *name)
{
    struct str value = http_answer_field(answer, name);

    return str_trim(value).len == 0 ? STR_NULL : value;
}

struct response response_judge(struct arena *a, enum rc rc, const struct http_answer *answer,
                               const struct err *err, bool conditional, int64_t now)
{
    struct response r = {.rc = rc, .status = answer->status, .max_age_s = -1, .retry_after_s = -1};
    struct str retry;

    if (rc != RC_OK) {
        r.is_held = rc == RC_RESTING;
        r.kind = r.is_held ? RESPONSE_LIMITED : RESPONSE_BROKEN;
        if (r.is_held)
            r.retry_after_s = (answer->rest_ms + 999) / 1000;
        r.unreached = answer->status == 0 && (rc == RC_PEER || rc == RC_TIMEOUT);
        r.text =
            str_dup(a, str_from(err != NULL && err->text[0] != '\0' ? err->text : rc_meaning(rc)));
        return r;
    }
    retry = http_answer_field(answer, "retry-after");
    if (!str_is_null(retry))
        r.retry_after_s = http_retry_after_s(retry, now);
    r.kind = kind_of(answer, &r, conditional);
    r.moved = answer->n_redirects > 0 && answer->all_permanent;
    r.max_age_s = fresh_for_s(answer, now);
    if (r.kind == RESPONSE_DOCUMENT || r.kind == RESPONSE_NOT_MODIFIED) {
        r.partial = answer->status == 226;
        r.etag = value_of_field(answer, "etag");
        r.last_modified = value_of_field(answer, "last-modified");
        return r;
    }
    r.rc = RC_PEER;
    r.text = reason(a, answer);
    return r;
}

const char *response_outcome(enum response_kind kind)
{
    static const char *const outcomes[] = {
#define RESPONSE(NAME, outcome, meaning) outcome,
#include "fetcher/response_kinds.def"
#undef RESPONSE
    };

    return outcomes[kind];
}
