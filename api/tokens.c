/* api/tokens.c - GET, POST and DELETE /tokens: the tokens of callers.
 *
 * A token is told once, in the answer to its POST; what is kept is its digest. Before an answer is
 * sent this node knows of the change; other nodes learn of it within a second. */
#include "api/http/handlers.h"

#include "api/http/body.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/http/token_book.h"
#include "api/http/token_terms.h"
#include "api/rights.h"
#include "api/views/shapes.h"
#include "feed/text/json.h"
#include "model/media_types.h"

struct change {
    struct str query, body, content_type;
    struct params params;
    struct token token; /* DELETE: its id */
    struct str secret;  /* the token that was made; null: none */
    bool failed;        /* then problem says why */
    struct problem problem;
};

/* ---- what is shown --------------------------------------------------------------------------- */

static struct value *shape_token(struct arena *a, const struct token *t)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "id", value_int(a, t->id));
    value_setz(a, v, "name", shape_text(a, t->name));
    value_setz(a, v, "role", value_text(a, str_from(role_name(t->role))));
    value_setz(a, v, "rate", t->rate == 0 ? value_null(a) : value_int(a, t->rate));
    value_setz(a, v, "expires", shape_time(a, t->expires_at));
    value_setz(a, v, "created", shape_time(a, t->created_at));
    value_setz(a, v, "used", shape_time(a, t->used_at));
    return v;
}

static void reply_json(struct request *req, int status, const struct value *v)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    json_write(&out, v);
    buf_putc(&out, '\n');
    reply_buf(req, status, MEDIA_JSON, &out, STR_NULL);
}

/* ---- the list -------------------------------------------------------------------------------- */

static enum task_step work_list(struct task *t, struct reader *r)
{
    struct value *v = value_dict(&t->arena), *list = value_list(&t->arena);
    struct token *tokens = NULL;
    size_t n = 0;

    t->rc = reader_tokens(r, &t->arena, &tokens, &n, &t->err);
    for (size_t i = 0; i < n; i++)
        if (tokens[i].session_of == 0)
            value_push(&t->arena, list, shape_token(&t->arena, &tokens[i]));
    value_setz(&t->arena, v, "tokens", list);
    t->data = v;
    return TASK_ENDS;
}

static void reply_list(struct task *t, struct request *req)
{
    struct problem p;

    if (t->rc == RC_OK) {
        reply_json(req, 200, t->data);
        return;
    }
    problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    reply_problem(req, &p);
}

void tokens_get(struct request *req)
{
    task_start(task_new(req, work_list, reply_list));
}

/* ---- changes --------------------------------------------------------------------------------- */

static enum task_step fail(struct task *t, enum rc rc, const struct err *err)
{
    struct change *c = t->data;

    c->failed = true;
    if (rc != RC_OK) /* else the problem was set */
        problem_of_err(&c->problem, &t->arena, rc, err);
    if (rc == RC_NOT_FOUND)
        c->problem.parameter = STR("id");
    return TASK_ENDS;
}

/* On a reader thread: learn what was changed. */
static void on_reader(void *ctx, struct reader *r)
{
    struct task *t = ctx;
    enum rc rc = token_book_read(t->api->tokens, r, &t->err);

    if (rc != RC_OK)
        fail(t, rc, &t->err);
    task_finish(t);
}

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct task *t = ctx;
    struct change *c = t->data;

    if (str_is_null(c->secret)) { /* deleted now, or before: no reading is needed to know it */
        if (rc == RC_OK || rc == RC_NOT_FOUND)
            rights_forget(t->api, c->token.id);
        if (rc != RC_OK)
            fail(t, rc, err);
        task_finish(t);
        return;
    }
    if (rc == RC_OK && c->token.id == 0)
        c->token.id = res->id;
    if (rc == RC_OK && (rc = store_read(t->api->store, on_reader, t)) == RC_OK)
        return;
    fail(t, rc, err);
    task_finish(t);
}

static enum task_step handed_over(struct task *t, enum rc rc)
{
    return rc == RC_OK ? TASK_GOES_ON : fail(t, rc, NULL);
}

static bool read_body(struct task *t, struct change *c)
{
    return params_add(&c->params, &t->arena, c->query, &c->problem) &&
           body_params_add(&c->params, &t->arena, c->body, c->content_type,
                           "id|name|role|rate|expires|created|used", &c->problem);
}

static bool read_terms(struct task *t, struct change *c)
{
    struct arena *a = &t->arena;
    struct str name, role, rate, expires;
    struct err err = ERR_INIT;
    const char *wrong;

    if (!params_one(&c->params, a, PARAM_token_name, &name, &c->problem) ||
        !params_one(&c->params, a, PARAM_token_role, &role, &c->problem) ||
        !params_optional(&c->params, a, PARAM_token_rate, &rate, &c->problem) ||
        !params_optional(&c->params, a, PARAM_token_expires, &expires, &c->problem))
        return false;
    if (token_terms_read(name, role, rate, expires, &c->token, &wrong, &err) != RC_OK)
        return problem_parameter(&c->problem, a, wrong, STR_NULL,
                                 strcmp(wrong, param_name(PARAM_token_role)) == 0
                                     ? param_row(PARAM_token_role)->values
                                     : NULL,
                                 "%s", err.text);
    return true;
}

static enum task_step work_post(struct task *t, struct reader *r UNUSED)
{
    struct change *c = t->data;

    if (!read_body(t, c) || !read_terms(t, c))
        return fail(t, RC_OK, NULL);
    c->secret = token_make(&t->arena, &c->token);
    return handed_over(t, store_token_add(t->api->store, &c->token, on_stored, t));
}

static enum task_step work_delete(struct task *t, struct reader *r UNUSED)
{
    struct change *c = t->data;

    if (!read_body(t, c) ||
        !params_id(&c->params, &t->arena, PARAM_token_id, &c->token.id, &c->problem))
        return fail(t, RC_OK, NULL);
    return handed_over(t, store_token_drop(t->api->store, c->token.id, on_stored, t));
}

static void reply_change(struct task *t, struct request *req)
{
    const struct change *c = t->data;
    struct reply r = REPLY_INIT;
    struct value *v;

    if (c->failed) {
        reply_problem(req, &c->problem);
    } else if (str_is_null(c->secret)) {
        r.status = 204;
        r.cache = "no-store";
        reply_send(req, &r);
    } else {
        v = shape_token(&t->arena, &c->token);
        value_set_textz(&t->arena, v, "token", c->secret);
        reply_json(req, 201, v);
    }
}

static void start(struct request *req, task_work_fn *work)
{
    struct task *t = task_new(req, work, reply_change);
    struct change *c = ARENA_NEW(&t->arena, struct change);

    c->query = str_dup(&t->arena, http_request_query(req->http));
    c->body = str_dup(&t->arena, http_request_body(req->http));
    c->content_type = str_dup(&t->arena, http_request_field(req->http, "content-type"));
    c->params = params_like(&req->ask.params);
    t->data = c;
    task_start(t);
}

void tokens_post(struct request *req)
{
    start(req, work_post);
}

void tokens_delete(struct request *req)
{
    start(req, work_delete);
}
