/* api/lists/sub_secrets.c - see sub_secrets.h. */
#include "api/lists/sub_secrets.h"

#include "base/seal.h"
#include "model/fetch_secrets.h"
#include "net/http_proxy.h"

static const enum param_id kinds[] = {PARAM_user_agent, PARAM_cookie, PARAM_bearer,
                                      PARAM_proxy, PARAM_fetch_header};

static bool has_one(const struct params *ps, bool with_empty)
{
    const struct param *one;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (size_t at = 0; (one = params_next(ps, kinds[i], &at)) != NULL;)
            if (with_empty || str_trim(one->value).len > 0)
                return true;
    return false;
}

bool sub_secrets_are_given(const struct params *ps)
{
    return has_one(ps, false);
}

/* In the words of the fetch, which would fail. */
static enum rc check_proxy(struct arena *a, struct str text, const struct guard *guard, struct err *err)
{
    struct http_proxy proxy;
    enum rc rc = http_proxy_read(a, text, &proxy, err);

    if (rc == RC_OK && !http_proxy_is_open(&proxy, guard))
        return err_set(err, RC_DENIED,
                       "the address of the proxy is private or special, which is closed; "
                       "--allow-fetch CIDR would open it");
    return rc;
}

/* The name of a field may be shown when nothing is wrong with it: else it may be part of a value. */
static bool take(const struct param *one, const struct guard *guard, struct arena *a,
                 enum param_id kind, struct fetch_secrets *s, struct problem *p)
{
    struct str before = fetch_secrets_value(s, one->name), value = str_trim(one->value);
    struct err err = ERR_INIT;

    if (!str_is_null(before) && !str_eq(before, value))
        return problem_parameter(p, a, param_name(kind), STR_NULL, NULL,
                                 "The parameter `%s` was given more than once, with different "
                                 "values.",
                                 param_name(kind));
    if (fetch_secrets_set(a, s, one->name, value, &err) == RC_OK &&
        (kind != PARAM_proxy || value.len == 0 || check_proxy(a, value, guard, &err) == RC_OK))
        return true;
    return problem_parameter(p, a, param_name(kind), STR_NULL, NULL,
                             "The parameter `%s` cannot be used: %s. Its value is not repeated "
                             "here.",
                             param_name(kind), err.text);
}

bool sub_secrets_may(const struct caller *c, struct arena *a, struct problem *p)
{
    return caller_sees_all(c) || problem_role(p, a, ROLE_ADMIN, c->role);
}

bool sub_secrets_read(const struct params *ps, const struct guard *guard, struct arena *a,
                      struct str home, bool may_end, struct str *out, struct problem *p)
{
    struct fetch_secrets s = {.home = home};
    const struct param *one;
    struct err err = ERR_INIT;

    *out = STR_NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (size_t at = 0; (one = params_next(ps, kinds[i], &at)) != NULL;)
            if (!take(one, guard, a, kinds[i], &s, p))
                return false;
    if (fetch_secrets_check(&s, &err) != RC_OK)
        return problem_parameter(p, a, param_name(PARAM_bearer), STR_NULL, NULL,
                                 "These parameters cannot be used together: %s.", err.text);
    if (s.n > 0 || (may_end && has_one(ps, true)))
        *out = fetch_secrets_text(a, &s);
    return out->len <= SEAL_TEXT_MAX ||
           problem_parameter(p, a, param_name(PARAM_fetch_header), STR_NULL, NULL,
                             "What is sent with the fetches of a feed, and its URL, have more than %d "
                             "bytes together.",
                             SEAL_TEXT_MAX);
}
