/* api/views/named.c - GET /view: the list of named views; GET /view/NAME: the merged feed of one. */
#include "api/views/named.h"

#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/routes.h"
#include "api/views/shapes.h"
#include "api/views/sub_book.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"

const enum param_id *named_params(void)
{
    return route_find(STR(PATH_VIEW "/x"), STR("PUT"))->params;
}

struct str named_url(struct arena *a, struct str origin, struct str name)
{
    return str_printf(a, "%.*s%s/%.*s", STR_ARG(origin), PATH_VIEW, STR_ARG(name));
}

bool named_read(const struct ask *ask, struct str *name, struct problem *p)
{
    struct str rest = ask->target, path = str_split(&rest, '?');

    *name = STR_NULL;
    path = str_slice(path, sizeof PATH_VIEW - 1, path.len);
    while (path.len > 0 && str_ends(path, STR("/")))
        path.len--;
    if (path.len == 0)
        return true;
    *name = url_decode(ask->arena, str_slice(path, 1, path.len), false);
    if (view_is_name(*name))
        return true;
    problem_parameter(p, ask->arena, "name", STR_NULL, NULL,
                      "The name of a view has 1 to %d characters: letters of ASCII, digits, `.`, `_` "
                      "and `-`.",
                      VIEW_NAME_MAX);
    return false;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static bool is_list(enum param_id id)
{
    const struct parameter *row = param_row(id);

    return (row->flags & PARAM_REPEATED) != 0 || row->kind == PARAM_KIND_URLS;
}

/* A number that is too large is shown as what it counts as. */
static struct value *shape_number(struct arena *a, const struct parameter *row, struct str text)
{
    int64_t n;

    return value_int(a, str_to_i64(text, &n) && n <= row->max ? n : row->max);
}

/* A value has the type that the description gives it in a JSON body. */
static struct value *shape_param(struct arena *a, enum param_id id, struct str text)
{
    const struct parameter *row = param_row(id);

    switch (row->kind) {
    case PARAM_KIND_COUNT:
    case PARAM_KIND_NUMBER:
    case PARAM_KIND_ID:
        return shape_number(a, row, str_trim(text));
    case PARAM_KIND_FLAG:
        return value_bool(a, !str_eqz(text, "0"));
    default:
        return shape_text(a, text);
    }
}

/* Add the values of a parameter, if it has any. */
static void put_param(struct arena *a, struct value *v, const struct params *ps, enum param_id id)
{
    struct value *list = value_list(a);
    const struct param *one;
    size_t at = 0;

    while ((one = params_next(ps, id, &at)) != NULL)
        value_push(a, list, shape_param(a, id, one->value));
    if (value_len(list) > 0)
        value_set(a, v, str_from(param_name(id)), is_list(id) ? list : value_at(list, 0));
}

struct value *named_shape(struct arena *a, const struct named_view *row, struct str origin)
{
    struct params ps = {.listed = named_params()};
    struct value *v = value_dict(a);
    struct problem p;

    value_setz(a, v, "name", shape_text(a, row->name));
    if (!str_is_null(row->title))
        value_setz(a, v, "title", shape_text(a, row->title));
    value_setz(a, v, "self", shape_text(a, named_url(a, origin, row->name)));
    value_setz(a, v, "created", shape_time(a, row->created_at));
    value_setz(a, v, "changed", shape_time(a, row->changed_at));
    if (params_add(&ps, a, row->query, &p))
        for (const enum param_id *id = ps.listed; *id != PARAM_NONE; id++)
            put_param(a, v, &ps, *id);
    return v;
}

void named_reply(struct request *req, int status, const struct value *v, struct str location)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    json_write(&out, v);
    buf_putc(&out, '\n');
    reply_buf(req, status, MEDIA_JSON, &out,
              str_is_null(location)
                  ? STR_NULL
                  : str_printf(req->ask.arena, "Location: %.*s\r\n", STR_ARG(location)));
}

static struct value *shape_listed(struct arena *a, const struct known_view *view, struct str origin)
{
    struct value *v = named_shape(a, &view->row, origin);

    if (!str_is_null(view->refused))
        value_setz(a, v, "error", shape_text(a, view->refused));
    return v;
}

static void serve_list(struct request *req)
{
    struct view_shelf *views = view_book_take(sub_book_views(req->ask.api->subs));
    struct arena *a = req->ask.arena;
    struct value *v = value_dict(a), *list = value_list(a);
    const struct known_view *one;

    for (size_t i = 0; (one = view_at(views, i)) != NULL; i++)
        value_push(a, list, shape_listed(a, one, req->ask.origin));
    value_setz(a, v, "views", list);
    named_reply(req, 200, v, STR_NULL);
    view_shelf_leave(&views);
}

void view_get(struct request *req)
{
    struct problem p;
    struct str name;

    if (!named_read(&req->ask, &name, &p)) {
        p.kind = PROBLEM_NOT_FOUND;
        reply_problem(req, &p);
    } else if (!sub_book_prepare(req, view_get)) {
        if (str_is_null(name))
            serve_list(req);
        else
            named_serve(req);
    }
}
