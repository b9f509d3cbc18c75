/* api/http/body.c - see body.h. */
#include "api/http/body.h"

#include <string.h>

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
    return problem_parameter(
        p, a, name, STR_NULL, NULL,
        "`%s` must be a text, a whole number, a boolean, or an array of these.", name);
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

/* ---- members --------------------------------------------------------------------------------- */

bool body_is_told(const char *told, struct str name)
{
    struct str rest = told == NULL ? STR_NULL : str_from(told);

    while (!str_is_null(rest))
        if (str_eq(str_split(&rest, '|'), name))
            return true;
    return false;
}

bool body_member_unknown(struct problem *p, struct arena *a, struct str name)
{
    struct str shown = str_beginning(name, 100);

    return problem_parameter(p, a, str_z(a, shown), STR_NULL, NULL,
                             "The JSON body has the member `%.*s`, which is not known here.",
                             STR_ARG(shown));
}

#define KIND(kind) (1u << VAL_##kind)

/* The JSON types that the value of a parameter may have. A text may stand for each, as forms have
 * nothing else. */
static unsigned kinds_of(enum param_id id)
{
    switch (param_row(id)->kind) {
    case PARAM_KIND_COUNT:
    case PARAM_KIND_NUMBER:
    case PARAM_KIND_ID:
    case PARAM_KIND_FREQ:
        return KIND(INT) | KIND(TEXT);
    case PARAM_KIND_FLAG:
        return KIND(BOOL) | KIND(INT) | KIND(TEXT);
    case PARAM_KIND_CHOICE: /* 1|0 is a switch */
        return KIND(TEXT) |
               (strchr(param_row(id)->values, '0') == NULL ? 0 : KIND(BOOL) | KIND(INT));
    default: /* times and ages may be seconds */
        return KIND(TEXT) |
               (id == PARAM_after || id == PARAM_before || id == PARAM_keep ? KIND(INT) : 0);
    }
}

static bool is_repeated(enum param_id id)
{
    return (param_row(id)->flags & PARAM_REPEATED) != 0 || param_row(id)->kind == PARAM_KIND_URLS;
}

static bool fits(enum param_id id, const struct value *v)
{
    bool fits = v->kind == VAL_NULL || (kinds_of(id) & 1u << v->kind) != 0;

    if (v->kind != VAL_LIST || !is_repeated(id))
        return fits;
    for (size_t i = 0; i < value_len(v); i++)
        if ((kinds_of(id) & 1u << value_at(v, i)->kind) == 0)
            return false;
    return true;
}

static bool put_member(struct params *ps, struct arena *a, enum param_id id, struct str name,
                       const struct value *v, struct problem *p)
{
    unsigned kinds = kinds_of(id);

    if (fits(id, v))
        return body_params_put(ps, a, str_z(a, name), v, p);
    return problem_parameter(p, a, str_z(a, name), STR_NULL, NULL,
                             "The member `%.*s` of the JSON body must be %s%s.", STR_ARG(name),
                             (kinds & KIND(BOOL)) != 0                ? "true or false"
                             : (kinds & KIND(INT)) == 0               ? "a text"
                             : param_row(id)->kind == PARAM_KIND_TEXT ? "a text or a whole number"
                                                                      : "a whole number",
                             is_repeated(id) ? ", or an array of these" : "");
}

static bool put_named(struct params *ps, struct arena *a, struct str name, const struct value *v,
                      const char *told, struct problem *p)
{
    for (const enum param_id *id = ps->listed; *id != PARAM_NONE; id++)
        if (param_is_called(*id, name))
            return put_member(ps, a, *id, name, v, p);
    return body_is_told(told, name) || body_member_unknown(p, a, name);
}

static bool read_json(struct params *ps, struct arena *a, struct str body, const char *told,
                      struct problem *p)
{
    struct err err = ERR_INIT;
    struct value *all;

    if (json_read(a, body, &all, &err) != RC_OK || all->kind != VAL_DICT)
        return problem_set(p, a, PROBLEM_BAD_BODY, "The body is not a JSON object.");
    if (json_has_nul(body))
        return problem_set(p, a, PROBLEM_BAD_BODY, BODY_HAS_NUL);
    for (size_t i = 0; i < value_len(all); i++)
        if (!put_named(ps, a, all->members[i].key, all->members[i].val, told, p))
            return false;
    return true;
}

bool body_params_add(struct params *ps, struct arena *a, struct str body, struct str content_type,
                     const char *told, struct problem *p)
{
    struct str type = str_trim(content_type);

    body = str_trim(body);
    if (body.len == 0)
        return true;
    if (type.len > 0)
        type = http_media_type(a, type);
    if (str_eqz(type, MEDIA_JSON) || (type.len == 0 && body.ptr[0] == '{'))
        return read_json(ps, a, body, told, p);
    if (type.len == 0 || str_eqz(type, MEDIA_URLENCODED))
        return params_add(ps, a, body, p);
    return problem_set(p, a, PROBLEM_MEDIA_TYPE,
                       "The body must be a form (" MEDIA_URLENCODED ") or a JSON object "
                       "(" MEDIA_JSON ").");
}
