/* api/views/queries.c - see queries.h. */
#include "api/views/queries.h"

#include "api/http/paths.h"

static const struct {
    const char *path; /* NULL: the form has no pages */
    query_read_fn *read;
} queries[] = {
    {PATH_FEED, feed_query},
    {PATH_FEEDS, feeds_query},
    {PATH_SMART, smart_query},
#define FORM(id, path, entry_path, draw, entry, traits) {entry_path, archive_query},
#include "api/views/forms.def"
#undef FORM
};

static struct str without_slashes(struct str path)
{
    while (path.len > 1 && str_ends(path, STR("/")))
        path.len--;
    return path;
}

bool query_read(struct ask *ask, struct query *q, struct problem *p)
{
    struct str rest = ask->target, path = without_slashes(str_split(&rest, '?'));

    *q = (struct query){0};
    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        if (queries[i].path != NULL && str_eqz(path, queries[i].path))
            return params_add(&ask->params, ask->arena, rest, p) && queries[i].read(ask, q, p);
    return problem_set(p, ask->arena, PROBLEM_NOT_FOUND,
                       "This hub cannot deliver this topic. It delivers documents at /feed, "
                       "/feeds, /smart, /simple/recent, /archive, /history and /pmh.");
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
