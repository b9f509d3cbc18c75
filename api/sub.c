/* api/sub.c - POST /sub: subscribe, or resume; DELETE /sub: end it.
 *
 * Bodies may be large (an OPML list, a form of ten thousand URLs) and `from` may need a query, so
 * all of it is done on a reader thread; what was acknowledged is on disk.
 */
#include "api/resources.h"

#include <stdio.h>

#include "api/cursor.h"
#include "api/list_tree.h"
#include "api/reply.h"
#include "api/sub_import.h"
#include "base/limits.h"
#include "base/map.h"
#include "feed/json.h"
#include "net/http_fields.h"

#define TITLE_MAX 1024 /* bytes of a subscriber's own name for a feed */

struct sub_change {
    struct str method, query, body, content_type;
    struct params params;
    bool resumes;
    struct feed_wish wish; /* of each feed that the request names */
    struct sub_request req;
    struct str endpoint;       /* public form */
    struct list_tree *tree;    /* NULL: the body is no list */
    struct sub_import *import; /* what came of it */
    int64_t id;                /* asked for, or made */
    bool failed;               /* then problem says why */
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
static void take_urls(struct task *t, struct sub_change *s, const struct wanted_url *urls, size_t n)
{
    struct feed_ref *refs = ARENA_ARRAY(&t->arena, struct feed_ref, n + 1);
    struct map seen = MAP_INIT;
    size_t n_refs = 0;

    for (size_t i = 0; i < n; i++) {
        struct str key =
            str_printf(&t->arena, "%.*s %.*s", STR_ARG(urls[i].url), STR_ARG(urls[i].credential));

        if (map_put(&seen, key, s) != NULL)
            continue;
        refs[n_refs++] = (struct feed_ref){.url = urls[i].url,
                                           .credential = urls[i].credential,
                                           .shown_url = urls[i].shown,
                                           .wish = s->wish};
    }
    map_release(&seen, NULL);
    s->req.feeds = refs;
    s->req.n_feeds = n_refs;
}

/* `title` and `folder` of feeds that are named in the request. */
static bool read_wish(struct task *t, struct sub_change *s, size_t n_urls)
{
    struct str title, folder, names[LIMIT_OPML_DEPTH];
    size_t n = 0;

    if (!params_optional(&s->params, &t->arena, "title", &title, &s->problem) ||
        !params_optional(&s->params, &t->arena, "folder", &folder, &s->problem))
        return false;
    if (!str_is_null(title) && n_urls > 1)
        return problem_parameter(&s->problem, &t->arena, "title", title, NULL,
                                 "The parameter `title` names one feed, and %zu are given.",
                                 n_urls);
    if (title.len > TITLE_MAX || str_utf8_valid(title) != title.len)
        return problem_parameter(&s->problem, &t->arena, "title", title, NULL,
                                 "The parameter `title` must be UTF-8 of at most %d bytes.",
                                 TITLE_MAX);
    s->wish.name = str_is_null(title) ? title : str_trim(title);
    for (struct str rest = folder; !str_is_null(rest) && n < ARRAY_LEN(names);) {
        struct str name = str_trim(str_split(&rest, '/'));

        if (name.len > 0)
            names[n++] = name;
    }
    s->wish.folder = folder_json(&t->arena, names, n);
    if ((n > 0 && str_is_null(s->wish.folder)) || str_utf8_valid(folder) != folder.len)
        return problem_parameter(&s->problem, &t->arena, "folder", folder, NULL,
                                 "The parameter `folder` must be a path of fewer than %d names in "
                                 "UTF-8, not over 4096 bytes, with / between them.",
                                 LIMIT_OPML_DEPTH);
    return true;
}

/* The list has been read, with all that it includes: subscribe. Any thread. True when the task ends
 * here. */
static bool subscribe_list(struct task *t)
{
    struct sub_change *s = t->data;

    s->import = ARENA_NEW(&t->arena, struct sub_import);
    sub_import_take(&t->arena, s->tree, t->cfg->min_period_s, s->import);
    if (s->import->n_refs == 0) {
        problem_set(&s->problem, &t->arena, PROBLEM_NOT_OPML,
                    "The OPML list names no feed with an http or https address.");
        return work_done(t, false);
    }
    for (size_t i = 0; i < s->import->n_refs; i++) { /* what the request says counts for all */
        struct feed_wish *wish = &s->import->refs[i].wish;

        if (s->req.level != LEVEL_KEEP)
            wish->has_level = false;
        if (s->req.sanitize != SANITIZE_KEEP)
            wish->sanitize = SANITIZE_KEEP;
    }
    s->req.feeds = s->import->refs;
    s->req.n_feeds = s->import->n_refs;
    return handed_over(t, store_subscribe(t->api->store, &s->req, on_stored, t));
}

static void on_list_followed(void *ctx)
{
    struct task *t = ctx;

    if (subscribe_list(t))
        task_finish(t);
}

static bool import(struct task *t)
{
    struct sub_change *s = t->data;
    struct err err = ERR_INIT;
    enum rc rc;

    s->tree = list_tree_new();
    rc = list_tree_read(s->tree, NULL, STR_NULL, s->body, s->content_type, &err);
    if (rc != RC_OK) {
        problem_set(&s->problem, &t->arena, rc == RC_LIMIT ? PROBLEM_TOO_LARGE : PROBLEM_NOT_OPML,
                    "The body is no OPML list that can be taken: %s.", err.text);
        return work_done(t, false);
    }
    if (!list_tree_follow(s->tree, t->api, on_list_followed, t))
        return false;
    return subscribe_list(t);
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
    struct wanted_url *urls;
    int64_t seq = 0;
    bool opml, given;
    size_t n;

    if (!read_body(t, s, &opml) || !read_resume(t, s) || !read_from(t, r, s, &given, &seq))
        return work_done(t, false);
    if (s->resumes)
        return handed_over(t, store_resume(t->api->store, s->id, given ? seq : -1, on_stored, t));
    if (!read_endpoint(t, s) ||
        !params_freq(&s->params, a, t->cfg->min_period_s, &s->req.level, &s->req.period_s,
                     &s->problem) ||
        !params_sanitize(&s->params, a, &s->req.sanitize, &s->problem))
        return work_done(t, false);
    s->req.from_given = given;
    s->req.from_seq = seq;
    if (opml)
        return import(t);
    if (!params_urls(&s->params, a, true, &urls, &n, &s->problem) || !read_wish(t, s, n))
        return work_done(t, false);
    take_urls(t, s, urls, n);
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
        json_write_text(&out, s->req.feeds[i].shown_url);
    }
    buf_putc(&out, ']');
    if (s->import != NULL)
        sub_import_write(&out, s->import);
    buf_puts(&out, "}\n");
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

static void dispose(struct task *t)
{
    struct sub_change *s = t->data;

    list_tree_free(&s->tree);
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
    t->dispose = dispose;
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
