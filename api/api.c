/* api/api.c - the whole API on one screen: the route table, and the way of a request through it. */
#include "api/api.h"

#include "api/auth.h"
#include "api/buckets.h"
#include "api/call.h"
#include "api/hub.h"
#include "api/log_wait.h"
#include "api/opml_list.h"
#include "api/ping_log.h"
#include "api/render.h"
#include "api/reply.h"
#include "api/resources.h"
#include "base/mem.h"
#include "net/http_fields.h"
#include "net/url.h"

#define FORM_MAX (64 * 1024) /* forms read on the loop */

static void index_get(struct call *c);

enum route_flags {
    BELOW = 1, /* paths below it, too */
    OPEN = 2,  /* no token is asked for */
    FORM = 4,  /* parameters come from a form body, too */
};

static const struct route {
    const char *path, *method;
    void (*handle)(struct call *c);
    unsigned flags;
    const char *help;
} routes[] = {
    {"/feed", "GET", feed_get, 0, "newest entries of one feed: url, type, len, obj"},
    {"/feeds", "GET", feeds_get, 0, "newest entries of several feeds, merged: url, type, len, obj"},
    {"/opml", "GET", opml_get, 0, "newest entries of the feeds of an OPML list: url, type, len"},
    {"/sub", "GET", sub_get, 0, "subscribed feeds as OPML, or all about them: id, type=json, all"},
    {"/sub", "POST", sub_post, 0, "subscribe: url, endpoint, freq, from; resume: id, action"},
    {"/sub", "DELETE", sub_delete, 0, "end a subscription: id, url"},
    {"/simple", "GET", simple_get, BELOW,
     "every event, in documents that never change: /recent, url"},
    {"/archive", "GET", archive_get, BELOW, "every revision and deletion in archives: url, type"},
    {"/history", "GET", history_get, BELOW, "the same as draft-00 of Feed History has it: url"},
    {"/pmh", "GET", pmh_get, BELOW, "metadata records to harvest: url, mode=complete"},
    {"/item", "GET", item_get, BELOW, "one revision of an entry: Atom, JSON or HTML"},
    {"/smart", "GET", smart_get, 0,
     "a stream of items: url, order, since, until, max, timeout, callback"},
    {"/log", "GET", log_get, 0, "revisions after a place: since, url, max, timeout"},
    {"/hub", "POST", hub_post, FORM,
     "WebSub: hub.mode, hub.callback, hub.topic, hub.lease_seconds, hub.secret"},
    {"/RPC2", "POST", rpc_post, 0, "XML-RPC: weblogUpdates.ping, extendedPing"},
    {"/ping", "GET", ping_any, 0, "a site has changed: name, url, rssurl"},
    {"/ping", "POST", ping_any, FORM, "the same"},
    {"/websub", "GET", websub_get, BELOW | OPEN, "for the hubs of publishers: verification"},
    {"/websub", "POST", websub_post, BELOW | OPEN, "the same: deliveries"},
    {"/changes.xml", "GET", changes_get, 0, "pings of the last three hours"},
    {"/demo", "GET", demo_get, BELOW, "the demonstration page"},
    {"/metrics", "GET", metrics_get, 0, "counters, for Prometheus"},
    {"/healthz", "GET", healthz_get, OPEN, "is it up?"},
    {"/", "GET", index_get, 0, "this list"},
};

static void index_get(struct call *c)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_puts(&out, "Feedmill " FEEDMILL_VERSION "\n\n");
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        buf_printf(&out, "%-6s %-12s %s\n", routes[i].method, routes[i].path, routes[i].help);
    reply_buf(c, 200, "text/plain; charset=utf-8", &out, STR_NULL);
}

/* ---- life cycle ---- */

/* An empty option is one that was not given. */
static struct str given(struct arena *a, struct str s)
{
    return s.len > 0 ? str_dup(a, s) : STR_NULL;
}

/* The names by which this server may be asked: those configured, and that of its public address. */
static struct str *own_hosts(struct arena *a, const struct api_cfg *cfg, size_t *n)
{
    struct str *names = ARENA_ARRAY(a, struct str, cfg->n_allow_hosts + 1);
    struct url_parts parts;

    for (*n = 0; *n < cfg->n_allow_hosts; ++*n)
        names[*n] = str_dup(a, cfg->allow_hosts[*n]);
    if (cfg->base_url.len > 0 && url_parse(a, cfg->base_url, &parts, NULL) == RC_OK)
        names[(*n)++] = parts.host;
    return names;
}

static struct api_conf *conf_new(const struct api_cfg *cfg)
{
    struct api_conf *conf = NEW(struct api_conf);
    struct arena *a = &conf->arena;

    conf->cfg = *cfg;
    conf->cfg.base_url = given(a, cfg->base_url);
    conf->cfg.cors_origin = given(a, cfg->cors_origin);
    conf->cfg.token = given(a, cfg->token);
    conf->cfg.demo_dir = given(a, cfg->demo_dir);
    conf->cfg.allow_hosts = own_hosts(a, cfg, &conf->cfg.n_allow_hosts);
    return conf;
}

/* The storer's thread. */
static void on_commit(void *ctx, const struct commit_notice *notice)
{
    struct api *a = ctx;

    log_waiters_notice(a->waiters, notice);
    hub_waiters_notice(a->hub, notice);
}

struct api *api_new(const struct api_cfg *cfg)
{
    struct api *a = NEW(struct api);

    a->store = cfg->store;
    a->ports = cfg->ports;
    pthread_mutex_init(&a->reload_lock, NULL);
    pthread_mutex_init(&a->stop_lock, NULL);
    atomic_init(&a->conf, conf_new(cfg));
    atomic_init(&a->n_waits, 0);
    a->renders = renders_new();
    a->lists = opml_lists_new();
    a->waiters = log_waiters_new();
    a->pings = ping_log_new();
    a->buckets = buckets_new();
    a->hub_calls = buckets_new();
    a->hub = hub_waiters_new();
    store_listen(a->store, on_commit, a);
    return a;
}

void api_reload(struct api *a, const struct api_cfg *cfg)
{
    struct api_conf *conf = conf_new(cfg);

    pthread_mutex_lock(&a->reload_lock);
    conf->older = atomic_load(&a->conf);
    atomic_store(&a->conf, conf);
    pthread_mutex_unlock(&a->reload_lock);
}

void api_stop(struct api *a)
{
    pthread_mutex_lock(&a->stop_lock);
    a->stopping = true;
    pthread_mutex_unlock(&a->stop_lock);
    log_waiters_end(a->waiters);
}

void api_free(struct api **ap)
{
    struct api *a = *ap;
    struct api_conf *conf;

    if (a == NULL)
        return;
    renders_free(&a->renders);
    opml_lists_free(&a->lists);
    log_waiters_free(&a->waiters);
    ping_log_free(&a->pings);
    buckets_free(&a->buckets);
    buckets_free(&a->hub_calls);
    hub_waiters_free(&a->hub);
    for (conf = atomic_load(&a->conf); conf != NULL;) {
        struct api_conf *older = conf->older;

        arena_release(&conf->arena);
        mem_free(conf);
        conf = older;
    }
    pthread_mutex_destroy(&a->reload_lock);
    pthread_mutex_destroy(&a->stop_lock);
    mem_free(a);
    *ap = NULL;
}

/* ---- a request ---- */

static bool matches(const struct route *r, struct str path)
{
    size_t len = strlen(r->path);

    if (str_eqz(path, r->path))
        return true;
    return (r->flags & BELOW) != 0 && path.len > len && path.ptr[len] == '/' &&
           str_starts(path, str_from(r->path));
}

/* "GET, HEAD, POST"; empty when there is no such path. */
static struct str allowed_methods(struct arena *a, struct str path)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (matches(&routes[i], path))
            buf_printf(&out, "%s%s%s", out.len > 0 ? ", " : "", routes[i].method,
                       strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
    return str_dup(a, buf_view(&out));
}

static const struct route *find_route(struct str path, struct str method)
{
    if (str_eqz(method, "HEAD"))
        method = STR("GET");
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (matches(&routes[i], path) && str_eqz(method, routes[i].method))
            return &routes[i];
    return NULL;
}

static void reply_options(struct call *c, struct str allow)
{
    AUTO(buf_release) struct buf fields = BUF_INIT(BUF_ANY);

    buf_printf(&fields, "Allow: %.*s\r\n", STR_ARG(allow));
    if (!str_is_null(c->cfg->cors_origin))
        buf_printf(&fields,
                   "Access-Control-Allow-Origin: %.*s\r\n"
                   "Access-Control-Allow-Methods: GET, HEAD\r\n"
                   "Access-Control-Allow-Headers: Authorization, If-None-Match\r\n"
                   "Access-Control-Max-Age: 86400\r\n",
                   STR_ARG(c->cfg->cors_origin));
    http_reply(c->req, 204, buf_view(&fields), NULL);
}

/* May this caller do this? */
static bool admit(struct call *c, const struct route *route, struct problem *p)
{
    struct str origin = http_request_field(c->req, "origin");

    if ((route->flags & OPEN) != 0)
        return true;
    if (str_is_null(c->cfg->token) &&
        !auth_host_is_ours(http_request_host(c->req), c->cfg->allow_hosts, c->cfg->n_allow_hosts)) {
        problem_set(
            p, c->arena, PROBLEM_MISDIRECTED,
            "Without a token this server answers for IP addresses, localhost, and the names "
            "that the options --base-url and --allow-host give it.");
        p->value = http_request_host(c->req);
        return false;
    }
    if (!str_is_null(c->cfg->token) &&
        !auth_has_token(c->arena, http_request_field(c->req, "authorization"), c->cfg->token)) {
        problem_set(p, c->arena, PROBLEM_UNAUTHORIZED,
                    "This server asks for a token: as `Authorization: Bearer TOKEN`, or as the "
                    "password of Basic authentication.");
        p->fields = STR("WWW-Authenticate: Basic realm=\"feedmill\", charset=\"UTF-8\"\r\n"
                        "WWW-Authenticate: Bearer realm=\"feedmill\"\r\n");
        return false;
    }
    if (strcmp(route->method, "GET") != 0 &&
        !auth_origin_may_write(origin, http_request_host(c->req), c->cfg->cors_origin))
        return problem_set(p, c->arena, PROBLEM_FORBIDDEN,
                           "A page of another origin may not change anything here.");
    return true;
}

static bool read_params(struct call *c, const struct route *route, struct problem *p)
{
    struct str type = http_request_field(c->req, "content-type");
    struct str body = http_request_body(c->req);

    if (!params_add(&c->params, c->arena, http_request_query(c->req), p))
        return false;
    if ((route->flags & FORM) == 0 || body.len == 0)
        return true;
    if (!str_is_null(type) &&
        !str_eqz(http_media_type(c->arena, type), "application/x-www-form-urlencoded"))
        return problem_set(p, c->arena, PROBLEM_MEDIA_TYPE,
                           "The body must be a form (application/x-www-form-urlencoded).");
    if (body.len > FORM_MAX)
        return problem_set(p, c->arena, PROBLEM_TOO_LARGE, "A form of %zu bytes; %d are taken.",
                           body.len, FORM_MAX);
    return params_add(&c->params, c->arena, str_trim(body), p);
}

void api_handle(void *ctx, struct http_request *req)
{
    struct api *a = ctx;
    struct arena *arena = http_request_arena(req);
    struct call *c = ARENA_NEW(arena, struct call);
    struct str path = http_request_path(req), method = http_request_method(req), allow;
    const struct route *route;
    struct problem p;

    c->api = a;
    c->cfg = &atomic_load(&a->conf)->cfg;
    c->req = req;
    c->arena = arena;
    c->target = http_request_target(req);
    c->accept = http_request_field(req, "accept");
    route = find_route(path, method);
    if (route != NULL) {
        if (admit(c, route, &p) && read_params(c, route, &p))
            route->handle(c);
        else
            reply_problem(c, &p);
        return;
    }
    allow = allowed_methods(arena, path);
    if (allow.len == 0) {
        problem_set(&p, arena, PROBLEM_NOT_FOUND,
                    "There is no such resource; GET / lists those that are there.");
    } else if (str_eqz(method, "OPTIONS")) {
        reply_options(c, allow);
        return;
    } else {
        problem_set(&p, arena, PROBLEM_METHOD, "This resource takes %.*s.", STR_ARG(allow));
        p.fields = str_printf(arena, "Allow: %.*s\r\n", STR_ARG(allow));
    }
    reply_problem(c, &p);
}
