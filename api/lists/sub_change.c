/* api/lists/sub_change.c - PATCH /sub: change a subscription. */
#include "api/http/handlers.h"

#include "api/http/body.h"
#include "api/http/reply.h"
#include "api/lists/keep_read.h"
#include "api/lists/sub_delivery.h"
#include "api/lists/sub_mirror.h"
#include "api/lists/sub_names.h"
#include "api/lists/sub_shown.h"
#include "api/lists/sub_endpoint.h"
#include "api/lists/sub_sink.h"
#include "api/lists/sub_view.h"
#include "api/views/filtering.h"
#include "api/views/shapes.h"
#include "base/buf.h"
#include "feed/text/json.h"
#include "model/sinks.h"
#include "net/http_fields.h"
#include "storage/pushes.h"

struct patching {
    struct sub_shown shown; /* first */
    struct str query, body, content_type;
    struct params params;
    struct subscription *sub; /* as it was read */
    struct sub_change change;
    struct sub_view view; /* what it follows from now on */
};

/* ---- the body -------------------------------------------------------------------------------- */

enum { TEXT = 1 << VAL_TEXT, INT = 1 << VAL_INT, BOOL = 1 << VAL_BOOL, LIST = 1 << VAL_LIST };
#define NONE (1 << VAL_NULL)

/* The members of a JSON body. Each becomes a parameter, so that both kinds of bodies are checked
 * alike. */
static const struct member {
    enum param_id id;
    unsigned kinds;
    const char *right; /* what completes "must be" */
} members[] = {
    {PARAM_id, INT, "a whole number"},
    {PARAM_title, TEXT | NONE, "a text, or null for none"},
    {PARAM_folder, TEXT | NONE, "a text, or null for none"},
    {PARAM_freq, INT, "a whole number"},
    {PARAM_mirror, BOOL | TEXT, "true or false"},
    {PARAM_events, TEXT | LIST, "a list of texts"},
    {PARAM_batch, INT, "a whole number"},
    {PARAM_endpoint, TEXT, "a text"},
    {PARAM_sink, TEXT, "a text"},
    {PARAM_secret, TEXT, "a text"},
    {PARAM_paused, BOOL, "true or false"},
    {PARAM_keep, TEXT | INT | NONE, "a text, a number, or null for none"},
    {PARAM_keep_entries, INT | NONE, "a whole number, or null for none"},
    {PARAM_header, TEXT | NONE, "a text, or null for none"},
    {PARAM_of_view, TEXT | LIST | NONE, "a text, a list of texts, or null for none"},
    {PARAM_q, TEXT | NONE, "a text, or null for none"},
    {PARAM_author, TEXT | LIST | NONE, "a text, a list of texts, or null for none"},
    {PARAM_category, TEXT | LIST | NONE, "a text, a list of texts, or null for none"},
    {PARAM_lang, TEXT | LIST | NONE, "a text, a list of texts, or null for none"},
    {PARAM_has, TEXT | LIST | NONE, "a text, a list of texts, or null for none"},
    {PARAM_after, TEXT | INT | NONE, "a text, a number, or null for none"},
    {PARAM_before, TEXT | INT | NONE, "a text, a number, or null for none"},
};

static bool put_param(struct patching *pt, struct arena *a, struct str name, struct str value)
{
    return params_put(&pt->params, a, name, value, &pt->shown.problem);
}

/* Make a member of the body a parameter. */
static bool put_member(struct patching *pt, struct arena *a, const struct member *m,
                       struct str name, const struct value *v)
{
    bool fits = (m->kinds & 1u << v->kind) != 0;

    for (size_t i = 0; v->kind == VAL_LIST && i < value_len(v); i++)
        fits = fits && value_at(v, i)->kind == VAL_TEXT;
    if (!fits)
        return problem_parameter(&pt->shown.problem, a, str_z(a, name), STR_NULL, NULL,
                                 "The member `%.*s` of the JSON body must be %s.", STR_ARG(name),
                                 m->right);
    switch (v->kind) {
    case VAL_BOOL:
        return put_param(pt, a, name, v->b ? STR("1") : STR("0"));
    case VAL_INT:
        return put_param(pt, a, name, str_printf(a, "%lld", (long long)v->i));
    case VAL_TEXT:
        return put_param(pt, a, name, v->s);
    case VAL_LIST:
        if (value_len(v) == 0)
            return put_param(pt, a, name, STR(""));
        for (size_t i = 0; i < value_len(v); i++)
            if (!put_param(pt, a, name, value_at(v, i)->s))
                return false;
        return true;
    default:
        return put_param(pt, a, name, STR(""));
    }
}

/* Returns what a member may be; NULL: it cannot be changed. */
static const struct member *find_member(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (param_is_called(members[i].id, name))
            return &members[i];
    return NULL;
}

static bool put_named(struct patching *pt, struct arena *a, struct str name, const struct value *v)
{
    const struct member *m = find_member(name);

    if (m != NULL)
        return put_member(pt, a, m, name, v);
    return body_is_told(SHAPE_SUB_TOLD, name) || body_member_unknown(&pt->shown.problem, a, name);
}

static bool is_of_filter(struct str name)
{
    for (size_t i = 0; i < n_filtering_params; i++)
        if (str_eqz(name, param_name(filtering_params[i])))
            return true;
    return false;
}

/* The member `filter`, as GET shows it: the whole filter, so what it lacks is taken away. */
static bool put_filter(struct patching *pt, struct arena *a, const struct value *v)
{
    struct value *none = value_null(a);

    if (v->kind != VAL_DICT && v->kind != VAL_NULL)
        return problem_parameter(&pt->shown.problem, a, "filter", STR_NULL, NULL,
                                 "The member `filter` of the JSON body must be an object, for "
                                 "example {\"q\":\"harbour\"}, or null for none.");
    for (size_t i = 0; v->kind == VAL_DICT && i < value_len(v); i++)
        if (!is_of_filter(v->members[i].key))
            return problem_parameter(&pt->shown.problem, a, "filter", v->members[i].key, NULL,
                                     "The member `filter` of the JSON body can have q, author, "
                                     "category, lang, has, after and before, but not this member.");
    for (size_t i = 0; i < n_filtering_params; i++) {
        struct str name = str_from(param_name(filtering_params[i]));
        const struct value *given = v->kind == VAL_DICT ? value_get(v, name) : NULL;

        if (!put_named(pt, a, name, given == NULL ? none : given))
            return false;
    }
    return true;
}

static bool read_json(struct patching *pt, struct arena *a)
{
    struct problem *p = &pt->shown.problem;
    struct err err = ERR_INIT;
    struct value *all;

    if (json_read(a, pt->body, &all, &err) != RC_OK)
        return problem_set(p, a, PROBLEM_BAD_BODY, "The body is not JSON: %s.", err.text);
    if (json_has_nul(pt->body))
        return problem_set(p, a, PROBLEM_BAD_BODY, BODY_HAS_NUL);
    if (all->kind != VAL_DICT)
        return problem_set(p, a, PROBLEM_BAD_BODY,
                           "The body must be a JSON object, for example {\"paused\":true}.");
    for (size_t i = 0; i < value_len(all); i++) {
        struct str name = all->members[i].key;
        const struct value *v = all->members[i].val;

        if (!(str_eqz(name, "filter") ? put_filter(pt, a, v) : put_named(pt, a, name, v)))
            return false;
    }
    return true;
}

static bool read_body(struct patching *pt, struct arena *a)
{
    struct problem *p = &pt->shown.problem;
    struct str type = str_trim(pt->content_type);

    if (!params_add(&pt->params, a, pt->query, p))
        return false;
    if (str_trim(pt->body).len == 0)
        return true;
    if (type.len > 0)
        type = http_media_type(a, type);
    if (str_eqz(type, "application/json") || (type.len == 0 && str_trim(pt->body).ptr[0] == '{'))
        return read_json(pt, a);
    if (type.len == 0 || str_eqz(type, "application/x-www-form-urlencoded"))
        return params_add(&pt->params, a, str_trim(pt->body), p);
    problem_set(p, a, PROBLEM_MEDIA_TYPE,
                "The body must be a form (application/x-www-form-urlencoded) or a JSON object "
                "(application/json).");
    p->value = str_slice(pt->content_type, 0, str_utf8_valid(pt->content_type));
    return false;
}

/* ---- the change ------------------------------------------------------------------------------ */

static bool read_paused(struct patching *pt, struct arena *a)
{
    struct problem *p = &pt->shown.problem;
    struct str value;

    if (!params_one(&pt->params, a, PARAM_paused, &value, p))
        return false;
    if (str_is_null(value))
        return true;
    if (!str_eqz(value, "0") && !str_eqz(value, "1"))
        return problem_parameter(p, a, "paused", value, "1|0",
                                 "The parameter `paused` must be 1 or 0; in JSON: true or false.");
    pt->change.has_state = true;
    pt->change.state = str_eqz(value, "1") ? SUB_PAUSED : SUB_ACTIVE;
    return true;
}

/* A subscription without an endpoint gets one: what comes from now on is pushed. */
static bool begin_pushing(struct task *t, struct patching *pt)
{
    struct sub_sink sink;

    if (!sub_sink_read(&pt->params, &t->arena, pt->change.endpoint, &sink, &pt->shown.problem))
        return false;
    pt->change.sink = sink.name;
    pt->change.sink_settings = sink.settings;
    pt->shown.secret = sink.secret;
    pt->change.has_position = true;
    pt->change.position = store_last_seq(t->api->store);
    return true;
}

/* Read what the sink alone knows. */
static bool read_settings(struct task *t, struct reader *r, struct patching *pt)
{
    struct str stored, sink = str_is_null(pt->sub->endpoint) ? STR_NULL : pt->sub->sink;
    enum rc rc = reader_sink_settings(r, pt->shown.id, &t->arena, &stored, &t->err);

    if (rc != RC_OK) {
        problem_of_err(&pt->shown.problem, &t->arena, rc, &t->err);
        return false;
    }
    return sub_sink_change(&pt->params, &t->arena, sink, stored, &pt->change.sink_settings,
                           &pt->shown.problem);
}

static bool read_endpoint(struct task *t, struct reader *r, struct patching *pt)
{
    struct problem *p = &pt->shown.problem;
    struct wanted_url endpoint;

    if (!sub_endpoint_read(&pt->params, &t->arena, t->cfg, &endpoint, p))
        return false;
    pt->change.endpoint = endpoint.url;
    pt->change.endpoint_credential = endpoint.credential;
    if (!str_is_null(endpoint.url) && str_is_null(pt->sub->endpoint))
        return begin_pushing(t, pt);
    if (!str_is_null(endpoint.url) && !sub_endpoint_fits(&t->arena, endpoint.url, pt->sub->sink, p))
        return false;
    return read_settings(t, r, pt);
}

/* Read the filter, and what the subscription follows. Empty: none from now on. */
static bool read_filter(struct task *t, struct reader *r, struct patching *pt)
{
    if (!sub_view_change(t, r, &pt->params, pt->sub, &pt->view, &pt->shown.problem))
        return false;
    pt->change.asks = pt->view.asks;
    pt->change.filter = pt->view.asks.len > 0 ? pt->view.found.filter : pt->view.filter;
    if (str_is_null(pt->change.filter))
        pt->change.filter = STR("");
    return true;
}

static bool read_change(struct task *t, struct reader *r, struct patching *pt)
{
    struct problem *p = &pt->shown.problem;
    struct sub_change *c = &pt->change;
    struct arena *a = &t->arena;
    struct str sink;

    c->sub_id = pt->shown.id;
    if (!read_endpoint(t, r, pt))
        return false;
    sink = !str_is_null(c->sink) ? c->sink : pt->sub->sink;
    if (str_is_null(sink) || sink.len == 0)
        sink = sinks_default(STR_NULL);
    if (!sub_title_read(&pt->params, a, pt->sub->list != NULL ? 1 : pt->sub->n_feeds, &c->name,
                        p) ||
        !sub_folder_read(&pt->params, a, &c->folder, p) ||
        !params_freq(&pt->params, a, &c->level, &c->period_s, p) ||
        !sub_mirror_read(t, &pt->params, &c->mirror, p) ||
        !sub_events_change(&pt->params, a, sink, &c->events, p) ||
        !sub_batch_read(&pt->params, a, &c->batch, p) || !read_paused(pt, a) ||
        !keep_read(&pt->params, a, &c->keep, p))
        return false;
    c->has_batch = c->batch != 0;
    return read_filter(t, r, pt);
}

/* The storer's thread. What it follows now has other feeds; the answer shows them. */
static void on_changed(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct task *t = ctx;
    const struct patching *pt = t->data;
    struct sub_following f = {.sub_id = pt->shown.id,
                              .asks = pt->view.asks,
                              .filter = pt->view.found.filter,
                              .feeds = pt->view.found.feeds,
                              .n_feeds = pt->view.found.n};

    /* if there is no room, the feeds follow a moment later (sub_follow.h) */
    if (rc != RC_OK || f.asks.len == 0 ||
        store_follow_sub(t->api->store, &f, sub_shown_stored, t) != RC_OK)
        sub_shown_stored(ctx, rc, res, err);
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct patching *pt = t->data;
    struct problem *p = &pt->shown.problem;

    if (!read_body(pt, &t->arena) ||
        !params_id(&pt->params, &t->arena, PARAM_id, &pt->shown.id, p) ||
        !sub_shown_read(t, r, &pt->sub))
        return sub_shown_fail(t);
    if (!str_is_null(pt->sub->endpoint) && !sinks_is_offered(pt->sub->sink)) {
        problem_set(p, &t->arena, PROBLEM_FORBIDDEN,
                    "Subscription %lld was made by its receiver, by the protocol %.*s; only the "
                    "receiver can change it, by the same protocol.",
                    (long long)pt->shown.id, STR_ARG(pt->sub->sink));
        return sub_shown_fail(t);
    }
    if (!read_change(t, r, pt))
        return sub_shown_fail(t);
    return sub_shown_handed(t, store_change_sub(t->api->store, &pt->change, on_changed, t));
}

void sub_patch(struct request *req)
{
    struct patching *pt;
    struct task *t;

    if (sub_view_may_be_named(req) && sub_book_prepare(req, sub_patch))
        return;
    t = task_new(req, work, sub_shown_reply);
    pt = ARENA_NEW(&t->arena, struct patching);
    t->data = pt;
    t->dispose = sub_shown_dispose;
    pt->shown.out = (struct buf)BUF_INIT(BUF_ANY);
    pt->params = params_like(&req->ask.params);
    pt->query = str_dup(&t->arena, http_request_query(req->http));
    pt->body = str_dup(&t->arena, http_request_body(req->http));
    pt->content_type = str_dup(&t->arena, http_request_field(req->http, "content-type"));
    task_start(t);
}
