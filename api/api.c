/* api/api.c - the life of the API, and what happens to every request before its handler runs. */
#include "api/api.h"

#include "api/backup.h"
#include "api/console.h"
#include "api/http/auth.h"
#include "api/http/buckets.h"
#include "api/http/current.h"
#include "api/http/first_fetches.h"
#include "api/http/handlers.h"
#include "api/http/identify.h"
#include "api/http/reply.h"
#include "api/http/request_watch.h"
#include "api/http/routes.h"
#include "api/http/task.h"
#include "api/http/token_book.h"
#include "api/hub/hub_wait.h"
#include "api/lists/list_order.h"
#include "api/lists/list_thread.h"
#include "api/lists/opml_list.h"
#include "api/lists/sub_follow.h"
#include "api/openapi.h"
#include "api/pings/ping_log.h"
#include "api/rights.h"
#include "api/views/documents.h"
#include "api/views/draw_items.h"
#include "api/views/event_streams.h"
#include "api/views/feeds_asked.h"
#include "api/views/log_wait.h"
#include "api/views/recall.h"
#include "api/views/sub_book.h"
#include "api/xmpp/xmpp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/http_fields.h"
#include "net/url.h"

#define BODY_MAX (64 * 1024) /* bytes of an urlencoded body that is read on the loop */
#define ADDRESSES_MAX 4096   /* of clients whose rates are counted apart */

void index_get(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_puts(&out, "Feedmill " FEEDMILL_VERSION "\n\n");
    for (size_t i = 0; route_at(i) != NULL; i++) {
        const struct route *r = route_at(i);

        buf_printf(&out, "%-6s %-12s %s", r->method, r->path, r->help);
        for (const enum param_id *id = r->params; *id != PARAM_NONE; id++)
            buf_printf(&out, "%s%s", id == r->params ? ": " : ", ", param_name(*id));
        buf_putc(&out, '\n');
    }
    reply_buf(req, 200, "text/plain; charset=utf-8", &out, STR_NULL);
}

/* ---- life cycle ---- */

/* Returns null for an empty text: an empty option counts as not given. */
static struct str given(struct arena *a, struct str s)
{
    return s.len > 0 ? str_dup(a, s) : STR_NULL;
}

static struct str *copied(struct arena *a, const struct str *list, size_t n)
{
    struct str *copy = ARENA_ARRAY(a, struct str, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = str_dup(a, list[i]);
    return copy;
}

/* Returns the names by which this server may be addressed: the configured ones, and that of its
 * public URL. */
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

static void describe(struct api_conf *conf)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    size_t len;
    char *bytes;

    openapi_write(&out, &conf->cfg);
    bytes = buf_detach(&out, &len);
    conf->openapi = blob_new(bytes, len);
    conf->openapi_gzip = reply_gzip(blob_bytes(conf->openapi));
}

static struct api_conf *conf_new(const struct api_cfg *cfg)
{
    struct api_conf *conf = NEW(struct api_conf);
    struct arena *a = &conf->arena;

    conf->cfg = *cfg;
    conf->cfg.base_url = given(a, cfg->base_url);
    conf->cfg.cors_origin = given(a, cfg->cors_origin);
    conf->cfg.token = given(a, cfg->token);
    conf->cfg.anonymous = given(a, cfg->anonymous);
    conf->cfg.demo_dir = given(a, cfg->demo_dir);
    conf->cfg.xmpp_allow = copied(a, cfg->xmpp_allow, cfg->n_xmpp_allow);
    conf->cfg.allow_hosts = own_hosts(a, cfg, &conf->cfg.n_allow_hosts);
    describe(conf);
    return conf;
}

/* The storer's thread. */
static void on_commit(void *ctx, const struct commit_notice *notice)
{
    struct api *a = ctx;

    sub_book_notice(a->subs, notice); /* first: those who are woken may look there */
    sub_follow_notice(a->follow, notice);
    log_waiters_notice(a->waiters, notice);
    events_notice(a->events, notice);
    hub_waiters_notice(a->hub, notice);
}

struct api *api_new(const struct api_cfg *cfg)
{
    struct api *a = NEW(struct api);

    a->store = cfg->store;
    a->tokens = token_book_new(a->store);
    if (a->tokens == NULL) {
        mem_free(a);
        return NULL;
    }
    a->access_log = cfg->access_log;
    a->ports = cfg->ports;
    pthread_mutex_init(&a->reload_lock, NULL);
    pthread_mutex_init(&a->stop_lock, NULL);
    atomic_init(&a->conf, conf_new(cfg));
    atomic_init(&a->n_waits, 0);
    a->documents = documents_new();
    a->recall = recall_new();
    a->subs = sub_book_new(a->store);
    a->list_orders = list_orders_new();
    a->lists = opml_lists_new();
    a->list_thread = list_thread_new();
    a->waiters = log_waiters_new();
    a->events = events_new(a, cfg->store, cfg->event_beat_ms);
    a->pings = ping_log_new();
    a->long_tasks = long_tasks_new();
    a->backups = backups_new();
    a->buckets = buckets_new(ADDRESSES_MAX);
    a->rates = buckets_new(TOKENS_MAX);
    a->first_fetches = buckets_new(TOKENS_MAX + ADDRESSES_MAX);
    a->hub_calls = buckets_new(ADDRESSES_MAX);
    a->hub = hub_waiters_new(cfg->store);
    if (cfg->component != NULL)
        a->xmpp = xmpp_service_new(a, cfg->component);
    a->follow = sub_follow_new(a);
    store_listen(a->store, on_commit, a);
    sub_follow_start(a->follow);
    return a;
}

bool api_has_tokens(const struct api *a)
{
    return !token_book_is_empty(a->tokens);
}

size_t api_let_unknown(void *ctx, size_t n)
{
    struct api *a = ctx;

    return first_fetches_of_lists(a, &atomic_load(&a->conf)->cfg, n);
}

void api_reload(struct api *a, const struct api_cfg *cfg)
{
    struct api_conf *conf = conf_new(cfg);

    pthread_mutex_lock(&a->reload_lock);
    conf->older = atomic_load(&a->conf);
    atomic_store(&a->conf, conf);
    pthread_mutex_unlock(&a->reload_lock);
    rights_look(a); /* --token or --anonymous may be another one */
}

void api_stop(struct api *a)
{
    pthread_mutex_lock(&a->stop_lock);
    a->stopping = true;
    pthread_mutex_unlock(&a->stop_lock);
    log_waiters_end(a->waiters);
    events_stop(a->events);
    token_book_stop(a->tokens);
    list_thread_stop(a->list_thread);
    backups_stop(a->backups);
    sub_follow_stop(a->follow);
}

void api_free(struct api **ap)
{
    struct api *a = *ap;
    struct api_conf *conf;

    if (a == NULL)
        return;
    documents_free(&a->documents);
    recall_free(&a->recall);
    sub_follow_free(&a->follow);
    sub_book_free(&a->subs);
    list_orders_free(&a->list_orders);
    list_thread_free(&a->list_thread);
    opml_lists_free(&a->lists);
    log_waiters_free(&a->waiters);
    events_free(&a->events);
    token_book_free(&a->tokens);
    ping_log_free(&a->pings);
    long_tasks_free(&a->long_tasks);
    backups_free(&a->backups);
    buckets_free(&a->buckets);
    buckets_free(&a->rates);
    buckets_free(&a->first_fetches);
    buckets_free(&a->hub_calls);
    hub_waiters_free(&a->hub);
    xmpp_service_free(&a->xmpp);
    for (conf = atomic_load(&a->conf); conf != NULL;) {
        struct api_conf *older = conf->older;

        blob_unref(&conf->openapi);
        blob_unref(&conf->openapi_gzip);
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

static void reply_options(struct request *req, struct str allow)
{
    AUTO(buf_release) struct buf fields = BUF_INIT(BUF_ANY);
    bool is_mcp = str_eqz(http_request_path(req->http), PATH_MCP);

    buf_printf(&fields, "Allow: %.*s\r\n", STR_ARG(allow));
    if (!str_is_null(req->ask.cfg->cors_origin))
        buf_printf(&fields,
                   "Access-Control-Allow-Origin: %.*s\r\n"
                   "Access-Control-Allow-Methods: %s\r\n"
                   "Access-Control-Allow-Headers: Authorization, %s\r\n"
                   "Access-Control-Max-Age: 86400\r\n",
                   STR_ARG(req->ask.cfg->cors_origin), is_mcp ? "POST" : "GET, HEAD",
                   is_mcp ? "Content-Type, MCP-Protocol-Version, Mcp-Session-Id, Last-Event-ID" : "If-None-Match, Last-Event-ID");
    http_reply(req->http, 204, buf_view(&fields), NULL);
}

static void handle(struct request *req);

static bool has_role(const struct caller *c, const struct route *route)
{
    return c->role >= route->role ||
           ((route->flags & ALONE) != 0 && c->is_alone && c->role >= ROLE_SUBSCRIBE);
}

/* Returns true when this caller may make this request. Otherwise *p says why not, or *waits. */
static bool admit(struct request *req, struct problem *p, bool *waits)
{
    const struct route *route = req->route;

    if (route->role == ROLE_NONE)
        return true;
    if (!identify(req, handle, p, waits) || !request_in_rate(req, p))
        return false;
    if (!has_role(&req->ask.caller, route))
        return problem_role(p, req->ask.arena, route->role, req->ask.caller.role);
    if (strcmp(route->method, "GET") != 0 &&
        !auth_origin_may_write(http_request_field(req->http, "origin"),
                               http_request_host(req->http), req->ask.cfg->base_url,
                               req->ask.cfg->cors_origin))
        return problem_set(p, req->ask.arena, PROBLEM_FORBIDDEN,
                           "A page of another origin may not change anything here.");
    return true;
}

/* The query without the token. */
static struct str query_of(const struct request *req)
{
    ssize_t at = str_chr(req->ask.target, '?');

    if (!req->has_key)
        return http_request_query(req->http);
    return at < 0 ? STR_NULL : str_slice(req->ask.target, (size_t)at + 1, req->ask.target.len);
}

static bool read_params(struct request *req, const struct route *route, struct problem *p)
{
    struct str type = http_request_field(req->http, "content-type");
    struct str body = http_request_body(req->http);

    if (!params_add(&req->ask.params, req->ask.arena, query_of(req), p))
        return false;
    if ((route->flags & URLENCODED) == 0 || body.len == 0)
        return true;
    if (!str_is_null(type) && !str_eqz(http_media_type(req->ask.arena, type), MEDIA_URLENCODED))
        return problem_set(p, req->ask.arena, PROBLEM_MEDIA_TYPE,
                           "The body must be a form (" MEDIA_URLENCODED ").");
    if (body.len > BODY_MAX)
        return problem_set(p, req->ask.arena, PROBLEM_TOO_LARGE,
                           "The form has %zu bytes; at most %d are allowed.", body.len, BODY_MAX);
    return params_add(&req->ask.params, req->ask.arena, str_trim(body), p);
}

static void handle(struct request *req)
{
    bool waits = false;
    struct problem p;

    if (console_serve(req))
        return;
    if (!admit(req, &p, &waits)) {
        if (!waits)
            reply_problem(req, &p);
    } else if ((req->route->flags & RECALLED) != 0 && recall_serve(req)) {
        return;
    } else if (read_params(req, req->route, &p)) {
        current_handle(req, feeds_asked_handle);
    } else {
        reply_problem(req, &p);
    }
}

void api_handle(void *ctx, struct http_request *http)
{
    struct api *a = ctx;
    struct arena *arena = http_request_arena(http);
    struct request *req = ARENA_NEW(arena, struct request);
    struct str path = http_request_path(http), method = http_request_method(http), allow;
    struct problem p;

    http_request_set_own(http, req);
    req->http = http;
    req->ask = (struct ask){.api = a,
                            .cfg = &atomic_load(&a->conf)->cfg,
                            .arena = arena,
                            .target = http_request_target(http),
                            .accept = http_request_field(http, "accept")};
    req->ask.origin = ask_origin(arena, req->ask.cfg, http_request_host(http));
    identify_take_token(req);
    req->route = route_find(path, method);
    if (req->route != NULL) {
        req->ask.params = (struct params){.listed = req->route->params, .cfg = req->ask.cfg};
        handle(req);
        return;
    }
    allow = route_methods(arena, path);
    if (allow.len == 0) {
        problem_set(&p, arena, PROBLEM_NOT_FOUND,
                    "There is no such resource; GET / lists all resources.");
    } else if (str_eqz(method, "OPTIONS")) {
        reply_options(req, allow);
        return;
    } else {
        problem_set(&p, arena, PROBLEM_METHOD, "This resource allows only %.*s.", STR_ARG(allow));
        p.fields = str_printf(arena, "Allow: %.*s\r\n", STR_ARG(allow));
    }
    reply_problem(req, &p);
}

struct http_watch api_watch(struct api *a)
{
    return request_watch(a);
}

void api_xmpp_request(void *ctx, struct component_request *req)
{
    struct api *a = ctx;

    xmpp_service_request(a->xmpp, req);
}

enum rc api_draw_items(struct api *a, struct reader *r, const struct items_wanted *wanted,
                       struct arena *arena, struct item_text *items, struct err *err)
{
    return draw_revisions(a->store, r, wanted, arena, items, err);
}
