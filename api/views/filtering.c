/* api/views/filtering.c - see filtering.h. */
#include "api/views/filtering.h"

#include <string.h>

#include "api/views/selflink.h"
#include "base/clock.h"
#include "feed/filter/filter.h"
#include "feed/words/entry_facts.h"

/* Get all values of a parameter. One more than is allowed is enough to be told
 * so. */
static struct str_list values_of(const struct params *ps, struct arena *a, enum param_id id)
{
    struct str_list out = {.n = 0};
    const struct param *one;
    size_t at = 0;

    while (out.n <= FILTER_VALUES_MAX && (one = params_next(ps, id, &at)) != NULL) {
        if (out.list == NULL)
            out.list = ARENA_ARRAY(a, struct str, FILTER_VALUES_MAX + 1);
        out.list[out.n++] = one->value;
    }
    return out;
}

const enum param_id filtering_params[] = {
#define ONE(name) PARAM_##name,
#define SEVERAL(name) PARAM_##name,
#include "api/views/filter_params.def"
#undef ONE
#undef SEVERAL
};
const size_t n_filtering_params = ARRAY_LEN(filtering_params);

/* Put what the parameters ask for into the wish. What none of them is about stays. */
static bool read_wish(const struct params *ps, struct arena *a, struct filter_wish *wish,
                      struct problem *p)
{
    const struct {
        enum param_id id;
        struct str *one;
        struct str_list *list;
    } parts[] = {
#define ONE(name) {PARAM_##name, &wish->name, NULL},
#define SEVERAL(name) {PARAM_##name, NULL, &wish->name},
#include "api/views/filter_params.def"
#undef ONE
#undef SEVERAL
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!params_has(ps, parts[i].id))
            continue;
        if (parts[i].list != NULL)
            *parts[i].list = values_of(ps, a, parts[i].id);
        else if (!params_optional(ps, a, parts[i].id, parts[i].one, p))
            return false;
    }
    return true;
}

static bool make(struct arena *a, const struct filter_wish *wish, int64_t now,
                 const struct filter **out, struct problem *p)
{
    struct filter_fault fault;

    if (filter_make(a, wish, now, out, &fault))
        return true;
    problem_parameter(p, a, fault.name, fault.value,
                      strcmp(fault.name, param_name(PARAM_has)) == 0 ? ENTRY_HAS_NAMES : NULL,
                      "The parameter `%s` cannot be used: %.*s", fault.name, STR_ARG(fault.why));
    p->has_at = fault.at >= 0;
    p->at = fault.at >= 0 ? (size_t)fault.at : 0;
    return false;
}

bool filtering_change(const struct params *ps, struct arena *a, struct str before, struct str *out,
                      struct problem *p)
{
    struct filter_wish wish;
    const struct filter *filter;

    if (!filter_wish_read(a, before, &wish))
        wish = (struct filter_wish){.q = STR_NULL};
    if (!read_wish(ps, a, &wish, p) || !make(a, &wish, TIME_UNKNOWN, &filter, p))
        return false;
    *out = filter_text(filter);
    return true;
}

bool filtering_read(struct ask *ask, struct filtering *out, struct problem *p)
{
    struct filter_wish wish = {.q = STR_NULL};

    *out = (struct filtering){.filter = NULL};
    if (!read_wish(&ask->params, ask->arena, &wish, p) ||
        !make(ask->arena, &wish, TIME_UNKNOWN, &out->lasting, p))
        return false;
    out->filter = out->lasting;
    if (str_is_null(wish.after) && str_is_null(wish.before))
        return true;
    if (!make(ask->arena, &wish, clock_now_s(), &out->filter, p))
        return false;
    out->has_age = !str_eq(out->filter->text, out->lasting->text);
    return true;
}

struct str filtering_unset(struct arena *a, struct str link)
{
    for (size_t i = 0; i < n_filtering_params; i++)
        link = selflink_unset(a, link, param_name(filtering_params[i]));
    return link;
}
