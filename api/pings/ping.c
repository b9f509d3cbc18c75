/* api/pings/ping.c - the rules for pings, and GET and POST /ping. */
#include "api/pings/ping.h"

#include "api/http/buckets.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "api/pings/ping_log.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/text/json.h"
#include "feed/text/xml_out.h"
#include "model/media_types.h"
#include "net/url.h"

/* Limits of the Weblogs.com interface. There they are in characters, here in bytes. */
#define NAME_MAX_LEN 1024
#define URL_MAX_LEN 255

static bool check_url(struct arena *a, const char *name, struct str raw, struct str *out,
                      struct str *message, const char **bad)
{
    struct url_parts parts;
    struct err err = ERR_INIT;

    *bad = name;
    if (raw.len > URL_MAX_LEN) {
        *message = str_printf(a, "The %s is longer than %d bytes.", name, URL_MAX_LEN);
        return false;
    }
    if (url_parse(a, raw, &parts, &err) != RC_OK) {
        *message =
            str_printf(a, "The %s must be an absolute http or https URL: %s.", name, err.text);
        return false;
    }
    *out = parts.url;
    return true;
}

static size_t characters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* ---- from taken to acknowledged ---- */

#define STORE_MS 60000 /* if the storer has not answered by then, it is stuck */

struct ping_wait { /* freed on the loop after the storer's answer */
    struct ticket ticket;
    const char *media_type;
    struct str answer; /* in the request's arena */
    enum rc rc;        /* result of the storer */
};

/* The request's loop. */
static void on_kept(struct request *req, void *work)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct ping_wait *w = work;
    struct problem p;

    if (req != NULL && w->rc == RC_OK) {
        buf_append(&out, w->answer.ptr, w->answer.len);
        reply_buf(req, 200, w->media_type, &out, STR_NULL);
    } else if (req != NULL) {
        problem_of_err(&p, req->ask.arena, w->rc, NULL);
        reply_problem(req, &p);
    }
    mem_free(w);
}

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err UNUSED)
{
    struct ping_wait *w = ctx;

    w->rc = rc;
    ticket_post(&w->ticket, on_kept, w);
}

/* Pass the ping on. *n: number of feeds that will be fetched. */
static enum rc wake(struct request *req, struct str url, struct str rss_url, size_t *n)
{
    struct ping_wait *w = NEW(struct ping_wait);
    enum rc rc;

    ASSERT(req->ping == NULL);
    w->ticket = ticket_take(req, STORE_MS);
    rc = req->ask.api->ports.ping(req->ask.api->ports.ctx, url, rss_url, n, on_stored, w);
    if (rc == RC_OK && *n > 0)
        req->ping = w;
    else
        mem_free(w);
    return rc;
}

void ping_answer(struct request *req, const char *media_type, struct buf *out)
{
    if (req->ping == NULL) {
        reply_buf(req, 200, media_type, out, STR_NULL);
        return;
    }
    req->ping->media_type = media_type; /* on_kept() runs on this loop, so after this function */
    req->ping->answer = str_dup(req->ask.arena, buf_view(out));
}

/* ---- the rules ---- */

enum ping_result ping_take(struct request *req, const struct ping *ping, struct arena *a,
                           struct str *message, const char **bad)
{
    struct str url = STR_NULL, rss_url = STR_NULL;
    struct url_parts parts;
    size_t n;

    *bad = NULL;
    if (!buckets_take(req->ask.api->buckets, http_request_peer(req->http), req->ask.cfg->ping_rate,
                      req->ask.cfg->ping_burst, clock_mono_ms())) {
        stats_inc(STAT_pings_refused_total);
        *message = str_printf(a, "Too many pings from your address; %d per second are allowed.",
                              req->ask.cfg->ping_rate);
        return PING_TOO_MANY;
    }
    if (characters(ping->name) > NAME_MAX_LEN) {
        stats_inc(STAT_pings_refused_total);
        *message = str_printf(a, "The name is longer than %d characters.", NAME_MAX_LEN);
        *bad = "name";
        return PING_BAD;
    }
    if (!check_url(a, "url", str_trim(ping->url), &url, message, bad) ||
        (str_trim(ping->rss_url).len > 0 &&
         !check_url(a, "rssurl", str_trim(ping->rss_url), &rss_url, message, bad))) {
        stats_inc(STAT_pings_refused_total);
        return PING_BAD;
    }
    if (wake(req, url,
             str_is_null(rss_url) && url_parse(a, ping->changes_url, &parts, NULL) == RC_OK
                 ? parts.url
                 : rss_url,
             &n) != RC_OK) {
        stats_inc(STAT_pings_refused_total);
        *message = STR("The server is busy; ping again in a moment.");
        return PING_BUSY;
    }
    stats_inc(STAT_pings_total);
    ping_log_add(req->ask.api->pings, str_trim(ping->name), url, rss_url, clock_now_s());
    *message = n == 0 ? STR("Thanks for the ping. No feed is fetched by this address.")
                      : str_printf(a, "Thanks for the ping. %zu feed%s will be fetched.", n,
                                   n == 1 ? "" : "s");
    return PING_TAKEN;
}

/* Of the POSTs, a ping of rssCloud is a form with the URL of a feed alone. One of Weblogs.com also
 * names the site.
 */
static bool is_of_cloud(const struct request *req)
{
    return !params_has(&req->ask.params, PARAM_ping_name) &&
           !params_has(&req->ask.params, PARAM_ping_rss_url) &&
           str_find(req->ask.accept, STR(MEDIA_JSON)) < 0;
}

/* POST /ping as rssCloud has it: the body tells whether it was taken. */
static void cloud_ping(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct ping ping = {.changes_url = STR_NULL};
    struct str message = STR_NULL;
    const char *bad;
    bool taken = false;
    struct problem p;

    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_ping_url, &ping.url, &p))
        message = p.detail;
    else if (str_is_null(ping.url))
        message = STR("url is missing: the URL of the feed that has changed.");
    else
        taken = ping_take(req, &ping, req->ask.arena, &message, &bad) == PING_TAKEN;
    buf_puts(&out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<result");
    xml_attr(&out, "success", taken ? STR("true") : STR("false"));
    xml_attr(&out, "msg", message);
    buf_puts(&out, "/>\n");
    ping_answer(req, MEDIA_XML MEDIA_UTF8, &out);
}

/* A ping as Weblogs.com has it. */
static void weblogs_ping(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct ping ping = {.changes_url = STR_NULL};
    struct str message;
    struct problem p;
    const char *bad;

    if (!params_one(&req->ask.params, req->ask.arena, PARAM_ping_name, &ping.name, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_ping_url, &ping.url, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_ping_rss_url, &ping.rss_url, &p)) {
        reply_problem(req, &p);
        return;
    }
    switch (ping_take(req, &ping, req->ask.arena, &message, &bad)) {
    case PING_TAKEN:
        buf_puts(&out, "{\"flerror\":false,\"message\":");
        json_write_text(&out, message);
        buf_puts(&out, "}\n");
        ping_answer(req, MEDIA_JSON, &out);
        return;
    case PING_BUSY:
        problem_set(&p, req->ask.arena, PROBLEM_BUSY, "%.*s", STR_ARG(message));
        p.retry_after_s = 1;
        break;
    case PING_TOO_MANY:
        problem_set(&p, req->ask.arena, PROBLEM_TOO_MANY, "%.*s", STR_ARG(message));
        p.retry_after_s = 1;
        break;
    case PING_BAD:
        problem_parameter(&p, req->ask.arena, bad,
                          str_eqz(str_from(bad), "rssurl") ? ping.rss_url
                          : str_eqz(str_from(bad), "url")  ? ping.url
                                                           : ping.name,
                          NULL, "%.*s", STR_ARG(message));
        break;
    }
    reply_problem(req, &p);
}

static bool refuse_foreign(struct request *req)
{
    if (!request_is_foreign(req))
        return false;
    request_refuse_foreign(req, "send a ping");
    return true;
}

void ping_get(struct request *req)
{
    if (!refuse_foreign(req))
        weblogs_ping(req);
}

void ping_post(struct request *req)
{
    if (refuse_foreign(req))
        return;
    if (is_of_cloud(req))
        cloud_ping(req);
    else
        weblogs_ping(req);
}
