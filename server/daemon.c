/* server/daemon.c - the life of the daemon, and the wires between its parts. */
#include "server/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/fetcher.h"
#include "net/guard.h"
#include "net/http_server.h"
#include "net/url.h"
#include "notifier/announcer.h"
#include "notifier/notifier.h"
#include "notifier/sink.h"
#include "storage/store.h"

#define AGENT_NAME "Feedmill/" FEEDMILL_VERSION

struct daemon {
    const struct options *o;       /* those in force */
    const struct options *started; /* those of the start: what no reload changes is still theirs */
    struct arena arena;            /* texts the parts borrow */
    char *agent;                   /* "Feedmill/1.0 (+URL", completed per feed */
    struct guard *fetch_guard, *push_guard;
    struct store *store;
    struct fetcher *fetcher;
    struct notifier *notifier;
    struct announcer *announcer;
    struct api *api;
    struct http_server *http;
};

/* ---- configuration of the parts -------------------------------------------------------------- */

static int cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 64 ? 64 : (int)n;
}

static void level_periods(const struct options *o, int64_t out[3])
{
    out[0] = o->level0_period;
    out[1] = o->level1_period;
    out[2] = o->level2_period;
}

static struct fetcher_cfg fetcher_config(const struct daemon *d, const struct options *o)
{
    struct fetcher_cfg cfg = {
        .store = d->store,
        .guard = d->fetch_guard,
        .user_agent = d->agent,
        .n_workers = (int)(o->workers        ? o->workers
                           : cores() / 2 < 2 ? 2
                                             : cores() / 2),
        .max_transfers = (int)o->fetch_transfers,
        .max_per_host = (int)o->fetch_per_host,
        .host_gap_ms = o->fetch_host_gap,
        .timeout_ms = o->fetch_timeout,
        .max_body = (size_t)o->fetch_size,
        .catch_up = (int)o->catch_up,
        .content_rate = (int)o->content_rate,
        .announced_only = o->announced_only,
        .backoff_max_s = o->backoff_max,
        .hub_backup_s = o->hub_backup_period,
        .base_url = o->base_url,
        .unused_s = o->unused_after,
        .ping_gap_ms = o->ping_gap,
        .ping_servers = o->ping_server.items,
        .n_ping_servers = o->ping_server.n,
        .monitor_period_s = o->monitor_period,
    };

    level_periods(o, cfg.level_period_s);
    return cfg;
}

/* The notifier asks the API for what a topic shows. */
static enum rc draw_topic(void *ctx, struct reader *r, struct str topic, int64_t after_seq,
                          size_t max_entries, struct arena *a, struct buf *body,
                          struct topic_document *doc, struct err *err)
{
    struct daemon *d = ctx;
    struct api_delivery out = {0};
    enum rc rc = api_draw_topic(d->api, r, topic, after_seq, max_entries, a, body, &out, err);

    *doc = (struct topic_document){out.media_type, out.self,     out.hub,
                                   out.n_entries,  out.position, out.is_last};
    return rc;
}

static struct notifier_cfg notifier_config(struct daemon *d, const struct options *o)
{
    return (struct notifier_cfg){
        .store = d->store,
        .guard = d->push_guard,
        .user_agent = AGENT_NAME,
        .max_calls = (int)o->push_calls,
        .max_entries = (size_t)o->push_entries,
        .timeout_ms = o->push_timeout,
        .first_retry_ms = o->push_first_retry,
        .max_retry_ms = o->push_max_retry,
        .suspend_after_s = o->push_suspend_after,
        .draw = o->hub ? draw_topic : NULL,
        .draw_ctx = d,
    };
}

static struct announcer_cfg announcer_config(const struct daemon *d, const struct options *o)
{
    return (struct announcer_cfg){
        .store = d->store,
        .guard = d->push_guard,
        .user_agent = AGENT_NAME,
        .servers = o->announce.items,
        .n_servers = o->announce.n,
        .base_url = o->base_url,
        .timeout_ms = o->push_timeout,
    };
}

/* ---- the API's ports ------------------------------------------------------------------------- */

struct relay { /* carries an answer of the fetcher to the API in the API's own words */
    api_fetched_fn *fetched;
    api_document_fn *document;
    void *ctx;
};

static struct relay *relay_new(api_fetched_fn *fetched, api_document_fn *document, void *ctx)
{
    struct relay *r = NEW(struct relay);

    *r = (struct relay){fetched, document, ctx};
    return r;
}

static void on_fetched(void *ctx, const struct fetch_result *res)
{
    struct relay *r = ctx;
    struct api_fetched out = {res->rc, res->feed_id, res->status, res->url, res->text};

    r->fetched(r->ctx, &out);
    mem_free(r);
}

static void port_await_feed(void *ctx, int64_t feed_id, api_fetched_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    fetcher_await(d->fetcher, feed_id, REASON_READER, on_fetched, relay_new(done, NULL, done_ctx));
}

static void on_document(void *ctx, const struct document_result *res)
{
    struct relay *r = ctx;
    struct api_document out = {.rc = res->rc,
                               .status = res->status,
                               .body = res->body,
                               .content_type = res->content_type,
                               .text = res->text,
                               .url = res->url};

    r->document(r->ctx, &out);
    mem_free(r);
}

static void port_get_document(void *ctx, struct str url, struct str credential,
                              api_document_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    fetcher_get(d->fetcher, url, credential, on_document, relay_new(NULL, done, done_ctx));
}

static enum rc port_ping(void *ctx, struct str url, struct str rss_url, size_t *n,
                         store_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    return fetcher_ping(d->fetcher, url, rss_url, n, done, done_ctx);
}

static int port_hub_call(void *ctx, const struct api_hub_call *call, api_hub_fn *done,
                         void *done_ctx)
{
    struct daemon *d = ctx;
    struct hub_verification v = {call->token, call->mode, call->topic, call->lease, call->reason};
    struct hub_delivery delivery = {call->token,
                                    call->signature,
                                    call->content_type,
                                    call->content_coding,
                                    call->content_language,
                                    call->content_location,
                                    call->body};

    return call->is_delivery ? fetcher_hub_deliver(d->fetcher, &delivery, done, done_ctx)
                             : fetcher_hub_verify(d->fetcher, &v, done, done_ctx);
}

static struct api_cfg api_config(struct daemon *d, const struct options *o)
{
    struct api_cfg cfg = {
        .store = d->store,
        .ports = {d, port_await_feed, port_get_document, port_ping, port_hub_call},
        .base_url = o->base_url,
        .allow_hosts = o->allow_host.items,
        .n_allow_hosts = o->allow_host.n,
        .cors_origin = o->cors_origin,
        .token = o->token,
        .rpc_validator = o->rpc_validator,
        .demo_dir = o->demo_dir,
        .fetch_wait_ms = o->fetch_wait,
        .ping_rate = (int)o->ping_rate,
        .ping_burst = (int)o->ping_burst,
        .list_ttl_s = o->list_ttl,
        .archive_size = (size_t)o->archive_size,
        .min_period_s = o->min_period,
        .hub = o->hub,
        .lease_default_s = o->hub_lease,
        .lease_min_s = o->hub_lease_min,
        .lease_max_s = o->hub_lease_max,
    };

    level_periods(o, cfg.level_period_s);
    return cfg;
}

/* Hubs on this machine reach us at the port that was bound, whatever the address. */
static void tell_local_url(struct daemon *d)
{
    struct str host = d->o->listen;

    while (host.len > 0 && host.ptr[host.len - 1] != ':')
        host.len--;
    host = str_slice(host, 0, host.len > 0 ? host.len - 1 : 0);
    if (host.len == 0 || str_eqz(host, "0.0.0.0") || str_eqz(host, "*"))
        host = STR("127.0.0.1");
    else if (str_eqz(host, "[::]"))
        host = STR("[::1]");
    fetcher_set_local_url(d->fetcher, str_printf(&d->arena, "http://%.*s:%d", STR_ARG(host),
                                                 http_server_port(d->http)));
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Thousands of clients and transfers need descriptors: take what the hard limit gives. */
static void raise_descriptor_limit(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
        rl.rlim_cur = rl.rlim_max;
        setrlimit(RLIMIT_NOFILE, &rl);
    }
}

static enum rc set_log_level(struct str name, struct err *err)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i])) {
            log_set_level((enum log_level)i);
            return RC_OK;
        }
    return err_set(err, RC_INPUT, "option log-level: \"%.*s\" is none of error, warn, info, debug",
                   STR_ARG(name));
}

/* Nobody outside this machine gets in without the token. */
static enum rc check_exposure(struct str listen, struct str token, struct err *err)
{
    struct str host = listen;
    ssize_t colon = -1;

    for (size_t i = 0; i < host.len; i++)
        if (host.ptr[i] == ':')
            colon = (ssize_t)i;
    if (colon >= 0)
        host.len = (size_t)colon;
    if (!str_is_null(token) || str_starts(host, STR("127.")) || str_eqz(host, "localhost") ||
        str_eqz(host, "[::1]"))
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "option listen: %.*s can be reached from other machines; set --token (or "
                   "FEEDMILL_TOKEN), or listen on 127.0.0.1",
                   STR_ARG(listen));
}

/* What the options may say, whether at the start or by a reload. */
static enum rc check_options(const struct options *o, struct str listen, struct err *err)
{
    for (size_t i = 0; i < o->announce.n; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct url_parts parts;

        if (url_parse(&a, o->announce.items[i], &parts, err) != RC_OK)
            return err_prefix(err, "option announce");
    }
    for (size_t i = 0; i < o->allow_host.n; i++) {
        struct str name = o->allow_host.items[i];

        if (str_chr(name, '/') >= 0 || str_chr(name, ':') >= 0)
            return err_set(
                err, RC_INPUT,
                "option allow-host: \"%.*s\" is no host name; give it without scheme and "
                "port",
                STR_ARG(name));
    }
    return check_exposure(listen, o->token, err);
}

/* Threads, databases and sockets of a daemon at rest; clients and publishers come on top. */
static enum rc check_descriptors(const struct options *o, struct err *err)
{
    rlim_t threads = (rlim_t)(o->http_loops + o->readers + o->workers) + 2 * (rlim_t)cores();
    rlim_t need = 64 + 8 * threads;
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) != 0 || rl.rlim_cur >= need)
        return RC_OK;
    return err_set(err, RC_IO,
                   "only %llu files may be open at once (ulimit -n), and at least %llu are needed; "
                   "raise the limit, or give fewer --http-loops, --readers and --workers",
                   (unsigned long long)rl.rlim_cur, (unsigned long long)need);
}

static enum rc start(struct daemon *d, struct err *err)
{
    const struct options *o = d->o;
    struct store_cfg store_cfg = {
        .path = o->db,
        .n_readers = (int)o->readers,
        .queue_len = 8192,
        .batch_ops = 256,
        .batch_ms = 20,
        .cache_bytes = (size_t)o->cache_size,
        .memcached = o->memcached,
    };
    struct http_server_cfg http_cfg = {
        .listen = o->listen,
        .n_loops = (int)(o->http_loops ? o->http_loops
                         : cores() > 4 ? 4
                                       : cores()),
        .max_connections = (size_t)o->http_connections,
        .max_header = LIMIT_REQUEST_HEADER,
        .max_body = LIMIT_REQUEST_BODY,
        .header_ms = 10000,
        .body_ms = 60000,
        .idle_ms = 75000,
        .write_ms = 30000,
    };
    struct fetcher_cfg fetcher_cfg;
    struct notifier_cfg notifier_cfg;
    struct announcer_cfg announcer_cfg;
    struct api_cfg api_cfg;
    enum rc rc;

    d->agent = arena_printf(&d->arena, AGENT_NAME " (+%.*s", STR_ARG(o->contact_url));
    level_periods(o, store_cfg.level_period_s);
    if ((rc = set_log_level(o->log_level, err)) != RC_OK ||
        (rc = check_options(o, o->listen, err)) != RC_OK ||
        (rc = check_descriptors(o, err)) != RC_OK)
        return rc;
    if ((rc = guard_new(o->allow_fetch.items, o->allow_fetch.n, &d->fetch_guard, err)) != RC_OK) {
        err_prefix(err, "option allow-fetch");
        return rc;
    }
    if ((rc = guard_new(o->allow_callback.items, o->allow_callback.n, &d->push_guard, err)) !=
        RC_OK) {
        err_prefix(err, "option allow-callback");
        return rc;
    }
    if ((rc = store_open(&store_cfg, &d->store, err)) != RC_OK)
        return rc;
    fetcher_cfg = fetcher_config(d, o);
    notifier_cfg = notifier_config(d, o);
    announcer_cfg = announcer_config(d, o);
    api_cfg = api_config(d, o);
    d->fetcher = fetcher_new(&fetcher_cfg);
    d->notifier = notifier_new(&notifier_cfg);
    d->announcer = announcer_new(&announcer_cfg);
    d->api = api_new(&api_cfg);
    if ((rc = http_server_new(&http_cfg, api_handle, d->api, &d->http, err)) != RC_OK)
        return rc;
    tell_local_url(d);
    if ((rc = fetcher_start(d->fetcher, err)) != RC_OK ||
        (rc = notifier_start(d->notifier, err)) != RC_OK)
        return rc;
    announcer_start(d->announcer);
    http_server_start(d->http);
    return RC_OK;
}

static void stop(struct daemon *d)
{
    int64_t ms = d->o->stop_timeout;

    if (d->api != NULL)
        api_stop(d->api);
    if (d->http != NULL)
        http_server_stop(d->http, ms);
    if (d->fetcher != NULL)
        fetcher_stop(d->fetcher, ms);
    if (d->notifier != NULL)
        notifier_stop(d->notifier, ms);
    if (d->announcer != NULL)
        announcer_stop(d->announcer);
    store_close(&d->store);
    http_server_free(&d->http);
    api_free(&d->api);
    fetcher_free(&d->fetcher);
    notifier_free(&d->notifier);
    announcer_free(&d->announcer);
    guard_free(&d->fetch_guard);
    guard_free(&d->push_guard);
    arena_release(&d->arena);
}

/* ---- signals --------------------------------------------------------------------------------- */

static sigset_t waited_for(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

void daemon_block_signals(void)
{
    sigset_t set = waited_for();

    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* SIGHUP: give the parts what may change while they run. `old` stays in use where it may not. */
static void reload_options(struct daemon *d, daemon_reload_fn *reload, struct options **loaded)
{
    struct err err = ERR_INIT;
    struct options *o = NULL;
    struct fetcher_cfg fetcher_cfg;
    struct notifier_cfg notifier_cfg;
    struct announcer_cfg announcer_cfg;
    struct api_cfg api_cfg;
    const char *fixed;

    if (reload(&o, &err) != RC_OK || check_options(o, d->started->listen, &err) != RC_OK ||
        set_log_level(o->log_level, &err) != RC_OK) {
        log_error("server", "reload_refused", "error=%s", log_quote(str_from(err.text)));
        options_free(&o);
        return;
    }
    if ((fixed = options_changed_fixed(d->started, o)) != NULL)
        log_warn("server", "reload_partial", "option=%s effect=next_start", fixed);
    fetcher_cfg = fetcher_config(d, o);
    notifier_cfg = notifier_config(d, o);
    announcer_cfg = announcer_config(d, o);
    api_cfg = api_config(d, o);
    fetcher_reload(d->fetcher, &fetcher_cfg);
    notifier_reload(d->notifier, &notifier_cfg);
    announcer_reload(d->announcer, &announcer_cfg);
    api_reload(d->api, &api_cfg);
    d->o = o;
    options_free(loaded); /* the parts have copied what they need of the one before */
    *loaded = o;
    log_info("server", "reloaded", "%s", "");
}

enum rc daemon_run(const struct options *o, daemon_reload_fn *reload, struct err *err)
{
    struct daemon d = {.o = o, .started = o};
    struct options *loaded = NULL;
    sigset_t set = waited_for();
    struct str host = o->listen;
    enum rc rc;
    int sig = 0;

    raise_descriptor_limit();
    if ((rc = start(&d, err)) != RC_OK) {
        stop(&d);
        return rc;
    }
    while (host.len > 0 && host.ptr[host.len - 1] != ':')
        host.len--;
    printf("feedmill: ready on http://%.*s%d\n", STR_ARG(host), http_server_port(d.http));
    fflush(stdout);
    while (sigwait(&set, &sig) == 0 && sig == SIGHUP)
        reload_options(&d, reload, &loaded);
    log_info("server", "stopping", "signal=%s", sig == SIGINT ? "INT" : "TERM");
    signal(SIGINT, SIG_DFL); /* a second one ends it at once */
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    stop(&d);
    options_free(&loaded);
    log_info("server", "stopped", "%s", "");
    return RC_OK;
}
