/* api/lists/sub_sink.c - see sub_sink.h. */
#include "api/lists/sub_sink.h"

#include "api/lists/sub_endpoint.h"
#include "base/clock.h"
#include "feed/text/hook_settings.h"
#include "model/sinks.h"

/* Returns the NAME of `header.NAME`. */
static struct str field_name(const struct param *one)
{
    return str_slice(one->name, strlen("header."), one->name.len);
}

/* Get `secret`; null: it is missing or empty. */
static bool read_secret(const struct params *ps, struct arena *a, struct str *out,
                        struct problem *p)
{
    char *text;

    if (!params_optional(ps, a, PARAM_secret, out, p))
        return false;
    if (str_is_null(*out))
        return true;
    /* Base64 has no spaces: they are `+` that were not percent-encoded */
    *out = str_trim(*out);
    text = str_z(a, *out);
    for (size_t i = 0; i < out->len; i++)
        if (text[i] == ' ')
            text[i] = '+';
    out->ptr = text;
    if (str_is_null(hook_secret_key(a, *out)))
        return problem_parameter(p, a, "secret", STR_NULL, NULL,
                                 "The parameter `secret` must be whsec_ and Base64 of 24 to 64 "
                                 "bytes. Its value is not repeated here.");
    return true;
}

static bool read_header(const struct param *one, struct arena *a, struct hook_settings *hs,
                        struct problem *p)
{
    struct str name = field_name(one), value = str_trim(one->value);
    const char *fault = hook_name_fault(name);

    if (fault != NULL)
        return problem_parameter(p, a, "header.NAME", name, NULL,
                                 "A parameter `header.NAME` cannot be used: it %s.", fault);
    fault = hook_value_fault(value);
    if (fault != NULL)
        return problem_parameter(p, a, str_z(a, one->name), STR_NULL, NULL,
                                 "The value of `%.*s` cannot be used: it %s. It is not repeated "
                                 "here.",
                                 STR_ARG(one->name), fault);
    if (!hook_field_set(hs, name, value))
        return problem_parameter(p, a, str_z(a, one->name), STR_NULL, NULL,
                                 "A subscription can have at most %d parameters `header.NAME`.",
                                 HOOK_FIELDS_MAX);
    return true;
}

/* Read all `header.NAME`. One may be given again with the same value only. *any: there are some. */
static bool read_headers(const struct params *ps, struct arena *a, struct hook_settings *hs,
                         bool *any, struct problem *p)
{
    const struct param *one, *before;
    size_t at = 0;

    *any = false;
    while ((one = params_next(ps, PARAM_header, &at)) != NULL) {
        for (size_t k = 0; (before = params_next(ps, PARAM_header, &k)) != one;)
            if (str_ieq(before->name, one->name) && !str_eq(before->value, one->value))
                return problem_parameter(p, a, "header.NAME", field_name(one), NULL,
                                         "A parameter `header.NAME` was given more than once, with "
                                         "different values.");
        if (!read_header(one, a, hs, p))
            return false;
        *any = true;
    }
    return true;
}

/* Refuse what only webhooks have. */
static bool has_no_settings(const struct params *ps, struct arena *a, struct problem *p)
{
    static const enum param_id settings[] = {PARAM_secret, PARAM_header};
    const struct param *one;

    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        for (size_t at = 0; (one = params_next(ps, settings[i], &at)) != NULL;)
            if (str_trim(one->value).len > 0)
                return problem_parameter(p, a, param_name(settings[i]), STR_NULL, NULL,
                                         "The parameters `secret` and `header.NAME` are for "
                                         "subscriptions with `sink=webhook`.");
    return true;
}

/* Get `sink`; null: it is missing. */
static bool read_sink(const struct params *ps, struct arena *a, struct str *out, struct problem *p)
{
    if (!params_optional(ps, a, PARAM_sink, out, p))
        return false;
    if (!str_is_null(*out) && !sinks_is_offered(*out))
        return problem_parameter(p, a, "sink", *out, sinks_offered(a),
                                 "The parameter `sink` does not name a sink that is offered.");
    return true;
}

bool sub_sink_read(const struct params *ps, struct arena *a, struct str endpoint,
                   struct sub_sink *out, struct problem *p)
{
    struct sub_sink sink = {STR_NULL, STR_NULL, STR_NULL};
    struct hook_settings hs = {.n_secrets = 0};
    bool any;

    if (!read_sink(ps, a, &sink.name, p))
        return false;
    if (str_is_null(endpoint) && !str_is_null(sink.name))
        return problem_parameter(p, a, "sink", sink.name, NULL,
                                 "The parameter `sink` is for subscriptions with an `endpoint`.");
    if (!str_is_null(endpoint) && str_is_null(sink.name))
        sink.name = sinks_default(sub_endpoint_scheme(endpoint));
    if (!str_is_null(endpoint) && !sub_endpoint_fits(a, endpoint, sink.name, p))
        return false;
    if (!str_eqz(sink.name, HOOK_SINK)) {
        *out = sink;
        return has_no_settings(ps, a, p);
    }
    if (!read_secret(ps, a, &sink.secret, p) || !read_headers(ps, a, &hs, &any, p))
        return false;
    if (str_is_null(sink.secret))
        sink.secret = hook_secret_make(a);
    hook_secret_set(&hs, sink.secret, clock_now_s());
    sink.settings = hook_settings_write(a, &hs);
    *out = sink;
    return true;
}

bool sub_sink_change(const struct params *ps, struct arena *a, struct str sink, struct str stored,
                     struct str *settings, struct problem *p)
{
    struct hook_settings hs;
    struct str name, secret;
    struct err err = ERR_INIT;
    bool any;

    *settings = STR_NULL;
    if (!read_sink(ps, a, &name, p))
        return false;
    if (!str_is_null(name) && !str_eq(name, sink))
        return problem_parameter(p, a, "sink", name, NULL,
                                 "The sink of a subscription cannot be changed.");
    if (!str_eqz(sink, HOOK_SINK))
        return has_no_settings(ps, a, p);
    if (hook_settings_read(a, stored, &hs, &err) != RC_OK)
        return problem_set(p, a, PROBLEM_INTERNAL, "The subscription cannot be changed: %s.",
                           err.text);
    if (!read_secret(ps, a, &secret, p) || !read_headers(ps, a, &hs, &any, p))
        return false;
    if (!str_is_null(secret))
        hook_secret_set(&hs, secret, clock_now_s());
    if (any || !str_is_null(secret))
        *settings = hook_settings_write(a, &hs);
    return true;
}
