/* api/views/filtering.c - see filtering.h. */
#include "api/views/filtering.h"

#include "api/views/selflink.h"
#include "base/clock.h"
#include "feed/filter/filter.h"

/* Get all values of a parameter. One more than is allowed is enough to be told
 * so. */
static struct str_list values_of(struct ask *ask, enum param_id id)
{
    struct str_list out = {.n = 0};
    const struct param *one;
    size_t at = 0;

    while (out.n <= FILTER_VALUES_MAX && (one = params_next(&ask->params, id, &at)) != NULL) {
        if (out.list == NULL)
            out.list = ARENA_ARRAY(ask->arena, struct str, FILTER_VALUES_MAX + 1);
        out.list[out.n++] = one->value;
    }
    return out;
}

static bool read_wish(struct ask *ask, struct filter_wish *wish, struct problem *p)
{
    wish->author = values_of(ask, PARAM_author);
    wish->category = values_of(ask, PARAM_category);
    wish->lang = values_of(ask, PARAM_lang);
    wish->has = values_of(ask, PARAM_has);
    return params_optional(&ask->params, ask->arena, PARAM_q, &wish->q, p) &&
           params_optional(&ask->params, ask->arena, PARAM_after, &wish->after, p) &&
           params_optional(&ask->params, ask->arena, PARAM_before, &wish->before, p);
}

static bool make(struct ask *ask, const struct filter_wish *wish, int64_t now,
                 const struct filter **out, struct problem *p)
{
    struct filter_fault fault;

    if (filter_make(ask->arena, wish, now, out, &fault))
        return true;
    problem_parameter(p, ask->arena, fault.name, fault.value, NULL,
                      "The parameter `%s` cannot be used: %.*s", fault.name, STR_ARG(fault.why));
    p->has_at = fault.at >= 0;
    p->at = fault.at >= 0 ? (size_t)fault.at : 0;
    return false;
}

bool filtering_read(struct ask *ask, struct filtering *out, struct problem *p)
{
    struct filter_wish wish;

    *out = (struct filtering){.filter = NULL};
    if (!read_wish(ask, &wish, p) || !make(ask, &wish, TIME_UNKNOWN, &out->lasting, p))
        return false;
    out->filter = out->lasting;
    if (str_is_null(wish.after) && str_is_null(wish.before))
        return true;
    if (!make(ask, &wish, clock_now_s(), &out->filter, p))
        return false;
    out->has_age = !str_eq(out->filter->text, out->lasting->text);
    return true;
}

struct str filtering_unset(struct arena *a, struct str link)
{
    static const enum param_id all[] = {PARAM_q,   PARAM_author, PARAM_category, PARAM_lang,
                                        PARAM_has, PARAM_after,  PARAM_before};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        link = selflink_unset(a, link, param_name(all[i]));
    return link;
}
