/* fetcher/monitor.c - see monitor.h. */
#include "fetcher/monitor.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/lists/changes.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/url.h"

#define MAX_TRANSFERS 8
/* Servers round `when` and `updated` separately, so the time of the same change may differ by this
 */
#define WHEN_SLACK_S 1

#define FORGET_S 86400 /* logs reach back some hours */

struct seen {
    int64_t when_at; /* newest change, by the server's clock */
    unsigned log;    /* number of the last log that had the row */
};

struct ping_server {
    char *url;
    char *etag, *last_modified; /* NULL when none */
    unsigned char body_hash[16];
    bool has_hash;
    struct map seen; /* struct seen by the row's URLs; known feeds only */
    unsigned n_logs; /* read so far */
    bool is_asked;   /* a call is open */
    bool wanted;     /* still in the configuration */
    int64_t known;   /* cfg.known() when it was last asked */
    struct ping_server *next;
    struct monitor *monitor;
};

struct monitor {
    struct loop *loop;
    /* the loop's own from here on */
    struct http_client *client;
    struct monitor_cfg cfg; /* `servers` is not used */
    struct ping_server *servers;
    struct loop_timer *timer;
    bool stopping;
};

static void server_free(struct ping_server *ps)
{
    mem_free(ps->url);
    mem_free(ps->etag);
    mem_free(ps->last_modified);
    map_release(&ps->seen, mem_free);
    mem_free(ps);
}

static void set_text(char **z, struct str s)
{
    mem_free(*z);
    *z = s.len == 0 ? NULL : mem_strndup(s.ptr, s.len);
}

/* Returns the canonical URL, or null when `raw` is not a URL. */
static struct str canonical(struct arena *a, struct str raw)
{
    struct url_parts parts;

    if (raw.len == 0 || url_parse(a, raw, &parts, NULL) != RC_OK)
        return STR_NULL;
    return parts.url;
}

/* Pass on the change if it is newer than the last one of this row. Remember it if the row names a
 * known feed. */
static void handle_row(struct arena *a, struct ping_server *ps, const struct change_row *row)
{
    struct str url = canonical(a, row->url);
    struct str rss_url = canonical(a, row->rss_url);
    struct str key = str_printf(a, "%.*s %.*s", STR_ARG(url), STR_ARG(rss_url));
    struct seen *seen = map_get(&ps->seen, key);
    size_t n;

    if (str_is_null(url) && str_is_null(rss_url))
        return;
    if (seen != NULL)
        seen->log = ps->n_logs;
    if (seen != NULL && row->when_at <= seen->when_at + WHEN_SLACK_S)
        return;
    n = ps->monitor->cfg.change(ps->monitor->cfg.ctx, url, rss_url);
    if (n == 0)
        return;
    stats_add(STAT_monitor_matches_total, (int64_t)n);
    if (seen == NULL) {
        seen = mem_alloc(sizeof *seen);
        map_put(&ps->seen, key, seen);
    }
    *seen = (struct seen){row->when_at, ps->n_logs};
}

/* Forget rows that have left the log and are a day older than its newest change. */
static void forget_old(struct ping_server *ps, int64_t newest_at)
{
    struct str key;
    void *it = NULL, *value;

    while (map_next(&ps->seen, &it, &key, &value)) {
        struct seen *seen = value;

        if (seen->log != ps->n_logs && seen->when_at + FORGET_S < newest_at)
            mem_free(map_del(&ps->seen, key));
    }
}

static void handle_log(struct ping_server *ps, const struct http_answer *answer)
{
    struct change_row *rows;
    struct err err = ERR_INIT;
    unsigned char hash[16];
    int64_t newest_at = INT64_MIN;
    size_t n;

    digest_content(answer->body, hash);
    if (ps->has_hash && memcmp(hash, ps->body_hash, sizeof hash) == 0)
        return;
    if (changes_read(answer->arena, answer->body, clock_now_s(), &rows, &n, &err) != RC_OK) {
        log_warn("monitor", "log_unreadable", "server=%s why=%s",
                 log_quote(url_public(answer->arena, str_from(ps->url))),
                 log_quote(str_from(err.text)));
        return;
    }
    /* a log has the newest change first; start with the oldest, so that `seen` ends with the newest
     */
    ps->n_logs++;
    for (size_t i = n; i-- > 0;) {
        handle_row(answer->arena, ps, &rows[i]);
        if (rows[i].when_at > newest_at)
            newest_at = rows[i].when_at;
    }
    forget_old(ps, newest_at);
    memcpy(ps->body_hash, hash, sizeof hash);
    ps->has_hash = true;
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct ping_server *ps = ctx;
    struct arena *arena = answer->arena;

    ps->is_asked = false;
    if (ps->monitor->stopping || !ps->wanted) {
        arena_free(&arena);
        return;
    }
    if (rc == RC_OK && answer->status == 200) {
        handle_log(ps, answer);
        set_text(&ps->etag, http_answer_field(answer, "etag"));
        set_text(&ps->last_modified, http_answer_field(answer, "last-modified"));
    } else if (rc != RC_OK || answer->status != 304) {
        log_warn("monitor", "server_failed", "server=%s status=%d why=%s",
                 log_quote(url_public(arena, str_from(ps->url))), answer->status,
                 log_quote(str_from(rc == RC_OK ? "status" : err->text)));
    }
    arena_free(&arena);
}

static void ask(struct monitor *m, struct ping_server *ps)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct http_field fields[3];
    struct url_parts parts;
    struct http_call call = {
        .method = STR("GET"),
        .fields = fields,
        .max_redirects = LIMIT_FETCH_REDIRECTS,
        .max_body = m->cfg.max_body,
        .max_header = LIMIT_FETCH_HEADER,
        .timeout_ms = m->cfg.timeout_ms,
    };
    struct err err = ERR_INIT;
    int64_t known = m->cfg.known(m->cfg.ctx);

    if (known != ps->known) {
        set_text(&ps->etag, STR_NULL);
        set_text(&ps->last_modified, STR_NULL);
        ps->has_hash = false;
    }
    if (url_parse(&a, str_from(ps->url), &parts, &err) != RC_OK) {
        log_warn("monitor", "server_unusable", "why=%s", log_quote(str_from(err.text)));
        return;
    }
    call.url = parts.url;
    call.credential = parts.credential;
    fields[call.n_fields++] =
        (struct http_field){STR("Accept"), STR("application/xml, text/xml, */*;q=0.5")};
    if (ps->etag != NULL)
        fields[call.n_fields++] = (struct http_field){STR("If-None-Match"), str_from(ps->etag)};
    if (ps->last_modified != NULL)
        fields[call.n_fields++] =
            (struct http_field){STR("If-Modified-Since"), str_from(ps->last_modified)};
    ps->is_asked = true;
    ps->known = known;
    http_client_start(m->client, &call, on_answer, ps);
}

static void on_period(void *ctx)
{
    struct monitor *m = ctx;

    m->timer = NULL;
    if (m->stopping)
        return;
    for (struct ping_server *ps = m->servers; ps != NULL; ps = ps->next)
        if (!ps->is_asked && ps->wanted && (m->cfg.may_ask == NULL || m->cfg.may_ask(m->cfg.ctx)))
            ask(m, ps);
    m->timer = loop_timer_start(m->loop, m->cfg.period_s * 1000, on_period, m);
}

/* Take over a configuration. Servers that are still in it keep what is remembered of them. */
static void configure(struct monitor *m, const struct monitor_cfg *cfg)
{
    m->cfg = *cfg;
    if (m->cfg.period_s < 1)
        m->cfg.period_s = 1;
    for (struct ping_server *ps = m->servers; ps != NULL; ps = ps->next)
        ps->wanted = false;
    for (size_t i = 0; i < cfg->n_servers; i++) {
        struct ping_server *ps = m->servers;

        while (ps != NULL && !str_eqz(cfg->servers[i], ps->url))
            ps = ps->next;
        if (ps == NULL) {
            ps = NEW(struct ping_server);
            set_text(&ps->url, cfg->servers[i]);
            ps->monitor = m;
            ps->next = m->servers;
            m->servers = ps;
        }
        ps->wanted = true;
    }
    m->cfg.servers = NULL;
    m->cfg.n_servers = 0;
}

struct call_ctx {
    struct monitor *m;
    const struct monitor_cfg *cfg;
};

static void start_on_loop(void *ctx)
{
    struct call_ctx *c = ctx;
    struct http_client_cfg client = {
        .guard = c->cfg->guard, .user_agent = c->cfg->user_agent, .max_total = MAX_TRANSFERS};

    c->m->client = http_client_new(c->m->loop, &client);
    configure(c->m, c->cfg);
    on_period(c->m);
}

struct monitor *monitor_new(const struct monitor_cfg *cfg)
{
    struct monitor *m = NEW(struct monitor);
    struct call_ctx c = {m, cfg};

    m->loop = loop_new("monitor");
    loop_call(m->loop, start_on_loop, &c);
    return m;
}

static void reload_on_loop(void *ctx)
{
    struct call_ctx *c = ctx;

    configure(c->m, c->cfg);
    if (c->m->timer != NULL)
        loop_timer_cancel(&c->m->timer);
    on_period(c->m);
}

void monitor_reload(struct monitor *m, const struct monitor_cfg *cfg)
{
    struct call_ctx c = {m, cfg};

    loop_call(m->loop, reload_on_loop, &c);
}

static void stop_on_loop(void *ctx)
{
    struct monitor *m = ctx;

    m->stopping = true;
    if (m->timer != NULL)
        loop_timer_cancel(&m->timer);
    http_client_free(&m->client);
}

void monitor_free(struct monitor **mp)
{
    struct monitor *m = *mp;
    struct ping_server *ps;

    if (m == NULL)
        return;
    loop_call(m->loop, stop_on_loop, m);
    loop_free(&m->loop);
    while ((ps = m->servers) != NULL) {
        m->servers = ps->next;
        server_free(ps);
    }
    mem_free(m);
    *mp = NULL;
}
