/* api/sub.c - POST /sub: subscribe, or resume; DELETE /sub: end it.
 *
 * Bodies may be large (an OPML list, a form of ten thousand URLs) and `from` may need a query, so
 * all of it is done on a reader thread; what was acknowledged is on disk.
 */
#include "api/resources.h"

#include <stdio.h>

#include "api/cursor.h"
#include "api/opml_list.h"
#include "api/reply.h"
#include "base/limits.h"
#include "base/map.h"
#include "feed/json.h"
#include "net/http_fields.h"

struct sub_change {
    struct str method, query, body, content_type;
    struct params params;
    bool resumes;
    struct sub_request req;
    struct str endpoint; /* public form */
    struct str *shown;   /* URLs as subscribed */
    int64_t id;          /* asked for, or made */
    bool failed;         /* then problem says why */
    struct problem problem;
};

static bool work_done(struct task *t, bool ok)
{
    struct sub_change *s = t->data;

    s->failed = !ok;
    return true;
}

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct task *t = ctx;
    struct sub_change *s = t->data;

    if (rc != RC_OK) {
        s->failed = true;
        problem_of_err(&s->problem, &t->arena, rc, err);
        if (rc == RC_NOT_FOUND)
            problem_set(&s->problem, &t->arena, PROBLEM_NOT_FOUND, "There is no subscription %lld.",
                        (long long)s->id);
    } else if (s->id == 0) {
        s->id = res->id;
    }
    task_finish(t);
}

/* What the storer said to being asked: true when the task ends here. */
static bool handed_over(struct task *t, enum rc rc)
{
    struct sub_change *s;

    if (rc == RC_OK)
        return false; /* it is the storer's: it may be gone already */
    s = t->data;
    s->failed = true;
    problem_of_err(&s->problem, &t->arena, rc, NULL);
    return true;
}

static bool is_opml_type(struct arena *a, struct str content_type)
{
    static const char *const types[] = {"text/x-opml", "text/x-opml+xml", "application/opml+xml",
                                        "text/xml",    "application/xml", "text/opml"};
    struct str type = http_media_type(a, content_type);

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eqz(type, types[i]))
            return true;
    return false;
}

static bool is_form_type(struct arena *a, struct str content_type)
{
    return str_is_null(content_type) || str_trim(content_type).len == 0 ||
           str_eqz(http_media_type(a, content_type), "application/x-www-form-urlencoded");
}

/* Read query and body; *opml: the body is a list. */
static bool read_body(struct task *t, struct sub_change *s, bool *opml)
{
    struct arena *a = &t->arena;

    *opml = false;
    if (!params_add(&s->params, a, s->query, &s->problem))
        return false;
    if (s->body.len == 0)
        return true;
    if (is_opml_type(a, s->content_type) || str_trim(s->body).ptr[0] == '<') {
        *opml = true;
        return true;
    }
    if (!is_form_type(a, s->content_type)) {
        problem_set(&s->problem, a, PROBLEM_MEDIA_TYPE,
                    "The body must be a form (application/x-www-form-urlencoded) or an OPML list "
                    "(text/x-opml).");
        s->problem.value = str_slice(s->content_type, 0, str_utf8_valid(s->content_type));
        return false;
    }
    return params_add(&s->params, a, str_trim(s->body), &s->problem);
}

/* The feeds to subscribe, each once. */
static bool take_urls(struct task *t, struct sub_change *s, const struct wanted_url *urls, size_t n)
{
    struct feed_ref *refs = ARENA_ARRAY(&t->arena, struct feed_ref, n + 1);
    struct map seen = MAP_INIT;
    size_t n_refs = 0;

    s->shown = ARENA_ARRAY(&t->arena, struct str, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct str key =
            str_printf(&t->arena, "%.*s %.*s", STR_ARG(urls[i].url), STR_ARG(urls[i].credential));

        if (map_put(&seen, key, s) != NULL)
            continue;
        refs[n_refs] = (struct feed_ref){
            .url = urls[i].url, .credential = urls[i].credential, .shown_url = urls[i].shown};
        s->shown[n_refs++] = urls[i].shown;
    }
    map_release(&seen, NULL);
    s->req.feeds = refs;
    s->req.n_feeds = n_refs;
    return true;
}

static bool read_opml(struct task *t, struct sub_change *s)
{
    struct feed_list list;
    struct err err = ERR_INIT;
    enum rc rc = feed_list_read(&t->arena, s->body, s->content_type, &list, &err);

    if (rc != RC_OK)
        return problem_set(&s->problem, &t->arena,
                           rc == RC_LIMIT ? PROBLEM_TOO_LARGE : PROBLEM_NOT_OPML,
                           "The body is no OPML list that can be taken: %s.", err.text);
    if (list.n == 0)
        return problem_set(&s->problem, &t->arena, PROBLEM_NOT_OPML,
                           "The OPML list names no feed with an http or https address.");
    return take_urls(t, s, list.urls, list.n);
}

static bool read_endpoint(struct task *t, struct sub_change *s)
{
    struct wanted_url endpoint;
    struct str raw;

    if (!params_one(&s->params, &t->arena, "endpoint", &raw, &s->problem))
        return false;
    if (str_is_null(raw))
        return true;
    if (!wanted_url_read(&t->arena, "endpoint", raw, &endpoint, &s->problem))
        return false;
    s->req.endpoint = endpoint.url;
    s->req.endpoint_credential = endpoint.credential;
    s->req.sink = STR("xmlrpc");
    s->endpoint = endpoint.shown;
    return true;
}

/* `from` as a seq (exclusive). */
static bool read_from(struct task *t, struct reader *r, struct sub_change *s, bool *given,
                      int64_t *seq)
{
    struct store *store = t->api->store;
    struct position at;
    struct str from;
    enum rc rc;

    if (!params_optional(&s->params, &t->arena, "from", &from, &s->problem))
        return false;
    *given = !str_is_null(from);
    if (!*given)
        return true;
    if (!position_read(&t->arena, "from", from, store_log_id(store), store_last_seq(store), false,
                       &at, &s->problem))
        return false;
    if (at.kind == POSITION_SEQ) {
        *seq = at.seq;
        return true;
    }
    rc = reader_seq_at(r, at.at_us - 1, seq, &t->err);
    if (rc != RC_OK)
        problem_of_err(&s->problem, &t->arena, rc, &t->err);
    return rc == RC_OK;
}

static bool read_resume(struct task *t, struct sub_change *s)
{
    struct str action;

    if (!params_one(&s->params, &t->arena, "action", &action, &s->problem) ||
        !params_id(&s->params, &t->arena, !str_is_null(action), &s->id, &s->problem))
        return false;
    s->resumes = !str_is_null(action);
    if (s->resumes && !str_eqz(action, "resume"))
        return problem_parameter(&s->problem, &t->arena, "action", action, "resume",
                                 "The parameter `action` can only be resume.");
    s->id = s->resumes ? s->id : 0;
    return true;
}

static bool work_post(struct task *t, struct reader *r)
{
    struct sub_change *s = t->data;
    struct arena *a = &t->arena;
    int64_t seq = 0;
    bool opml, given;

    if (!read_body(t, s, &opml) || !read_resume(t, s) || !read_from(t, r, s, &given, &seq))
        return work_done(t, false);
    if (s->resumes)
        return handed_over(t, store_resume(t->api->store, s->id, given ? seq : -1, on_stored, t));
    if (opml) {
        if (!read_opml(t, s))
            return work_done(t, false);
    } else {
        struct wanted_url *urls;
        size_t n;

        if (!params_urls(&s->params, a, true, &urls, &n, &s->problem) || !take_urls(t, s, urls, n))
            return work_done(t, false);
    }
    if (!read_endpoint(t, s) || !params_freq(&s->params, a, t->cfg->min_period_s, &s->req.level,
                                             &s->req.period_s, &s->problem))
        return work_done(t, false);
    s->req.from_given = given;
    s->req.from_seq = seq;
    return handed_over(t, store_subscribe(t->api->store, &s->req, on_stored, t));
}

static bool work_delete(struct task *t, struct reader *r UNUSED)
{
    struct sub_change *s = t->data;
    struct arena *a = &t->arena;
    struct wanted_url *urls;
    struct str *names;
    size_t n;
    bool opml;

    if (!read_body(t, s, &opml) || !params_id(&s->params, a, true, &s->id, &s->problem) ||
        !params_urls(&s->params, a, false, &urls, &n, &s->problem))
        return work_done(t, false);
    names = ARENA_ARRAY(a, struct str, 2 * n + 1);
    for (size_t i = 0; i < n; i++) { /* as subscribed, or canonical */
        names[2 * i] = urls[i].url;
        names[2 * i + 1] = urls[i].shown;
    }
    return handed_over(t, store_unsubscribe(t->api->store, s->id, names, 2 * n, on_stored, t));
}

static void reply_made(struct call *c, const struct sub_change *s)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    char location[64];

    buf_printf(&out, "{\"id\":%lld,\"endpoint\":", (long long)s->id);
    if (str_is_null(s->endpoint))
        buf_puts(&out, "null");
    else
        json_write_text(&out, s->endpoint);
    buf_puts(&out, ",\"urls\":[");
    for (size_t i = 0; i < s->req.n_feeds; i++) {
        if (i > 0)
            buf_putc(&out, ',');
        json_write_text(&out, s->shown[i]);
    }
    buf_puts(&out, "]}\n");
    snprintf(location, sizeof(location), "Location: /sub?id=%lld\r\n", (long long)s->id);
    reply_buf(c, 201, "application/json", &out, str_from(location));
}

static void done(struct task *t, struct call *c)
{
    const struct sub_change *s = t->data;

    if (s->failed) {
        reply_problem(c, &s->problem);
    } else if (str_eqz(s->method, "DELETE")) {
        struct reply r = REPLY_INIT;

        r.status = 204;
        r.cache = "no-store";
        reply_send(c, &r);
    } else if (s->resumes) {
        AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

        buf_printf(&out, "{\"id\":%lld,\"state\":\"active\"}\n", (long long)s->id);
        reply_buf(c, 200, "application/json", &out, STR_NULL);
    } else {
        reply_made(c, s);
    }
}

static void start(struct call *c, task_work_fn *work)
{
    struct task *t = task_new(c, work, done);
    struct sub_change *s = ARENA_NEW(&t->arena, struct sub_change);

    s->method = str_dup(&t->arena, http_request_method(c->req));
    s->query = str_dup(&t->arena, http_request_query(c->req));
    s->body = str_dup(&t->arena, http_request_body(c->req));
    s->content_type = str_dup(&t->arena, http_request_field(c->req, "content-type"));
    t->data = s;
    task_start(t);
}

void sub_post(struct call *c)
{
    start(c, work_post);
}

void sub_delete(struct call *c)
{
    start(c, work_delete);
}
