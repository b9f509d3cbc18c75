/* api/lists/sub_view.c - see sub_view.h. */
#include "api/lists/sub_view.h"

#include "api/http/routes.h"
#include "api/views/sub_book.h"
#include "model/paths.h"

bool sub_view_may_be_named(struct request *req)
{
    return str_find(http_request_query(req->http), STR("view")) >= 0 ||
           str_find(http_request_body(req->http), STR("view")) >= 0;
}

bool sub_view_is_named(const struct params *ps)
{
    const struct param *one;
    size_t at = 0;

    while ((one = params_next(ps, PARAM_of_view, &at)) != NULL)
        if (str_trim(one->value).len > 0)
            return true;
    return false;
}

static struct ask ask_of(struct task *t)
{
    struct ask ask = {.api = t->api, .cfg = t->cfg, .arena = &t->arena, .caller = t->caller};

    ask.params.listed = route_find(STR(PATH_FEEDS), STR("GET"))->params;
    return ask;
}

/* Add the values of a parameter of the request. */
static bool put_all(struct ask *ask, const struct params *ps, enum param_id id, struct problem *p)
{
    const struct param *one;
    size_t at = 0;

    while ((one = params_next(ps, id, &at)) != NULL)
        if (str_trim(one->value).len > 0 && !params_put(&ask->params, ask->arena, one->name, one->value, p))
            return false;
    return true;
}

/* The feeds and the filter that this comes to. */
static bool find(struct task *t, struct reader *r, const struct ask *ask, struct sub_view *out, struct problem *p)
{
    enum rc rc = sub_book_refresh(t->api->subs, r, &t->err);

    if (rc != RC_OK) {
        problem_of_err(p, &t->arena, rc, &t->err);
        return false;
    }
    out->asks = asks_write(ask, out->filter);
    return asks_find(t->api, &t->arena, out->asks, &out->found, p);
}

bool sub_view_read(struct task *t, struct reader *r, const struct params *ps, struct str filter,
                   struct sub_view *out, struct problem *p)
{
    struct ask ask = ask_of(t);

    *out = (struct sub_view){.filter = filter};
    return put_all(&ask, ps, PARAM_new_urls, p) && put_all(&ask, ps, PARAM_of_view, p) && find(t, r, &ask, out, p);
}

/* Take the views out of an ask. Returns whether it still names feeds. */
static bool drop_views(struct ask *ask)
{
    struct params *ps = &ask->params;
    size_t n = 0;

    for (size_t i = 0; i < ps->n; i++)
        if (!param_is_called(PARAM_of_view, ps->items[i].name))
            ps->items[n++] = ps->items[i];
    ps->n = n;
    return params_has(ps, PARAM_urls) || feeds_asked_has_sets(ask);
}

bool sub_view_change(struct task *t, struct reader *r, const struct params *ps, const struct subscription *sub,
                     struct sub_view *out, struct problem *p)
{
    bool followed = !str_is_null(sub->asks), changes = params_has(ps, PARAM_of_view), goes_on = followed;
    struct str own = followed ? asks_filter(&t->arena, sub->asks) : sub->filter;
    struct ask ask = ask_of(t), old;

    *out = (struct sub_view){.asks = STR_NULL};
    if (sub->list != NULL && sub_view_is_named(ps))
        return problem_parameter(p, &t->arena, "view", STR_NULL, NULL,
                                 "This subscription follows a list; it cannot follow a view, too.");
    if (!filtering_change(ps, &t->arena, own, &out->filter, p))
        return false;
    if (followed && asks_read(&t->arena, sub->asks, &old)) {
        ask.params = old.params;
        ask.caller = old.caller;
    }
    if (changes) {
        goes_on = drop_views(&ask) || sub_view_is_named(ps);
        if (!put_all(&ask, ps, PARAM_of_view, p))
            return false;
    }
    if (goes_on)
        return find(t, r, &ask, out, p);
    if (changes)
        out->asks = STR("");
    return true;
}
