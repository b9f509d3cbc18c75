/* api/views/named_put.c - PUT and DELETE /view/NAME. */
#include "api/http/body.h"
#include "api/http/first_fetches.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/views/asks.h"
#include "api/views/named.h"
#include "api/views/pull.h"
#include "base/clock.h"
#include "net/http_fields.h"
#include "net/url.h"

struct change { /* in the task's arena */
    struct named_view view;
    bool by_admin, drops;
    bool only_new;       /* one that is there is not replaced */
    bool is_new;         /* it was made */
    struct wanted_url *unknown; /* its feeds that are not known yet */
    size_t n_unknown;
};

/* ---- the definition -------------------------------------------------------------------------- */

/* Whoever changes a view, its sets are its maker's. */
static struct caller maker_of(struct ask *ask, struct str name)
{
    struct view_shelf *views = view_book_take(sub_book_views(ask->api->subs));
    const struct known_view *v = view_find(views, name);
    struct caller maker = v == NULL ? ask->caller : view_maker(&v->row);

    view_shelf_leave(&views);
    return maker;
}

static bool check_urls(struct ask *ask, const struct feeds_asked *asked, struct problem *p)
{
    for (size_t i = 0; i < asked->n_urls; i++)
        if (!str_is_null(asked->urls[i].credential))
            return problem_parameter(p, ask->arena, "url", STR_NULL, NULL,
                                     "All may read a named view, so its URLs must not have a user "
                                     "name or a password.");
    return true;
}

/* Read everything as a GET would, so that what is stored can be served. */
static bool check(struct ask *ask, struct str name, struct feeds_asked *asked, struct problem *p)
{
    struct ask as_maker = *ask;
    struct pull *q = ARENA_NEW(ask->arena, struct pull);
    const struct param *one;
    size_t at = 0;

    as_maker.accept = STR_NULL;
    as_maker.caller = maker_of(ask, name);
    while ((one = params_next(&ask->params, PARAM_of_view, &at)) != NULL)
        if (str_eq(str_trim(one->value), name))
            return problem_parameter(p, ask->arena, "view", name, NULL,
                                     "The view would name itself.");
    *q = (struct pull){.merged = true};
    return pull_read(&as_maker, q, p) && feeds_asked_read(&as_maker, PARAM_urls, true, asked, p) &&
           check_urls(ask, asked, p);
}

static struct str query_of(struct ask *ask)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (const enum param_id *id = ask->params.listed; *id != PARAM_NONE; id++) {
        const struct param *one;
        size_t at = 0;

        while (*id != PARAM_view_title &&
               (one = params_next(&ask->params, *id, &at)) != NULL)
            if (str_trim(one->value).len > 0 || param_row(*id)->kind == PARAM_KIND_FLAG)
                buf_printf(&out, "%s%s=%.*s", out.len > 0 ? "&" : "", param_name(*id),
                           STR_ARG(url_encode(ask->arena, one->value)));
    }
    return str_dup(ask->arena, buf_view(&out));
}

/* The views that it names, each once. */
static bool read_uses(struct ask *ask, struct str *out, struct problem *p)
{
    struct str names[VIEW_USES_MAX];
    const struct param *one;
    size_t at = 0, n = 0, i;

    *out = STR_NULL;
    while ((one = params_next(&ask->params, PARAM_of_view, &at)) != NULL) {
        struct str name = str_trim(one->value);

        for (i = 0; i < n && !str_eq(names[i], name); i++)
            ;
        if (name.len == 0 || i < n)
            continue;
        if (n == VIEW_USES_MAX)
            return problem_parameter(p, ask->arena, "view", STR_NULL, NULL,
                                     "A view may name %d others at most.", VIEW_USES_MAX);
        names[n++] = name;
        *out = n == 1 ? name
                      : str_printf(ask->arena, "%.*s %.*s", STR_ARG(*out), STR_ARG(name));
    }
    return true;
}

static bool read_title(struct ask *ask, struct str *title, struct problem *p)
{
    if (!params_optional(&ask->params, ask->arena, PARAM_view_title, title, p))
        return false;
    *title = str_is_null(*title) ? *title : str_trim(*title);
    if (title->len <= (size_t)param_max(PARAM_view_title) &&
        str_utf8_valid(*title) == title->len)
        return true;
    return problem_parameter(p, ask->arena, "title", STR_NULL, NULL,
                             "The parameter `title` must be UTF-8, of at most %lld bytes.",
                             (long long)param_max(PARAM_view_title));
}

static bool define(struct ask *ask, struct str name, struct named_view *out,
                   struct feeds_asked *asked, struct problem *p)
{
    *out = (struct named_view){.name = name,
                               .owner = ask->caller.owner,
                               .role = ask->caller.role,
                               .created_at = clock_now_s(),
                               .changed_at = clock_now_s()};
    if (!check(ask, name, asked, p) || !read_title(ask, &out->title, p) ||
        !read_uses(ask, &out->uses, p))
        return false;
    out->query = query_of(ask);
    if (str_utf8_valid(out->query) != out->query.len)
        return problem_set(p, ask->arena, PROBLEM_BAD_PARAMETER, "The parameters must be UTF-8.");
    if (out->query.len <= VIEW_QUERY_MAX)
        return true;
    return problem_set(p, ask->arena, PROBLEM_TOO_LARGE,
                       "The definition has %zu bytes; at most %d are kept.", out->query.len,
                       VIEW_QUERY_MAX);
}

/* ---- storing --------------------------------------------------------------------------------- */

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct task *t = ctx;
    struct change *c = t->data;

    t->rc = rc;
    if (rc == RC_OK && !c->drops) {
        c->is_new = res->id == 1;
        c->view.created_at = res->created_at;
        c->view.changed_at = res->changed_at;
    } else if (rc != RC_OK && err != NULL) {
        t->err = *err;
    }
    task_finish(t);
}

/* Its feeds are known before it is, so streams of the view have them from the first. */
static void add_feeds(struct task *t, const struct change *c)
{
    for (size_t i = 0; i < c->n_unknown; i++) {
        struct feed_ref ref = {.url = c->unknown[i].url,
                               .credential = STR_NULL,
                               .shown_url = c->unknown[i].shown};

        if (store_add_feed(t->api->store, &ref, NULL, NULL) != RC_OK)
            return; /* whoever reads the view adds the rest */
    }
}

/* A subscription that begins to follow it in this very moment finds no view later, and keeps what it has. */
static enum rc check_users(struct task *t, struct reader *r, const struct change *c)
{
    int64_t id = 0;
    enum rc rc = c->drops ? asks_user(r, c->view.name, &id, &t->err) : RC_OK;

    return rc != RC_OK || id == 0 ? rc
                                  : err_set(&t->err, RC_CONFLICT,
                                            "The view %.*s is in use: subscription %lld follows it.",
                                            STR_ARG(c->view.name), (long long)id);
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct change *c = t->data;
    enum rc rc = check_users(t, r, c);

    t->rc = rc;
    if (rc != RC_OK)
        return TASK_ENDS;
    add_feeds(t, c);
    rc = c->drops ? store_view_drop(t->api->store, c->view.name, c->view.owner, c->by_admin,
                                    on_stored, t)
                  : store_view_put(t->api->store, &c->view, c->by_admin, c->only_new, on_stored, t);
    return task_handed_over(t, rc);
}

static void reply_failed(struct task *t, struct request *req)
{
    const struct change *c = t->data;
    struct problem p;

    problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    if (t->rc == RC_DENIED)
        p.kind = PROBLEM_FORBIDDEN;
    if (t->rc == RC_CONFLICT)
        p.kind = c->only_new ? PROBLEM_PRECONDITION : PROBLEM_IN_USE;
    if (t->rc == RC_INPUT || t->rc == RC_NOT_FOUND)
        p.parameter = STR("view");
    if (t->rc == RC_DENIED || t->rc == RC_CONFLICT)
        p.detail = str_dup(req->ask.arena, str_from(t->err.text));
    reply_problem(req, &p);
}

static void done(struct task *t, struct request *req)
{
    const struct change *c = t->data;
    struct arena *a = req->ask.arena;

    if (t->rc != RC_OK) {
        reply_failed(t, req);
    } else if (c->drops) {
        struct reply r = REPLY_INIT;

        r.status = 204;
        r.cache = "no-store";
        reply_send(req, &r);
    } else {
        struct value *v = named_shape(a, &c->view, req->ask.origin);

        named_reply(req, c->is_new ? 201 : 200, v,
                    c->is_new ? named_url(a, req->ask.origin, c->view.name) : STR_NULL);
    }
}

/* Nothing that is there is to be replaced (RFC 9110, 13.1.2). Entity tags are those of documents, which no PUT makes. */
static bool wants_only_new(const struct request *req)
{
    return str_eqz(str_trim(http_request_field(req->http, "if-none-match")), "*");
}

static void start(struct request *req, const struct named_view *view, bool drops,
                  const struct wanted_url *unknown, size_t n)
{
    struct task *t = task_new(req, work, done);
    struct change *c = ARENA_NEW(&t->arena, struct change);
    struct arena *a = &t->arena;

    *c = (struct change){.view = *view,
                         .by_admin = req->ask.caller.role == ROLE_ADMIN,
                         .drops = drops,
                         .only_new = !drops && wants_only_new(req),
                         .unknown = ARENA_ARRAY(a, struct wanted_url, n + 1),
                         .n_unknown = n};
    c->view.name = str_dup(a, view->name);
    c->view.title = str_is_null(view->title) ? STR_NULL : str_dup(a, view->title);
    c->view.query = str_dup(a, view->query);
    c->view.uses = str_dup(a, view->uses);
    for (size_t i = 0; i < n; i++)
        c->unknown[i] = (struct wanted_url){.url = str_dup(a, unknown[i].url),
                                            .credential = STR_NULL,
                                            .shown = str_dup(a, unknown[i].shown)};
    t->data = c;
    task_start(t);
}

static bool read_name(struct request *req, struct str *name, struct problem *p)
{
    if (!named_read(&req->ask, name, p))
        return false;
    if (!str_is_null(*name))
        return true;
    return problem_set(p, req->ask.arena, PROBLEM_NOT_FOUND,
                       "The path must end in the name of a view, for example /view/harbour.");
}

/* The URLs that no feed is known by. What a stranger adds counts as what it would read. */
static bool unknown_of(struct ask *ask, const struct feeds_asked *asked, struct wanted_url *out,
                       size_t *n, struct problem *p)
{
    struct feed_brief brief;
    int64_t wait_s;

    *n = 0;
    for (size_t i = 0; i < asked->n_urls; i++)
        if (!store_find_feed(ask->api->store, asked->urls[i].url, STR_NULL, &brief))
            out[(*n)++] = asked->urls[i];
    if (*n == 0 || ask->caller.owner > 0 || ask->caller.owner == OWNER_OPTION ||
        first_fetches_take_all(ask->api, ask->cfg, &ask->caller, *n, &wait_s))
        return true;
    first_fetches_problem(p, ask->arena, wait_s);
    return false;
}

static bool has_definition(const struct known_view *v, const struct named_view *in)
{
    return str_eq(v->row.query, in->query) &&
           (str_eq(v->row.title, in->title) || v->row.title.len + in->title.len == 0);
}

/* The same definition once more, by somebody who may change it: that is answered, and nothing is stored. A change would
 * have all views read anew and all their streams looked at. */
static bool was_defined_so(struct request *req, const struct named_view *in)
{
    struct view_shelf *views = view_book_take(sub_book_views(req->ask.api->subs));
    const struct known_view *v = view_find(views, in->name);
    bool is_so = v != NULL && has_definition(v, in) &&
                 (req->ask.caller.role == ROLE_ADMIN || v->row.owner == in->owner);

    if (is_so)
        named_reply(req, 200, named_shape(req->ask.arena, &v->row, req->ask.origin), STR_NULL);
    view_shelf_leave(&views);
    return is_so;
}

static void put(struct request *req)
{
    struct feeds_asked asked;
    struct named_view view;
    struct wanted_url *unknown;
    struct problem p;
    struct str name;
    size_t n;

    if (!read_name(req, &name, &p) || !define(&req->ask, name, &view, &asked, &p)) {
        reply_problem(req, &p);
        return;
    }
    if (!wants_only_new(req) && was_defined_so(req, &view))
        return;
    unknown = ARENA_ARRAY(req->ask.arena, struct wanted_url, asked.n_urls + 1);
    if (unknown_of(&req->ask, &asked, unknown, &n, &p))
        start(req, &view, false, unknown, n);
    else
        reply_problem(req, &p);
}

/* The body was read. Its sets are looked up in the books. */
static void on_body(struct request *req)
{
    if (!sub_book_prepare(req, on_body))
        put(req);
}

void view_put(struct request *req)
{
    struct problem p;

    if (body_params_add(&req->ask.params, req->ask.arena, http_request_body(req->http),
                        http_request_field(req->http, "content-type"), NAMED_TOLD, &p))
        on_body(req);
    else
        reply_problem(req, &p);
}

void view_delete(struct request *req)
{
    struct named_view view = {.owner = req->ask.caller.owner};
    struct problem p;

    if (read_name(req, &view.name, &p))
        start(req, &view, true, NULL, 0);
    else
        reply_problem(req, &p);
}
