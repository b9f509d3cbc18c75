/* api/http/body.c - see body.h. */
#include "api/http/body.h"

#include "base/limits.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/value.h"
#include "net/http_fields.h"

/* Returns a value as a form would have it; null: it is none of these. */
static struct str text_of(struct arena *a, const struct value *v)
{
    return v->kind == VAL_TEXT   ? v->s
           : v->kind == VAL_INT  ? str_printf(a, "%lld", (long long)v->i)
           : v->kind == VAL_BOOL ? (v->b ? STR("1") : STR("0"))
                                 : STR_NULL;
}

static bool put_one(struct params *ps, struct arena *a, const char *name, const struct value *v,
                    struct problem *p)
{
    struct str text = text_of(a, v);

    if (!str_is_null(text))
        return params_put(ps, a, str_from(name), text, p);
    return problem_parameter(p, a, name, STR_NULL, NULL,
                             "`%s` must be a text, a whole number, a boolean, or an array of these.",
                             name);
}

bool body_params_put(struct params *ps, struct arena *a, const char *name, const struct value *v,
                     struct problem *p)
{
    if (v == NULL || v->kind == VAL_NULL)
        return true;
    if (v->kind != VAL_LIST)
        return put_one(ps, a, name, v, p);
    for (size_t i = 0; i < value_len(v); i++)
        if (!put_one(ps, a, name, value_at(v, i), p))
            return false;
    return true;
}

static bool read_json(struct params *ps, struct arena *a, struct str body, struct problem *p)
{
    struct err err = ERR_INIT;
    struct value *all;

    if (json_read(a, body, &all, &err) != RC_OK || all->kind != VAL_DICT)
        return problem_set(p, a, PROBLEM_BAD_BODY, "The body is not a JSON object.");
    if (json_has_nul(body))
        return problem_set(p, a, PROBLEM_BAD_BODY, BODY_HAS_NUL);
    for (const enum param_id *id = ps->listed; *id != PARAM_NONE; id++)
        if (!body_params_put(ps, a, param_name(*id), value_get(all, str_from(param_name(*id))), p))
            return false;
    return true;
}

bool body_params_add(struct params *ps, struct arena *a, struct str body, struct str content_type,
                     struct problem *p)
{
    struct str type = str_trim(content_type);

    body = str_trim(body);
    if (body.len == 0)
        return true;
    if (type.len > 0)
        type = http_media_type(a, type);
    if (str_eqz(type, MEDIA_JSON) || (type.len == 0 && body.ptr[0] == '{'))
        return read_json(ps, a, body, p);
    if (type.len == 0 || str_eqz(type, MEDIA_URLENCODED))
        return params_add(ps, a, body, p);
    return problem_set(p, a, PROBLEM_MEDIA_TYPE,
                       "The body must be a form (" MEDIA_URLENCODED ") or a JSON object "
                       "(" MEDIA_JSON ").");
}
