/* api/ping.c - the rules of a ping, and the plain HTTP form at /ping. */
#include "api/ping.h"

#include "api/buckets.h"
#include "api/ping_log.h"
#include "api/reply.h"
#include "api/resources.h"
#include "base/stats.h"
#include "feed/json.h"
#include "net/url.h"

/* Limits of the Weblogs.com interface, in characters there, in bytes here. */
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

enum ping_result ping_take(struct call *c, const struct ping *ping, struct arena *a,
                           struct str *message, const char **bad)
{
    struct str url = STR_NULL, rss_url = STR_NULL;
    struct url_parts parts;
    size_t n;

    *bad = NULL;
    if (!buckets_take(c->api->buckets, http_request_peer(c->req), c->cfg->ping_rate,
                      c->cfg->ping_burst, clock_mono_ms())) {
        stats_inc(STAT_pings_refused_total);
        *message = str_printf(a, "Too many pings from your address; %d a second are taken.",
                              c->cfg->ping_rate);
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
    stats_inc(STAT_pings_total);
    n = c->api->ports.ping(
        c->api->ports.ctx, url,
        str_is_null(rss_url) && url_parse(a, ping->changes_url, &parts, NULL) == RC_OK ? parts.url
                                                                                       : rss_url);
    ping_log_add(c->api->pings, str_trim(ping->name), url, rss_url, clock_now_s());
    *message = n == 0 ? STR("Thanks for the ping. No feed is known by this address.")
                      : str_printf(a, "Thanks for the ping. %zu feed%s will be fetched.", n,
                                   n == 1 ? "" : "s");
    return PING_TAKEN;
}

void ping_any(struct call *c)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct ping ping = {.changes_url = STR_NULL};
    struct str message;
    struct problem p;
    const char *bad;

    if (!params_one(&c->params, c->arena, "name", &ping.name, &p) ||
        !params_one(&c->params, c->arena, "url", &ping.url, &p) ||
        !params_one(&c->params, c->arena, "rssurl", &ping.rss_url, &p)) {
        reply_problem(c, &p);
        return;
    }
    switch (ping_take(c, &ping, c->arena, &message, &bad)) {
    case PING_TAKEN:
        buf_puts(&out, "{\"flerror\":false,\"message\":");
        json_write_text(&out, message);
        buf_puts(&out, "}\n");
        reply_buf(c, 200, "application/json", &out, STR_NULL);
        return;
    case PING_TOO_MANY:
        problem_set(&p, c->arena, PROBLEM_TOO_MANY, "%.*s", STR_ARG(message));
        p.retry_after_s = 1;
        break;
    case PING_BAD:
        problem_parameter(&p, c->arena, bad,
                          str_eqz(str_from(bad), "rssurl") ? ping.rss_url
                          : str_eqz(str_from(bad), "url")  ? ping.url
                                                           : ping.name,
                          NULL, "%.*s", STR_ARG(message));
        break;
    }
    reply_problem(c, &p);
}
