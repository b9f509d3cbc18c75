/* server/daemon.c - the start and stop of the daemon, and the connections between its parts. */
#include "server/daemon.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/line_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "feed/filter/filter.h"
#include "fetcher/fetcher.h"
#include "mirror/mirror.h"
#include "net/component.h"
#include "net/guard.h"
#include "net/hostport.h"
#include "net/http_server.h"
#include "net/url.h"
#include "notifier/announcer.h"
#include "notifier/notifier.h"
#include "search/indexer.h"
#include "search/terms.h"
#include "server/handover.h"
#include "server/option_checks.h"
#include "server/option_files.h"
#include "server/part_options.h"
#include "server/test_clock.h"
#include "server/watchdog.h"
#include "storage/nodes.h"
#include "storage/store.h"

#define HANDOVER_HTTP_MS                                                                           \
    1000                /* for requests, when a new version takes over: others wait meanwhile */
#define HANDOVER_MS 500 /* for fetches and pushes, when a new version takes over */
#define AGENT_NAME "Feedmill/" FEEDMILL_VERSION

struct daemon {
    const struct options *o;       /* the present ones */
    const struct options *started; /* those of the start; parts still borrow texts of them */
    struct arena arena;            /* texts that the parts borrow */
    char *agent; /* "Feedmill/1.0 (+URL"; the fetcher adds the rest for each feed */
    struct guard *fetch_guard, *push_guard;
    struct store *store;
    struct component *component; /* NULL: no XMPP */
    struct fetcher *fetcher;
    struct notifier *notifier;
    struct announcer *announcer;
    struct indexer *indexer;
    struct mirror *mirror; /* NULL: nothing is mirrored */
    struct api *api;
    struct http_server *http;
    struct str listen; /* --listen, or the address of a manager's socket that more can reach */
    struct http_sockets inherited; /* of the process before this one, until they are served */
    struct line_file *access_log;
    struct test_clock *clock;  /* NULL: the clocks are the real ones */
    struct watchdog *watchdog; /* NULL: nobody demands signs of life */
};

/* ---- configuration of the parts -------------------------------------------------------------- */

static int cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 64 ? 64 : (int)n;
}

/* The fetcher asks the API through this; when it starts, there is one. */
static size_t let_unknown(void *ctx, size_t n)
{
    const struct daemon *d = ctx;

    return api_let_unknown(d->api, n);
}

static struct fetcher_cfg fetcher_config(struct daemon *d, const struct options *o)
{
    struct fetcher_cfg cfg = {
        .store = d->store,
        .guard = d->fetch_guard,
        .user_agent = d->agent,
        .let_unknown = let_unknown,
        .let_ctx = d,
        .n_workers = (int)(o->workers        ? o->workers
                           : cores() / 2 < 2 ? 2
                                             : cores() / 2),
    };

    options_for_fetcher(o, &cfg);
    return cfg;
}

/* The notifier calls this to get the document of a topic from the API. */
static enum rc draw_topic(void *ctx, struct reader *r, struct str topic,
                          const struct subscription *sub, size_t max_entries, struct arena *a,
                          struct buf *body, struct topic_document *doc, struct err *err)
{
    struct daemon *d = ctx;

    return api_draw_topic(d->api, r, topic, sub, max_entries, a, body, doc, err);
}

/* The same for revisions as items of a stream. */
static enum rc draw_items(void *ctx, struct reader *r, const struct items_wanted *wanted,
                          struct arena *a, struct item_text *items, struct err *err)
{
    struct daemon *d = ctx;

    return api_draw_items(d->api, r, wanted, a, items, err);
}

static struct notifier_cfg notifier_config(struct daemon *d, const struct options *o)
{
    struct notifier_cfg cfg = {
        .store = d->store,
        .nodes = store_is_shared(d->store) ? store_nodes(d->store) : NULL,
        .guard = d->push_guard,
        .user_agent = AGENT_NAME,
        .draw = o->hub ? draw_topic : NULL,
        .draw_items = draw_items,
        .draw_ctx = d,
        .component = d->component,
        .has_cloud = o->cloud,
    };

    options_for_notifier(o, &cfg);
    return cfg;
}

static struct announcer_cfg announcer_config(const struct daemon *d, const struct options *o)
{
    struct announcer_cfg cfg = {
        .store = d->store,
        .guard = d->push_guard,
        .user_agent = AGENT_NAME,
    };

    options_for_announcer(o, &cfg);
    return cfg;
}

/* ---- the API's ports ------------------------------------------------------------------------- */

static void port_await_feed(void *ctx, int64_t feed_id, fetch_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    fetcher_await(d->fetcher, feed_id, REASON_READER, done, done_ctx);
}

static void port_get_document(void *ctx, struct str url, struct str credential,
                              document_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    fetcher_get(d->fetcher, url, credential, done, done_ctx);
}

static enum rc port_ping(void *ctx, struct str url, struct str rss_url, size_t *n,
                         store_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    return fetcher_ping(d->fetcher, url, rss_url, n, done, done_ctx);
}

static enum upstream_verdict port_upstream_verify(void *ctx, const struct upstream_verification *v,
                                                  upstream_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    return fetcher_upstream_verify(d->fetcher, v, done, done_ctx);
}

static enum upstream_verdict port_upstream_deliver(void *ctx,
                                                   const struct upstream_delivery *delivery,
                                                   upstream_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    return fetcher_upstream_deliver(d->fetcher, delivery, done, done_ctx);
}

static enum upstream_verdict port_upstream_notify(void *ctx, const struct upstream_notification *n,
                                                  upstream_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    return fetcher_upstream_notify(d->fetcher, n, done, done_ctx);
}

static enum rc port_test_push(void *ctx, int64_t sub_id, push_test_done_fn *done, void *done_ctx)
{
    struct daemon *d = ctx;

    return notifier_test(d->notifier, sub_id, done, done_ctx);
}

static int64_t port_push_held(void *ctx, struct str endpoint)
{
    struct daemon *d = ctx;

    return notifier_held(d->notifier, endpoint);
}

static void port_mirror_used(void *ctx, struct str sha256, bool is_lost)
{
    struct daemon *d = ctx;

    mirror_used(d->mirror, sha256, is_lost);
}

static struct api_cfg api_config(struct daemon *d, const struct options *o)
{
    struct api_cfg cfg = {
        .store = d->store,
        .ports = {d, port_await_feed, port_get_document, port_ping, port_upstream_verify,
                  port_upstream_deliver, port_upstream_notify, port_test_push, port_push_held,
                  port_mirror_used},
        .fetch_guard = d->fetch_guard,
        .event_beat_ms = 15000,
        .is_exposed = options_is_exposed(d->listen),
        .component = d->component,
        .access_log = d->access_log,
    };

    options_for_api(o, &cfg);
    return cfg;
}

/* The address of an option that options_check() has accepted. */
static struct hostport listen_address(struct str listen)
{
    struct hostport hp;

    ASSERT(hostport_parse_listen(listen, &hp));
    return hp;
}

/* Who can reach us? A service manager may have opened other sockets than those that --listen names.
 */
static struct str reached_at(struct daemon *d)
{
    struct str exposed = handover_exposed(&d->inherited, &d->arena);

    return str_is_null(exposed) || options_is_exposed(d->o->listen) ? d->o->listen : exposed;
}

/* Tell the fetcher the URL at which hubs on this machine reach us: with the port that was bound,
 * and with the loopback address if we listen on all addresses. */
static void tell_local_url(struct daemon *d)
{
    struct hostport at = listen_address(d->o->listen);
    struct str host = hostport_in_url(&d->arena, &at);

    if (hostport_is_any(&at))
        host = at.kind == HOST_IPV6 ? STR("[::1]") : STR("127.0.0.1");
    fetcher_set_local_url(d->fetcher, str_printf(&d->arena, "http://%.*s:%d", STR_ARG(host),
                                                 http_server_port(d->http)));
}

/* Where other machines reach this daemon, and the name that it has if no other was given. */
static void node_names(struct daemon *d, struct nodes_cfg *cfg)
{
    struct hostport at = listen_address(d->o->listen);
    struct str host = hostport_in_url(&d->arena, &at);
    char machine[256] = "localhost";
    int port = http_server_port(d->http);

    (void)gethostname(machine, sizeof machine - 1);
    if (hostport_is_any(&at))
        host = str_dup(&d->arena, str_from(machine));
    cfg->address = str_printf(&d->arena, "http://%.*s:%d", STR_ARG(host), port);
    if (cfg->name.len == 0)
        cfg->name = str_printf(&d->arena, "%s:%d", machine, port);
}

/* Slots have come or gone. Only the node that has the slot of our address is the component. */
static void on_slots(void *ctx, const struct slot_set *gained, const struct slot_set *lost)
{
    struct daemon *d = ctx;
    unsigned slot = nodes_slot(component_name(d->component));

    if (slot_set_has(gained, slot) || slot_set_has(lost, slot))
        component_set_active(d->component, slot_set_has(gained, slot));
}

/* Returns which endpoints this node serves. Those in the slots of a node that serves other ones
 * would get nothing. */
static struct str node_roles(struct daemon *d)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);

    if (!d->o->hub)
        buf_puts(&text, "--hub=no ");
    if (!d->o->cloud)
        buf_puts(&text, "--cloud=no ");
    if (d->component != NULL)
        buf_printf(&text, "--xmpp-component=%.*s", STR_ARG(component_name(d->component)));
    return str_dup(&d->arena, str_trim(buf_view(&text)));
}

/* Become one of the nodes of the database. */
static enum rc join_nodes(struct daemon *d, struct err *err)
{
    struct nodes_cfg cfg = {
        .name = d->o->node,
        .program = STR(FEEDMILL_VERSION),
        .base_url = d->o->base_url,
        .archive_size = d->o->archive_size,
        .roles = node_roles(d),
        .lease_ms = d->o->node_lease,
    };

    node_names(d, &cfg);
    if (d->component != NULL && store_is_shared(d->store)) {
        component_set_active(d->component, false);
        nodes_listen(store_nodes(d->store), on_slots, d);
    }
    return nodes_join(store_nodes(d->store), &cfg, err);
}

/* Make our connection to the XMPP server, if there is to be one. */
static void make_component(struct daemon *d)
{
    struct component_cfg cfg = {.first_pause_ms = 1000, .max_pause_ms = 15000, .silence_ms = 20000};
    struct hostport server;

    if (d->o->xmpp_server.len == 0)
        return;
    ASSERT(options_xmpp_server(d->o, &server));
    cfg.host = server.host;
    cfg.port = server.port;
    cfg.name = str_lower(&d->arena, d->o->xmpp_component);
    cfg.secret = d->o->xmpp_secret;
    d->component = component_new(&cfg);
}

/* Make the mirror, if there is to be one. */
static void make_mirror(struct daemon *d, const struct options *o)
{
    struct mirror_cfg cfg = {.store = d->store, .guard = d->fetch_guard};

    options_for_mirror(o, &cfg);
    cfg.user_agent = arena_printf(&d->arena, "%s)", d->agent);
    if (cfg.dir.len > 0)
        d->mirror = mirror_new(&cfg);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Thousands of clients and transfers need file descriptors, so raise the soft limit to the hard
 * limit. */
static void raise_descriptor_limit(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
        rl.rlim_cur = rl.rlim_max;
        setrlimit(RLIMIT_NOFILE, &rl);
    }
}

/* Options that options_check() has accepted. */
static void set_log(const struct options *o)
{
    log_set_format(str_eqz(o->log_format, "json") ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    for (int i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++)
        if (str_eqz(o->log_level, log_level_name((enum log_level)i)))
            log_set_level((enum log_level)i);
}

/* A variable that is nearly one of ours is a mistake that nobody would notice. */
static void warn_of_variables(void)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *variable, *meant;

    for (size_t at = 0; options_next_misspelt(&at, &a, &variable, &meant);)
        log_warn("server", "variable_unknown", "name=%s did_you_mean=%s", log_quote(str_from(variable)),
                 meant);
}

static enum rc open_access_log(struct daemon *d, const struct options *o, struct err *err)
{
    enum rc rc = line_file_open(d->access_log, o->access_log, err);

    return rc == RC_OK ? rc : options_blame(o, "access-log", o->access_log, err);
}

/* Are there enough file descriptors for the threads, databases and sockets of the daemon, without
 * clients and publishers? */
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

/* Judge all options, and take over those for which nothing has to be opened. What a start could fail
 * by because of an option belongs in here: "serve --check" and a handover ask no more than this.
 * RC_INPUT: an option is wrong. */
static enum rc take_options(struct daemon *d, struct err *err)
{
    const struct options *o = d->o;
    enum rc rc;

    if ((rc = options_check(o, err)) != RC_OK)
        return rc;
    set_log(o);
    if ((rc = options_check_files(o, err)) != RC_OK || (rc = check_descriptors(o, err)) != RC_OK ||
        (rc = guard_new(o->allow_fetch.items, o->allow_fetch.n, &d->fetch_guard, err)) != RC_OK ||
        (rc = guard_new(o->allow_callback.items, o->allow_callback.n, &d->push_guard, err)) != RC_OK)
        return rc;
    warn_of_variables();
    return RC_OK;
}

enum rc daemon_check(const struct options *o, struct err *err)
{
    struct daemon d = {.o = o, .started = o};
    enum rc rc;

    raise_descriptor_limit();
    rc = take_options(&d, err);
    guard_free(&d.fetch_guard);
    guard_free(&d.push_guard);
    arena_release(&d.arena);
    return rc;
}

static enum rc start(struct daemon *d, struct err *err)
{
    const struct options *o = d->o;
    struct store_cfg store_cfg = {
        .queue_len = 8192,
        .batch_ops = 256,
        .batch_ms = 20,
        .is_shared = true,
        .read_filter = filter_read,
    };
    struct http_server_cfg http_cfg = {
        .n_loops = (int)(o->http_loops ? o->http_loops
                         : cores() > 4 ? 4
                                       : cores()),
        .max_header = LIMIT_REQUEST_HEADER,
        .max_body = LIMIT_REQUEST_BODY,
        .header_ms = 10000,
        .body_ms = 60000,
        .idle_ms = 75000,
        .write_ms = 30000,
        .stall_ms = 60000,
    };
    struct fetcher_cfg fetcher_cfg;
    struct notifier_cfg notifier_cfg;
    struct announcer_cfg announcer_cfg;
    struct api_cfg api_cfg;
    enum rc rc;

    options_for_store(o, &store_cfg);
    options_for_http(o, &http_cfg);
    http_cfg.inherited = &d->inherited;
    d->agent = arena_printf(&d->arena, AGENT_NAME " (+%.*s", STR_ARG(o->contact_url));
    log_find_journal();
    d->access_log = line_file_new(STAT_access_log_lines_total, STAT_access_log_dropped_total);
    if ((rc = take_options(d, err)) != RC_OK ||
        (rc = open_access_log(d, o, err)) != RC_OK)
        return rc;
    d->listen = reached_at(d);
    if (o->test_clock.len > 0) /* before there is a loop or a time */
        d->clock = test_clock_start(str_z(&d->arena, o->test_clock));
    make_component(d); /* before there are many descriptors (net/component.c) */
    if ((rc = store_open(&store_cfg, &d->store, err)) != RC_OK)
        return rc;
    fetcher_cfg = fetcher_config(d, o);
    notifier_cfg = notifier_config(d, o);
    announcer_cfg = announcer_config(d, o);
    api_cfg = api_config(d, o);
    d->fetcher = fetcher_new(&fetcher_cfg);
    d->notifier = notifier_new(&notifier_cfg);
    d->announcer = announcer_new(&announcer_cfg);
    d->indexer = indexer_new(
        &(struct indexer_cfg){.store = d->store, .terms = search_terms, .cut = SEARCH_CUT});
    make_mirror(d, o);
    d->api = api_new(&api_cfg);
    if (d->api == NULL)
        return err_set(err, RC_IO, "the tokens in the database cannot be read");
    if ((rc = options_check_exposed(o, d->listen, api_has_tokens(d->api), err)) != RC_OK)
        return rc;
    http_cfg.watch = api_watch(d->api);
    if ((rc = http_server_new(&http_cfg, api_handle, d->api, &d->http, err)) != RC_OK)
        return rc;
    tell_local_url(d);
    if ((rc = join_nodes(d, err)) != RC_OK || (rc = fetcher_start(d->fetcher, err)) != RC_OK ||
        (rc = notifier_start(d->notifier, err)) != RC_OK ||
        (rc = indexer_start(d->indexer, err)) != RC_OK ||
        (d->mirror != NULL && (rc = mirror_start(d->mirror, err)) != RC_OK))
        return rc;
    if ((rc = store_start_keeper(d->store, err)) != RC_OK)
        return rc;
    announcer_start(d->announcer);
    http_server_start(d->http);
    if (d->component != NULL)
        component_start(d->component, api_xmpp_request, d->api);
    test_clock_follow(d->clock, d->fetcher);
    return RC_OK;
}

/* Stop all parts. `left`: sockets that stay open go there; then transfers get little time, because
 * clients wait. */
static void stop(struct daemon *d, struct http_sockets *left)
{
    int64_t ms = d->o->stop_timeout;

    test_clock_stop(&d->clock);
    if (d->api != NULL)
        api_stop(d->api);
    if (d->http != NULL && left != NULL)
        http_server_hand_over(d->http, ms < HANDOVER_HTTP_MS ? ms : HANDOVER_HTTP_MS, left);
    else if (d->http != NULL)
        http_server_stop(d->http, ms);
    if (left != NULL && ms > HANDOVER_MS)
        ms = HANDOVER_MS;
    if (d->fetcher != NULL)
        fetcher_stop(d->fetcher, ms);
    if (d->notifier != NULL)
        notifier_stop(d->notifier, ms);
    if (d->component != NULL)
        component_stop(d->component, ms);
    if (d->announcer != NULL)
        announcer_stop(d->announcer);
    indexer_stop(d->indexer);
    mirror_stop(d->mirror);
    store_close(&d->store);
    http_server_free(&d->http);
    api_free(&d->api);
    fetcher_free(&d->fetcher);
    notifier_free(&d->notifier);
    announcer_free(&d->announcer);
    indexer_free(&d->indexer);
    mirror_free(&d->mirror);
    component_free(&d->component);
    line_file_free(&d->access_log);
    watchdog_stop(&d->watchdog);
    guard_free(&d->fetch_guard);
    guard_free(&d->push_guard);
    http_sockets_close(&d->inherited);
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
    sigaddset(&set, SIGUSR2);
    return set;
}

void daemon_block_signals(void)
{
    sigset_t set = waited_for();

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit of the size of files is an error of the write */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* SIGHUP: load the options again, and give the parts those that may change while they run. The
 * others keep the value of the start. */
static void reload_options(struct daemon *d, daemon_reload_fn *reload, struct options **loaded)
{
    struct err err = ERR_INIT;
    struct options *o = NULL;
    struct fetcher_cfg fetcher_cfg;
    struct notifier_cfg notifier_cfg;
    struct announcer_cfg announcer_cfg;
    struct api_cfg api_cfg;
    const char *fixed;

    /* whatever the options say, a file that was renamed must be let go */
    if (open_access_log(d, d->o, &err) != RC_OK)
        log_error("server", "access_log_stays", "error=%s", log_quote(str_from(err.text)));
    if (reload(&o, &err) != RC_OK || options_check(o, &err) != RC_OK ||
        options_check_exposed(o, d->listen, api_has_tokens(d->api), &err) != RC_OK ||
        open_access_log(d, o, &err) != RC_OK) {
        log_error("server", "reload_refused", "error=%s", log_quote(str_from(err.text)));
        options_free(&o);
        return;
    }
    if ((fixed = options_changed_fixed(d->started, o)) != NULL)
        log_warn("server", "reload_partial", "option=%s effect=next_start", fixed);
    set_log(o);
    fetcher_cfg = fetcher_config(d, o);
    notifier_cfg = notifier_config(d, o);
    announcer_cfg = announcer_config(d, o);
    api_cfg = api_config(d, o);
    store_reload(d->store, &fetcher_cfg.levels);
    fetcher_reload(d->fetcher, &fetcher_cfg);
    notifier_reload(d->notifier, &notifier_cfg);
    announcer_reload(d->announcer, &announcer_cfg);
    api_reload(d->api, &api_cfg);
    d->o = o;
    options_free(loaded); /* the parts do not borrow texts of the last reload */
    *loaded = o;
    log_info("server", "reloaded", "%s", "");
}

/* With the options as they are now, would callers be let in, where we are reached and where the new program will listen?
 * Only we know the tokens of the database. What this program cannot read may be right for the new one. */
static enum rc check_exposed(const struct daemon *d, daemon_reload_fn *reload, struct err *err)
{
    struct options *o = NULL;
    enum rc rc = RC_OK;

    if (reload(&o, NULL) == RC_OK && (rc = options_check_exposed(o, d->listen, api_has_tokens(d->api), err)) == RC_OK)
        rc = options_check_exposed(o, o->listen, api_has_tokens(d->api), err);
    options_free(&o);
    return rc;
}

/* SIGUSR2: may the file at the program's path take over? */
static bool can_hand_over(const struct daemon *d, char **argv, daemon_reload_fn *reload)
{
    struct err err = ERR_INIT;

    if (handover_check(argv, &err) == RC_OK && check_exposed(d, reload, &err) == RC_OK)
        return true;
    log_error("server", "handover_refused", "error=%s", log_quote(str_from(err.text)));
    return false;
}

/* Carry out signals until one ends the daemon. Returns that one. */
static int await_end(struct daemon *d, char **argv, daemon_reload_fn *reload,
                     struct options **loaded)
{
    sigset_t set = waited_for();
    int sig = 0;

    while (sigwait(&set, &sig) == 0) {
        if (sig == SIGHUP)
            reload_options(d, reload, loaded);
        else if (sig != SIGUSR2 || can_hand_over(d, argv, reload))
            break;
    }
    return sig;
}

/* A second signal ends the process at once. */
static void end_at_once(void)
{
    sigset_t set = waited_for();

    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigdelset(&set, SIGHUP); /* these stay blocked, as they would end the process during the stop */
    sigdelset(&set, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static const char *signal_text(int sig)
{
    return sig == SIGINT ? "INT" : "TERM";
}

enum rc daemon_run(const struct options *o, char **argv, daemon_reload_fn *reload, struct err *err)
{
    struct daemon d = {.o = o, .started = o};
    struct http_sockets left = HTTP_SOCKETS_EMPTY;
    struct options *loaded = NULL;
    struct hostport at;
    enum rc rc;
    int sig;

    handover_note_program(argv[0]);
    raise_descriptor_limit();
    rc = handover_receive(&d.inherited, err); /* it changes the environment, which others read */
    d.watchdog = watchdog_start();
    if (rc != RC_OK || (rc = start(&d, err)) != RC_OK) {
        stop(&d, NULL);
        return rc;
    }
    at = listen_address(o->listen);
    printf("feedmill: ready on http://%.*s:%d\n", STR_ARG(hostport_in_url(&d.arena, &at)),
           http_server_port(d.http));
    fflush(stdout);
    handover_tell("READY=1");
    sig = await_end(&d, argv, reload, &loaded);
    if (sig == SIGUSR2)
        log_info("server", "stopping", "signal=USR2 program=%s", log_quote(str_from(handover_program())));
    else
        log_info("server", "stopping", "signal=%s", signal_text(sig));
    handover_tell(sig == SIGUSR2 ? "RELOADING=1" : "STOPPING=1");
    end_at_once();
    stop(&d, sig == SIGUSR2 ? &left : NULL);
    options_free(&loaded);
    log_info("server", "stopped", "%s", "");
    if (sig == SIGUSR2)
        rc = handover_execute(argv, &left, err);
    http_sockets_close(&left);
    return rc;
}
