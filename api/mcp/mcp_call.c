/* api/mcp/mcp_call.c - see mcp_call.h.
 *
 * The arguments become parameters, and the route's own handler does the work: what a tool answers,
 * refuses and may do is what the route would. The handler's answer comes here (struct request,
 * `taker`). What it has may be long, so a reader thread makes the result of it. */
#include "api/mcp/mcp_call.h"

#include "api/http/body.h"
#include "api/http/current.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/mcp/mcp_shapes.h"
#include "api/views/feeds_asked.h"
#include "api/views/filtering.h"
#include "base/limits.h"

#define LIST_MAX 1000   /* feeds of a page */
#define ENTRIES_MAX 100 /* in one result, whatever `len` or `max` says */
#define BEHIND 20       /* by so many entries the next one may have moved forward in a view */

struct call {
    struct mcp_asked asked;
    struct ask ask; /* of the request itself, like the next: put back at the end */
    const struct route *route;
    mcp_called_fn *done;
    void *ctx;
};

static struct call *call_of(const struct request *req)
{
    return req->taker_ctx;
}

static void end(struct request *req, struct str result)
{
    const struct call *c = call_of(req);

    req->ask = c->ask;
    req->route = c->route;
    c->done(req, result, c->ctx);
}

static void fail(struct request *req, const struct problem *p)
{
    struct arena *a = req->ask.arena;

    end(req, mcp_result_error(a, mcp_shape_problem(a, p)));
}

/* ---- the answer ---- */

struct shaping {
    struct mcp_asked asked;
    struct blob *body;
    struct str result;
};

static void dispose(struct task *t)
{
    blob_unref(&((struct shaping *)t->data)->body);
}

static enum task_step work(struct task *t, struct reader *r UNUSED)
{
    struct shaping *s = t->data;

    t->rc = mcp_shape_answer(&t->arena, &s->asked, blob_bytes(s->body), &s->result, &t->err);
    return TASK_ENDS;
}

static void done(struct task *t, struct request *req)
{
    const struct shaping *s = t->data;
    struct problem p;

    req->taker = NULL;
    if (t->rc != RC_OK) {
        problem_of_err(&p, req->ask.arena, RC_INTERNAL, &t->err);
        fail(req, &p);
    } else {
        end(req, str_dup(req->ask.arena, s->result));
    }
}

static void on_answer(struct request *req, const struct reply *r, const struct problem *p)
{
    struct shaping *s;
    struct task *t;

    if (r == NULL) {
        fail(req, p);
        return;
    }
    req->taker = on_answer; /* there may be no room for the task */
    t = task_new(req, work, done);
    s = ARENA_NEW(&t->arena, struct shaping);
    s->asked = call_of(req)->asked;
    s->asked.position = str_dup(&t->arena, s->asked.position);
    s->asked.is_part = r->is_part;
    s->body = blob_ref(r->body);
    t->data = s;
    t->dispose = dispose;
    task_start(t);
}

/* ---- the call ---- */

static bool needs(const struct ask *ask, const struct mcp_tool *tool, struct problem *p)
{
    return tool->needs == PARAM_NONE || params_has(&ask->params, tool->needs) ||
           problem_parameter(p, ask->arena, param_name(tool->needs), STR_NULL, NULL,
                             "The argument `%s` is missing. %s", param_name(tool->needs),
                             param_row(tool->needs)->text);
}

static bool put_number(struct ask *ask, enum param_id id, size_t n, struct problem *p)
{
    return params_put(&ask->params, ask->arena, str_from(param_name(id)),
                      str_printf(ask->arena, "%zu", n), p);
}

/* Take the parameter that bounds a list, and put one that asks for `more` items, and for one
 * beside: then it is known whether something follows. */
static bool put_max(struct ask *ask, enum param_id id, size_t more, struct mcp_asked *asked,
                    struct problem *p)
{
    struct params *ps = &ask->params;
    int64_t n;
    size_t kept = 0;

    if (!params_count(ps, ask->arena, id, &n, p))
        return false;
    asked->max = (size_t)(n < ENTRIES_MAX ? n : ENTRIES_MAX);
    for (size_t i = 0; i < ps->n; i++)
        if (!param_is_called(id, ps->items[i].name))
            ps->items[kept++] = ps->items[i];
    ps->n = kept;
    return put_number(ask, id, asked->max > 0 ? asked->max + more + 1 : 0, p);
}

static bool is_filter(const struct params *ps)
{
    for (size_t i = 0; i < n_filtering_params; i++)
        if (params_has(ps, filtering_params[i]))
            return true;
    return params_has(ps, PARAM_of_view);
}

static bool put_entries(struct ask *ask, struct mcp_asked *asked, struct problem *p)
{
    size_t behind = asked->start < BEHIND ? asked->start : BEHIND;
    size_t more = str_is_null(asked->position) ? 0 : behind + MCP_AHEAD; /* to look for the next */

    if (asked->tool->shape == SHAPE_SEARCH && !params_has(&ask->params, PARAM_urls) &&
        !feeds_asked_has_sets(ask)) {
        ask->all_is_seen = true;
        if (!params_put(&ask->params, ask->arena, str_from(param_name(PARAM_of_all)), STR("1"), p))
            return false;
    }
    asked->base = asked->start - behind;
    return put_max(ask, PARAM_len, more, asked, p) && put_number(ask, PARAM_skip, asked->base, p);
}

static bool put_revisions(struct ask *ask, struct mcp_asked *asked, struct problem *p)
{
    struct params *ps = &ask->params;
    struct str since;

    asked->is_filtered = is_filter(ps);
    if (!params_one(ps, ask->arena, PARAM_since, &since, p) ||
        !put_max(ask, PARAM_max, 0, asked, p))
        return false;
    if (str_is_null(asked->position)) {
        asked->position = since;
        return true;
    }
    for (size_t i = 0; i < ps->n; i++) /* the cursor goes on from where `since` began */
        if (param_is_called(PARAM_since, ps->items[i].name))
            ps->items[i].value = asked->position;
    return !str_is_null(since) ||
           params_put(ps, ask->arena, str_from(param_name(PARAM_since)), asked->position, p);
}

/* Read the position of an item of a numbered list. False: it is none. */
static bool read_number(struct mcp_asked *asked)
{
    struct str mark = asked->position, number = str_split(&mark, '.');
    int64_t n;

    if (!str_to_i64(number, &n) || n < 0 || n > param_max(PARAM_skip) ||
        !mcp_mark_read(mark, &asked->mark))
        return false;
    asked->start = (size_t)n;
    return true;
}

static bool read_cursor(struct ask *ask, const struct value *args, struct mcp_asked *asked,
                        struct problem *p)
{
    const struct value *v = value_getz(args, MCP_CURSOR);

    asked->position = STR_NULL;
    if (!mcp_tool_pages(asked->tool) || v == NULL || v->kind == VAL_NULL)
        return true;
    if (v->kind == VAL_TEXT)
        mcp_cursor_read(v->s, &asked->position, &asked->part);
    if (asked->position.len == 0 || (asked->tool->shape != SHAPE_REVISIONS && !read_number(asked)))
        return problem_parameter(p, ask->arena, MCP_CURSOR, asked->position, NULL,
                                 "The argument `cursor` must be the next_cursor of an answer.");
    return true;
}

static bool is_known(struct arena *a, const struct mcp_tool *tool, struct str name)
{
    if (mcp_tool_pages(tool) && str_eqz(name, MCP_CURSOR))
        return true;
    for (const enum param_id *id = mcp_tool_params(a, tool); *id != PARAM_NONE; id++)
        if (str_eqz(name, param_name(*id)))
            return true;
    return false;
}

/* The names of the arguments: "a|b|c". */
static const char *names_of(struct arena *a, const struct mcp_tool *tool)
{
    struct str all = str_from(mcp_tool_pages(tool) ? MCP_CURSOR : "");

    for (const enum param_id *id = mcp_tool_params(a, tool); *id != PARAM_NONE; id++)
        all = str_printf(a, "%.*s%s%s", STR_ARG(all), all.len > 0 ? "|" : "", param_name(*id));
    return str_z(a, all);
}

/* An argument that would be left out unseen is refused: the model would believe that it counts. */
static bool knows_all(struct ask *ask, const struct mcp_tool *tool, const struct value *args,
                      struct problem *p)
{
    struct arena *a = ask->arena;

    for (uint32_t i = 0; args != NULL && args->kind == VAL_DICT && i < args->len; i++) {
        struct str name = args->members[i].key;

        if (!is_known(a, tool, name))
            return problem_parameter(p, a, "arguments", STR_NULL, names_of(a, tool),
                                     "The tool %s has no argument `%.*s`.", tool->name,
                                     STR_ARG(str_beginning(name, 100)));
    }
    return true;
}

/* Make parameters of the arguments. */
static bool read_args(struct ask *ask, const struct value *args, struct mcp_asked *asked,
                      struct problem *p)
{
    const struct mcp_tool *tool = asked->tool;

    if (!knows_all(ask, tool, args, p))
        return false;
    for (const enum param_id *id = mcp_tool_params(ask->arena, tool); *id != PARAM_NONE; id++)
        if (!body_params_put(&ask->params, ask->arena, param_name(*id),
                             value_get(args, str_from(param_name(*id))), p))
            return false;
    if (!needs(ask, tool, p) || !read_cursor(ask, args, asked, p) ||
        !params_add(&ask->params, ask->arena, str_from(tool->fixed), p))
        return false;
    asked->max = LIST_MAX;
    if (tool->shape == SHAPE_ENDED)
        return params_id(&ask->params, ask->arena, PARAM_id, &asked->id, p);
    if (tool->shape == SHAPE_ENTRIES || tool->shape == SHAPE_SEARCH)
        return put_entries(ask, asked, p);
    return tool->shape != SHAPE_REVISIONS || put_revisions(ask, asked, p);
}

void mcp_call(struct request *req, const struct mcp_tool *tool, const struct value *args,
              mcp_called_fn *done_fn, void *ctx)
{
    struct call *c = ARENA_NEW(req->ask.arena, struct call);
    struct problem p;

    *c = (struct call){
        .asked = {.tool = tool}, .ask = req->ask, .route = req->route, .done = done_fn, .ctx = ctx};
    req->taker_ctx = c;
    req->route = mcp_tool_route(tool);
    req->ask.params = (struct params){.listed = req->route->params, .cfg = req->ask.cfg};
    req->ask.target = str_from(req->route->path);
    req->ask.accept = STR_NULL;
    req->is_prepared = req->has_caught_up = false; /* by a call before */
    req->again = NULL;
    req->on_gone = NULL;
    if (!read_args(&req->ask, args, &c->asked, &p)) {
        fail(req, &p);
        return;
    }
    req->taker = on_answer;
    current_handle(req, feeds_asked_handle);
}
