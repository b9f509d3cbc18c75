/* api/lists/sub_mirror.c - see sub_mirror.h. */
#include "api/lists/sub_mirror.h"

#include "model/mirror.h"

bool sub_mirror_read(struct task *t, const struct params *ps, int64_t *out, struct problem *p)
{
    bool is_given, on;

    if (!params_mirror(ps, &t->arena, &is_given, &on, p))
        return false;
    if (on && t->cfg->mirror_dir.len == 0)
        return problem_parameter(p, &t->arena, param_name(PARAM_mirror), STR("yes"), "no",
                                 "This server mirrors nothing: it was started without --mirror.");
    if (is_given)
        *out = on ? store_last_seq(t->api->store) + 1 : MIRROR_OFF;
    return true;
}
