/* api/views/feed.c - GET /feed: the newest entries of one feed; GET /feeds: those of several feeds,
 * merged. */
#include "api/http/handlers.h"

#include <stdlib.h>

#include "api/http/reply.h"
#include "api/http/routes.h"
#include "api/views/named.h"
#include "api/views/pull.h"
#include "api/views/queries.h"
#include "api/views/sub_book.h"
#include "model/paths.h"

static void serve(struct request *req, query_read_fn *read)
{
    struct problem p;
    struct query q;

    if (read(&req->ask, &q, &p))
        pull_serve(req, q.own, &((const struct pull *)q.own)->asked);
    else
        reply_problem(req, &p);
}

static bool read_query(struct ask *ask, enum param_id urls, struct query *out, struct problem *p)
{
    struct pull *q = ARENA_NEW(ask->arena, struct pull);
    int64_t edition = sub_book_shown(ask->api->subs); /* before they are read */

    if (!pull_read(ask, q, p) || !feeds_asked_read(ask, urls, true, &q->asked, p))
        return false;
    q->edition = edition;
    q->has_sets = q->asked.has_sets;
    q->is_own = q->asked.is_own;
    q->link_urls = q->asked.urls;
    q->n_link_urls = q->asked.n_urls;
    q->link_is_feed = true;
    *out = (struct query){.asked = &q->asked,
                          .urls = q->asked.urls,
                          .n_urls = q->asked.n_urls,
                          .lasting = q->what.lasting,
                          .describe = pull_describe,
                          .own = q};
    return true;
}

static void merge(struct ask *ask, struct pull *q);

bool feed_query(struct ask *ask, struct query *out, struct problem *p)
{
    struct pull *q;

    if (!read_query(ask, PARAM_url, out, p))
        return false;
    q = out->own;
    if (q->has_sets)
        merge(ask, q);
    else
        q->id_seed = str_concat(ask->arena, STR("feed\n"), q->asked.urls[0].url);
    return true;
}

void feed_get(struct request *req)
{
    serve(req, feed_query);
}

static int by_url(const void *x, const void *y)
{
    return str_cmp(((const struct wanted_url *)x)->url, ((const struct wanted_url *)y)->url);
}

/* Returns a text that is the same for the same set of URLs, in whatever order and however often
 * they are given. */
static struct str seed_of(struct arena *a, const struct wanted_url *urls, size_t n)
{
    AUTO(buf_release) struct buf seed = BUF_INIT(BUF_ANY);
    struct wanted_url *sorted = ARENA_ARRAY(a, struct wanted_url, n + 1);

    if (n > 0)
        memcpy(sorted, urls, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_url);
    buf_puts(&seed, "feeds");
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(sorted[i].url, sorted[i - 1].url))
            continue;
        buf_putc(&seed, '\n');
        buf_str(&seed, sorted[i].url);
    }
    return str_dup(a, buf_view(&seed));
}

static void merge(struct ask *ask, struct pull *q)
{
    const struct feeds_asked *asked = &q->asked;

    q->merged = true;
    q->id_seed =
        str_concat(ask->arena, seed_of(ask->arena, asked->urls, asked->n_urls), asked->seed);
    q->title = feeds_asked_title(ask->arena, asked);
}

bool feeds_query(struct ask *ask, struct query *out, struct problem *p)
{
    if (!read_query(ask, PARAM_urls, out, p))
        return false;
    merge(ask, out->own);
    return true;
}

void feeds_get(struct request *req)
{
    serve(req, feeds_query);
}

/* ---- GET /view/NAME ---- */

/* A parameter that names feeds is not one of this resource. */
static bool names_feeds(struct str name)
{
    static const enum param_id all[] = {PARAM_urls, PARAM_of_folder, PARAM_of_sub, PARAM_of_all,
                                        PARAM_of_view};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (param_is_called(all[i], name))
            return true;
    return false;
}

static bool is_of_filter(struct str name)
{
    for (size_t i = 0; i < n_filtering_params; i++)
        if (param_is_called(filtering_params[i], name))
            return true;
    return false;
}

static bool has_param(const struct params *ps, enum param_id id)
{
    for (size_t i = 0; i < ps->n; i++)
        if (param_is_called(id, ps->items[i].name))
            return true;
    return false;
}

/* `skip` and `page` say the same in two ways, so each stands for both. */
static bool is_given(const struct params *ps, struct str name)
{
    if (param_is_called(PARAM_skip, name) || param_is_called(PARAM_page, name))
        return has_param(ps, PARAM_skip) || has_param(ps, PARAM_page);
    for (size_t i = 0; i < ps->n; i++)
        if (str_eq(ps->items[i].name, name))
            return true;
    return false;
}

/* What would add feeds, or take another view, is not ignored: the caller would get an answer to another question. An empty
 * value, as forms send it, says nothing. */
static bool names_none(struct ask *ask, const struct params *given, struct problem *p)
{
    for (size_t i = 0; i < given->n; i++) {
        const struct param *one = &given->items[i];
        const char *parameter = str_z(ask->arena, one->name);

        if (names_feeds(one->name) && str_trim(one->value).len > 0)
            return problem_parameter(p, ask->arena, parameter, one->value, NULL,
                                     "The view names its feeds itself. `%s` beside it is for "
                                     PATH_FEEDS ": " PATH_FEEDS "?view=NAME&%s=...", parameter,
                                     parameter);
    }
    return true;
}

/* The request's own parameters stand before those of the view. Its feeds and its filter come by its
 * name. */
static bool take_params(struct ask *ask, struct str name, struct problem *p)
{
    struct view_shelf *views = view_book_take(sub_book_views(ask->api->subs));
    const struct known_view *v = view_find(views, name);
    const struct params given = ask->params;
    struct params *ps = &ask->params;
    struct arena *a = ask->arena;
    bool is_put;

    *ps = params_like(&given);
    ps->listed = route_find(STR(PATH_FEEDS), STR("GET"))->params;
    is_put = params_put(ps, a, STR("view"), name, p);
    for (size_t i = 0; is_put && i < given.n; i++)
        if (!names_feeds(given.items[i].name))
            is_put = params_put(ps, a, given.items[i].name, given.items[i].value, p);
    for (size_t i = 0; is_put && v != NULL && i < v->params.n; i++) {
        const struct param *one = &v->params.items[i];

        if (!names_feeds(one->name) && !is_of_filter(one->name) && !is_given(&given, one->name))
            is_put = params_put(ps, a, str_dup(a, one->name), str_dup(a, one->value), p);
    }
    view_shelf_leave(&views);
    return is_put;
}

bool named_query(struct ask *ask, struct query *out, struct problem *p)
{
    const struct params given = ask->params;
    struct str name;

    if (named_read(ask, &name, p) && !str_is_null(name))
        return take_params(ask, name, p) && feeds_query(ask, out, p) && names_none(ask, &given, p);
    return problem_set(p, ask->arena, PROBLEM_NOT_FOUND, "There is no view with this name.");
}

void named_serve(struct request *req)
{
    serve(req, named_query);
}
