/* api/views/queries.c - see queries.h. */
#include "api/views/queries.h"

#include "api/http/routes.h"
#include "api/views/feeds_asked.h"
#include "base/buf.h"
#include "model/paths.h"

static const struct {
    const char *path; /* NULL: the form has no pages */
    query_read_fn *read;
} queries[] = {
    {PATH_FEED, feed_query},
    {PATH_FEEDS, feeds_query},
    {PATH_SMART, smart_query},
#define FORM(id, path, entry_path, draw, entry, traits) {entry_path, archive_query},
#include "model/forms.def"
#undef FORM
};

static struct str without_slashes(struct str path)
{
    while (path.len > 1 && str_ends(path, STR("/")))
        path.len--;
    return path;
}

/* "/feed, /feeds and /smart": the paths of all queries. */
static const char *all_paths(struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    size_t n = 0, left;

    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        n += queries[i].path != NULL;
    left = n;
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        if (queries[i].path == NULL)
            continue;
        buf_puts(&out, left == n ? "" : left > 1 ? ", " : " and ");
        buf_puts(&out, queries[i].path);
        left--;
    }
    return str_z(a, buf_view(&out));
}

bool query_read(struct ask *ask, struct query *q, struct problem *p)
{
    struct str rest = ask->target, path = without_slashes(str_split(&rest, '?'));

    *q = (struct query){0};
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        if (queries[i].path == NULL || !str_eqz(path, queries[i].path))
            continue;
        ask->params.listed = route_find(path, STR("GET"))->params;
        ask->params.cfg = ask->cfg;
        if (!params_add(&ask->params, ask->arena, rest, p))
            return false;
        if (feeds_asked_has_sets(ask))
            return problem_set(p, ask->arena, PROBLEM_NOT_FOUND,
                               "This topic names feeds by something that changes over time. A "
                               "topic must name them by `url`.");
        return queries[i].read(ask, q, p);
    }
    return problem_set(p, ask->arena, PROBLEM_NOT_FOUND,
                       "This hub cannot deliver this topic. It delivers documents at %s.",
                       all_paths(ask->arena));
}

bool query_path_ends(struct str path, size_t *at)
{
    path = without_slashes(path);
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        if (queries[i].path == NULL || !str_ends(path, str_from(queries[i].path)))
            continue;
        *at = path.len - strlen(queries[i].path);
        return true;
    }
    return false;
}
