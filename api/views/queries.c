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

/* "/feed, /feeds, /smart and /view/NAME": the paths of all queries. */
static const char *all_paths(struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        if (queries[i].path != NULL)
            buf_printf(&out, "%s%s", out.len > 0 ? ", " : "", queries[i].path);
    buf_puts(&out, " and " PATH_VIEW "/NAME");
    return str_z(a, buf_view(&out));
}

/* Of the path of a query: its row. NULL: there is none. */
static query_read_fn *reader_of(struct str path)
{
    if (str_starts(path, STR(PATH_VIEW "/")))
        return named_query;
    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        if (queries[i].path != NULL && str_eqz(path, queries[i].path))
            return queries[i].read;
    return NULL;
}

/* Read the path and the parameters of the target. */
static bool read_target(struct ask *ask, query_read_fn **read, struct problem *p)
{
    struct str rest = ask->target, path = without_slashes(str_split(&rest, '?'));

    *read = reader_of(path);
    if (*read == NULL)
        return problem_set(p, ask->arena, PROBLEM_NOT_FOUND,
                           "This hub cannot deliver this topic. It delivers documents at %s.",
                           all_paths(ask->arena));
    ask->params.listed = route_find(path, STR("GET"))->params;
    ask->params.cfg = ask->cfg;
    return params_add(&ask->params, ask->arena, rest, p);
}

bool query_read(struct ask *ask, struct query *q, struct problem *p)
{
    query_read_fn *read;

    *q = (struct query){0};
    return read_target(ask, &read, p) && read(ask, q, p);
}

bool query_has_sets(const struct ask *ask)
{
    struct ask copy = *ask;
    query_read_fn *read;
    struct problem p;

    return read_target(&copy, &read, &p) && (read == named_query || feeds_asked_has_sets(&copy));
}

/* Where the path of a named view begins, if it ends in one. */
static bool ends_in_view(struct str path, size_t *at)
{
    size_t end = path.len;

    while (end > 0 && path.ptr[end - 1] != '/')
        end--;
    if (end < sizeof PATH_VIEW || !str_ends(str_slice(path, 0, end), STR(PATH_VIEW "/")))
        return false;
    *at = end - sizeof PATH_VIEW;
    return true;
}

bool query_path_ends(struct str path, size_t *at)
{
    path = without_slashes(path);
    if (ends_in_view(path, at))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        if (queries[i].path == NULL || !str_ends(path, str_from(queries[i].path)))
            continue;
        *at = path.len - strlen(queries[i].path);
        return true;
    }
    return false;
}
