/* api/lists/sub.c - POST /sub: subscribe; DELETE /sub: end a subscription.
 *
 * `from` may need a query, and a body with ten thousand URLs takes time, so all work is done on a
 * reader thread. An OPML list is read on the list thread. When a request is answered, the change is
 * on disk. */
#include "api/http/handlers.h"

#include <stdio.h>

#include "api/http/first_fetches.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/lists/keep_read.h"
#include "api/lists/list_thread.h"
#include "api/lists/list_tree.h"
#include "api/lists/sub_actions.h"
#include "api/lists/sub_delivery.h"
#include "api/lists/sub_endpoint.h"
#include "api/lists/sub_import.h"
#include "api/lists/sub_known.h"
#include "api/lists/sub_mirror.h"
#include "api/lists/sub_names.h"
#include "api/lists/sub_secrets.h"
#include "api/lists/sub_shown.h"
#include "api/lists/sub_sink.h"
#include "api/lists/sub_view.h"
#include "api/views/filtering.h"
#include "api/views/history.h"
#include "api/views/shapes.h"
#include "base/limits.h"
#include "base/map.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/sinks.h"
#include "model/paths.h"
#include "net/http_fields.h"
#include "net/url.h"

/* Part of all requests here. */
struct change {
    struct str query, body, content_type;
    struct params params;
    int64_t id;   /* of the subscription: the one in the request, or the new one */
    bool is_left; /* there is such a subscription now */
    bool failed;  /* then problem says why */
    struct problem problem;
};

/* A request that subscribes. */
struct subscribing {
    struct change change;        /* first: see change_of() */
    struct feed_details details; /* used for each feed that the request names */
    struct sub_request req;
    struct str endpoint;       /* public form */
    struct str secret;         /* told in the answer; null: the sink has none. SECRET */
    struct feed_ref *list;     /* to follow; NULL: none is named */
    struct list_tree *tree;    /* NULL: the body is not a list */
    struct sub_import *import; /* the feeds of the list */
    bool skips_known;          /* leave out feeds that are subscribed without an endpoint already */
    struct sub_known listed;   /* all feeds that are subscribed without an endpoint */
    struct sub_known known;    /* those of them that the request names */
    struct sub_view view;      /* what it follows; nothing: its `asks` is null */
};

static struct change *change_of(const struct task *t)
{
    return t->data;
}

/* End the task; its problem has been set. */
static enum task_step fail(struct task *t)
{
    change_of(t)->failed = true;
    return TASK_ENDS;
}

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct task *t = ctx;
    struct change *c = change_of(t);

    if (rc != RC_OK) {
        c->failed = true;
        problem_of_err(&c->problem, &t->arena, rc, err);
        if (rc == RC_NOT_FOUND)
            problem_set(&c->problem, &t->arena, PROBLEM_NOT_FOUND, "There is no subscription %lld.",
                        (long long)c->id);
        else if (rc == RC_GONE)
            history_put_kept(t->api->store, &t->arena, res->last_seq, STR_NULL, &c->problem);
    } else {
        c->is_left = res->sub != NULL;
        if (c->id == 0)
            c->id = res->id;
    }
    task_finish(t);
}

/* Returns what follows after the task was given to the storer or the list thread. After RC_OK the
 * task belongs to them, and may be freed already. */
static enum task_step handed_over(struct task *t, enum rc rc)
{
    if (rc == RC_OK)
        return TASK_GOES_ON;
    problem_of_err(&change_of(t)->problem, &t->arena, rc, NULL);
    return fail(t);
}

static bool is_opml_type(struct arena *a, struct str content_type)
{
    static const char *const types[] = {MEDIA_OPML, "text/x-opml+xml", "application/opml+xml",
                                        MEDIA_XML,  "application/xml", "text/opml"};
    struct str type = http_media_type(a, content_type);

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eqz(type, types[i]))
            return true;
    return false;
}

static bool is_form_type(struct arena *a, struct str content_type)
{
    return str_is_null(content_type) || str_trim(content_type).len == 0 ||
           str_eqz(http_media_type(a, content_type), MEDIA_URLENCODED);
}

/* Read query and body. *opml: the body is a list. */
static bool read_body(struct task *t, struct change *c, bool *opml)
{
    struct arena *a = &t->arena;

    *opml = false;
    if (!params_add(&c->params, a, c->query, &c->problem))
        return false;
    if (c->body.len == 0)
        return true;
    if (is_opml_type(a, c->content_type) || str_trim(c->body).ptr[0] == '<') {
        *opml = true;
        return true;
    }
    if (!is_form_type(a, c->content_type)) {
        problem_set(&c->problem, a, PROBLEM_MEDIA_TYPE,
                    "The body must be a form (" MEDIA_URLENCODED ") or an OPML list "
                    "(" MEDIA_OPML ").");
        c->problem.value = str_slice(c->content_type, 0, str_utf8_valid(c->content_type));
        return false;
    }
    return params_add(&c->params, a, str_trim(c->body), &c->problem);
}

/* Take the feeds to subscribe, each once. */
static void take_urls(struct task *t, struct subscribing *s, const struct wanted_url *urls,
                      size_t n)
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
                                           .details = s->details};
    }
    map_release(&seen, NULL);
    s->req.feeds = refs;
    s->req.n_feeds = n_refs;
}

/* Read `title` and `folder`, which are for the feeds that the request names. */
static bool read_details(struct task *t, struct subscribing *s, size_t n_urls)
{
    struct str title, folder;

    if (!sub_title_read(&s->change.params, &t->arena, n_urls, &title, &s->change.problem) ||
        !sub_folder_read(&s->change.params, &t->arena, &folder, &s->change.problem))
        return false;
    s->details.name = title.len > 0 ? title : STR_NULL;
    s->details.folder = folder.len > 0 ? folder : STR_NULL;
    return true;
}

/* Each unknown feed is fetched at once. What a stranger adds counts as what it would read; a token
 * is given to somebody who may subscribe, and the user of a server without tokens is nobody else.
 */
static bool may_add_feeds(struct task *t, struct subscribing *s)
{
    struct feed_brief brief;
    int64_t wait_s;
    size_t n = s->list != NULL &&
               !store_find_feed(t->api->store, s->list->url, s->list->credential, &brief);

    if (t->caller.owner != OWNER_ANONYMOUS)
        return true;
    for (size_t i = 0; i < s->req.n_feeds; i++)
        n += !store_find_feed(t->api->store, s->req.feeds[i].url, s->req.feeds[i].credential,
                              &brief);
    if (first_fetches_take_all(t->api, t->cfg, &t->caller, n, &wait_s))
        return true;
    problem_set(&s->change.problem, &t->arena, PROBLEM_TOO_MANY,
                "%zu of these feeds are not known here; without a token one may add %lld a minute.",
                n, (long long)first_fetches_share(t->cfg));
    s->change.problem.retry_after_s = (int)wait_s;
    return false;
}

/* Read what is to be sent with the fetches of the feeds, for the origin that all of them have. All who
 * name a feed read what its publisher answers to that, so not everybody may say what it is. */
static bool read_secrets(struct task *t, struct subscribing *s)
{
    const struct feed_ref *feeds = s->req.feeds;
    struct problem *p = &s->change.problem;

    if (!sub_secrets_read(&s->change.params, t->cfg->fetch_guard, &t->arena, feeds[0].url, false,
                          &s->req.secrets, p))
        return false;
    if (str_is_null(s->req.secrets))
        return true;
    if (!sub_secrets_may(&t->caller, &t->arena, p))
        return false;
    for (size_t i = 0; i < s->req.n_feeds; i++)
        if (!url_same_origin(feeds[0].url, feeds[i].url))
            return problem_parameter(p, &t->arena, param_name(PARAM_new_urls), feeds[i].shown_url,
                                     NULL,
                                     "What is sent with fetches is for feeds of one origin: the "
                                     "same scheme, host and port.");
    return true;
}

/* A list or a view may name feeds of anybody, who would get what is sent. */
static bool refuse_secrets(struct task *t)
{
    struct change *c = change_of(t);

    if (!sub_secrets_are_given(&c->params))
        return true;
    return problem_parameter(&c->problem, &t->arena, param_name(PARAM_new_urls), STR_NULL, NULL,
                             "What is sent with fetches (fetch_header.NAME, user_agent, cookie, "
                             "bearer, proxy) is for feeds that are named by `url` alone.");
}

/* If the request wants it, leave out the feeds that are subscribed already. Subscribe the others.
 * Any thread. */
static enum task_step subscribe(struct task *t)
{
    struct subscribing *s = t->data;
    struct feed_ref *rest;
    size_t n;

    if (s->skips_known) {
        sub_known_split(t->api->store, &t->arena, &s->listed, s->req.feeds, s->req.n_feeds, &rest,
                        &n, &s->known);
        s->req.feeds = rest;
        s->req.n_feeds = n;
    }
    if (s->req.n_feeds == 0 && s->known.n > 0) {
        s->change.id = s->known.feeds[0].sub_id;
        return TASK_ENDS;
    }
    if (!may_add_feeds(t, s))
        return fail(t);
    return handed_over(t, store_subscribe(t->api->store, &s->req, on_stored, t));
}

/* Read how much of its feeds it wants to be kept. */
static bool read_keep(struct task *t, struct subscribing *s)
{
    struct keep keep;

    if (!keep_read(&s->change.params, &t->arena, &keep, &s->change.problem))
        return false;
    keep_set(&s->req.keep, &keep);
    return true;
}

/* Read `opml`: the list to follow. `is_body`: the body is a list, too. */
static bool read_followed(struct task *t, struct subscribing *s, bool is_body)
{
    static const enum param_id others[] = {PARAM_new_urls, PARAM_known, PARAM_sanitize,
                                           PARAM_mirror};
    struct change *c = &s->change;
    struct wanted_url url;
    struct str raw;

    if (!params_one(&c->params, &t->arena, PARAM_opml, &raw, &c->problem))
        return false;
    if (str_is_null(raw))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        size_t at = 0;

        if (params_next(&c->params, others[i], &at) != NULL)
            return problem_parameter(&c->problem, &t->arena, param_name(others[i]), STR_NULL, NULL,
                                     "With `opml` the list names the feeds, so the parameter `%s` "
                                     "cannot be used.",
                                     param_name(others[i]));
    }
    if (is_body)
        return problem_parameter(&c->problem, &t->arena, param_name(PARAM_opml), raw, NULL,
                                 "The list to follow is named by `opml`, so the body cannot be "
                                 "another list.");
    if (!wanted_url_read(&t->arena, param_name(PARAM_opml), raw, &url, &c->problem))
        return false;
    s->list = ARENA_NEW(&t->arena, struct feed_ref);
    *s->list =
        (struct feed_ref){.url = url.url, .credential = url.credential, .shown_url = url.shown};
    return true;
}

/* The subscription has the feeds that the list names. */
static enum task_step follow(struct task *t)
{
    struct subscribing *s = t->data;

    if (!read_details(t, s, 1))
        return fail(t);
    s->list->details = s->details;
    s->req.list = s->list;
    return subscribe(t);
}

/* The list has been read, with all lists that it includes: subscribe. Any thread. */
static enum task_step subscribe_list(struct task *t)
{
    struct subscribing *s = t->data;

    s->import = ARENA_NEW(&t->arena, struct sub_import);
    sub_import_take(&t->arena, s->tree, t->cfg->min_period_s, s->import);
    if (s->import->n_refs == 0) {
        problem_set(&s->change.problem, &t->arena, PROBLEM_NOT_OPML,
                    "The OPML list has no feed with an http or https address.");
        return fail(t);
    }
    /* settings of the request are used for all feeds */
    for (size_t i = 0; i < s->import->n_refs; i++) {
        struct feed_details *details = &s->import->refs[i].details;

        if (s->req.level != LEVEL_KEEP)
            details->has_level = false;
        if (s->req.sanitize != SANITIZE_KEEP)
            details->sanitize = SANITIZE_KEEP;
    }
    s->req.feeds = s->import->refs;
    s->req.n_feeds = s->import->n_refs;
    return subscribe(t);
}

static void on_list_followed(void *ctx)
{
    struct task *t = ctx;

    if (subscribe_list(t) == TASK_ENDS)
        task_finish(t);
}

static enum task_step import(struct task *t)
{
    struct subscribing *s = t->data;
    struct err err = ERR_INIT;
    enum rc rc;

    s->tree = list_tree_new();
    if (t->caller.owner == OWNER_ANONYMOUS) /* as in may_add_feeds() */
        list_tree_charge(s->tree, t->api, t->cfg, &t->caller);
    rc = list_tree_read(s->tree, NULL, STR_NULL, s->change.body, s->change.content_type, &err);
    if (rc != RC_OK) {
        problem_set(&s->change.problem, &t->arena,
                    rc == RC_LIMIT ? PROBLEM_TOO_LARGE : PROBLEM_NOT_OPML,
                    "The body cannot be used as an OPML list: %s.", err.text);
        return fail(t);
    }
    return list_tree_follow(s->tree, t->api, on_list_followed, t) ? subscribe_list(t)
                                                                  : TASK_GOES_ON;
}

static void on_list_thread(void *ctx)
{
    struct task *t = ctx;

    if (import(t) == TASK_ENDS)
        task_finish(t);
}

static bool read_endpoint(struct task *t, struct subscribing *s)
{
    struct wanted_url endpoint;
    struct sub_sink sink;

    if (!sub_endpoint_read(&s->change.params, &t->arena, t->cfg, &endpoint, &s->change.problem) ||
        !sub_sink_read(&s->change.params, &t->arena, endpoint.url, &sink, &s->change.problem))
        return false;
    if (str_is_null(endpoint.url))
        return true;
    s->req.endpoint = endpoint.url;
    s->req.endpoint_credential = endpoint.credential;
    s->req.sink = sink.name;
    s->req.sink_settings = sink.settings;
    s->secret = sink.secret;
    s->endpoint = endpoint.shown;
    return true;
}

/* Read how the subscription wants its deliveries. */
static bool read_delivery(struct task *t, struct subscribing *s)
{
    struct change *c = &s->change;
    struct str sink = str_is_null(s->req.sink) ? sinks_default(STR_NULL) : s->req.sink;

    return sub_events_read(&c->params, &t->arena, sink, &s->req.events, &c->problem) &&
           sub_batch_read(&c->params, &t->arena, &s->req.batch, &c->problem) &&
           filtering_change(&c->params, &t->arena, STR_NULL, &s->req.filter, &c->problem);
}

/* Read the parameter `known`. */
static bool read_known(struct task *t, struct reader *r, struct subscribing *s)
{
    enum rc rc;
    int known;

    if (!params_choice(&s->change.params, &t->arena, PARAM_known, &known, &s->change.problem))
        return false;
    if (known < 0)
        return true;
    if (!str_is_null(s->req.endpoint))
        return problem_parameter(&s->change.problem, &t->arena, param_name(PARAM_known), STR_NULL,
                                 NULL,
                                 "The parameter `known` is for subscriptions without an endpoint.");
    s->skips_known = true;
    rc = sub_known_read(r, &t->caller, &t->arena, &s->listed, &t->err);
    if (rc != RC_OK)
        problem_of_err(&s->change.problem, &t->arena, rc, &t->err);
    return rc == RC_OK;
}

static void reply_made(struct task *t, struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const struct subscribing *s = t->data;
    char location[64];

    if (s->change.failed) {
        reply_problem(req, &s->change.problem);
        return;
    }
    buf_printf(&out, "{\"id\":%lld,\"endpoint\":", (long long)s->change.id);
    if (str_is_null(s->endpoint))
        buf_puts(&out, "null");
    else
        json_write_text(&out, s->endpoint);
    if (!str_is_null(s->secret)) {
        buf_puts(&out, ",\"secret\":");
        json_write_text(&out, s->secret);
    }
    if (!str_is_null(s->view.filter)) {
        buf_puts(&out, ",\"filter\":");
        json_write(&out, shape_filter(req->ask.arena, s->view.filter));
    }
    if (!str_is_null(s->view.asks)) {
        buf_puts(&out, ",\"view\":");
        json_write(&out, shape_views(req->ask.arena, s->view.asks));
    }
    if (s->list != NULL) {
        buf_puts(&out, ",\"list\":");
        json_write_text(&out, s->list->shown_url);
    }
    buf_puts(&out, ",\"urls\":[");
    for (size_t i = 0; i < s->req.n_feeds; i++) {
        if (i > 0)
            buf_putc(&out, ',');
        json_write_text(&out, s->req.feeds[i].shown_url);
    }
    buf_putc(&out, ']');
    if (s->import != NULL)
        sub_import_write(&out, s->import);
    if (s->skips_known)
        sub_known_write(&out, &s->known);
    buf_puts(&out, "}\n");
    snprintf(location, sizeof(location), "Location: /sub?id=%lld\r\n", (long long)s->change.id);
    reply_buf(req, s->req.n_feeds > 0 || s->list != NULL || !str_is_null(s->req.asks) ? 201 : 200,
              MEDIA_JSON, &out, str_from(location));
}

static void reply_ended(struct task *t, struct request *req)
{
    const struct change *c = change_of(t);
    struct reply r = REPLY_INIT;

    if (c->failed) {
        reply_problem(req, &c->problem);
        return;
    }
    r.status = 204;
    r.cache = "no-store";
    r.is_part = c->is_left;
    reply_send(req, &r);
}

static bool refuse_with_view(struct task *t, const char *name, const char *why)
{
    return problem_parameter(&change_of(t)->problem, &t->arena, name, STR_NULL, NULL, "%s", why);
}

/* Read the feeds of a subscription that follows views: those of the views now, and those of `url`.
 */
static bool read_viewed(struct task *t, struct reader *r, struct subscribing *s, bool opml)
{
    struct change *c = &s->change;
    struct wanted_url *urls = NULL, *all;
    size_t n = 0;

    if (opml)
        return refuse_with_view(
            t, "view", "A list of feeds cannot follow a view; subscribe to the view by itself.");
    if (s->list != NULL)
        return refuse_with_view(t, "opml", "A subscription follows a list or views, not both.");
    if (s->skips_known)
        return refuse_with_view(t, "known",
                                "The parameter `known` cannot be combined with `view`.");
    if ((params_has(&c->params, PARAM_new_urls) &&
         !params_urls(&c->params, &t->arena, PARAM_new_urls, &urls, &n, &c->problem)) ||
        !sub_view_read(t, r, &c->params, s->req.filter, &s->view, &c->problem) ||
        !read_details(t, s, n + s->view.found.n))
        return false;
    all = ARENA_ARRAY(&t->arena, struct wanted_url, n + s->view.found.n + 1);
    if (n > 0)
        memcpy(all, urls, n * sizeof *all);
    for (size_t i = 0; i < s->view.found.n; i++) {
        struct str url = s->view.found.feeds[i].url;

        all[n++] = (struct wanted_url){.url = url, .credential = STR_NULL, .shown = url};
    }
    take_urls(t, s, all, n);
    s->req.asks = s->view.asks;
    s->req.filter = s->view.found.filter;
    return true;
}

static enum task_step read_subscription(struct task *t, struct reader *r, bool opml)
{
    struct subscribing *s = t->data;
    struct change *c = &s->change;
    struct wanted_url *urls;
    size_t n;

    if (!read_endpoint(t, s) || !read_known(t, r, s) || !read_delivery(t, s) ||
        !params_freq(&c->params, &t->arena, &s->req.level, &s->req.period_s, &c->problem) ||
        !params_sanitize(&c->params, &t->arena, &s->req.sanitize, &c->problem) ||
        !sub_mirror_read(t, &c->params, &s->req.mirror, &c->problem) || !read_keep(t, s) ||
        !read_followed(t, s, opml))
        return fail(t);
    s->view.filter = s->req.filter;
    if ((s->list != NULL || sub_view_is_named(&c->params) || opml) && !refuse_secrets(t))
        return fail(t);
    if (s->list != NULL && !sub_view_is_named(&c->params))
        return follow(t);
    if (sub_view_is_named(&c->params))
        return read_viewed(t, r, s, opml) ? subscribe(t) : fail(t);
    if (opml) {
        enum rc rc = list_thread_run(t->api->list_thread, on_list_thread, t);

        return handed_over(t, rc);
    }
    if (!params_urls(&c->params, &t->arena, PARAM_new_urls, &urls, &n, &c->problem) ||
        !read_details(t, s, n))
        return fail(t);
    take_urls(t, s, urls, n);
    return read_secrets(t, s) ? subscribe(t) : fail(t);
}

static enum task_step work_post(struct task *t, struct reader *r)
{
    struct subscribing *s = t->data;
    struct change *c = &s->change;
    struct str action;
    bool opml, given;
    int64_t seq = 0;

    if (!read_body(t, c, &opml) ||
        !params_one(&c->params, &t->arena, PARAM_action, &action, &c->problem))
        return fail(t);
    if (!str_is_null(action))
        return sub_act(t, r, &c->params);
    if (!sub_position_read(t, r, &c->params, PARAM_from, &given, &seq, &c->problem))
        return fail(t);
    s->req.owner = t->caller.owner;
    s->req.from_given = given;
    s->req.from_seq = seq;
    return read_subscription(t, r, opml);
}

static enum task_step work_delete(struct task *t, struct reader *r)
{
    struct change *c = change_of(t);
    struct arena *a = &t->arena;
    struct subscription *sub;
    struct wanted_url *urls;
    struct str *names;
    size_t n;
    bool opml;

    if (!read_body(t, c, &opml) || !params_id(&c->params, a, PARAM_id, &c->id, &c->problem) ||
        !params_urls(&c->params, a, PARAM_ended_urls, &urls, &n, &c->problem) ||
        !sub_own_read(t, r, c->id, &sub, &c->problem))
        return fail(t);
    if (sub->list != NULL && n > 0) {
        problem_parameter(&c->problem, a, param_name(PARAM_ended_urls), STR_NULL, NULL,
                          "Subscription %lld follows the list %.*s, which names its feeds; one of "
                          "them leaves it when the list does not name it any more. It can only be "
                          "ended as a whole.",
                          (long long)c->id, STR_ARG(sub->list->url));
        return fail(t);
    }
    if (n > 0 && !str_is_null(sub->asks)) {
        refuse_with_view(
            t, param_name(PARAM_ended_urls),
            "The feeds of this subscription follow a view or a folder; without `url` it ends.");
        return fail(t);
    }
    names = ARENA_ARRAY(a, struct str, 2 * n + 1);
    for (size_t i = 0; i < n; i++) { /* each URL as it was subscribed, or in its canonical form */
        names[2 * i] = urls[i].url;
        names[2 * i + 1] = urls[i].shown;
    }
    return handed_over(t, store_unsubscribe(t->api->store, c->id, names, 2 * n, on_stored, t));
}

/* Copy those parts of the request that only the loop may read. */
static void copy_request(struct task *t, struct request *req)
{
    struct change *c = change_of(t);

    if (req->taker != NULL) { /* another route has made the parameters */
        c->params = params_copy(&req->ask.params, &t->arena);
        return;
    }
    c->params = params_like(&req->ask.params);
    c->query = str_dup(&t->arena, http_request_query(req->http));
    c->body = str_dup(&t->arena, http_request_body(req->http));
    c->content_type = str_dup(&t->arena, http_request_field(req->http, "content-type"));
}

static void free_tree(struct task *t)
{
    list_tree_free(&((struct subscribing *)t->data)->tree);
}

void sub_post(struct request *req)
{
    struct task *t;

    if (sub_view_may_be_named(req) && sub_book_prepare(req, sub_post))
        return;
    t = task_new(req, work_post, reply_made);
    t->data = ARENA_NEW(&t->arena, struct subscribing);
    t->dispose = free_tree;
    copy_request(t, req);
    task_start(t);
}

void sub_delete(struct request *req)
{
    struct task *t = task_new(req, work_delete, reply_ended);

    t->data = ARENA_NEW(&t->arena, struct change);
    copy_request(t, req);
    task_start(t);
}
