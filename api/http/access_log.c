/* api/http/access_log.c - see access_log.h.
 *
 * Of a query only what is known to be harmless is shown: the values of parameters that the route
 * lists (api/routes.def), and that are not secret. URLs are shown without their user and their own
 * query, because these may be keys; those to which something is pushed without their path, too.
 * Everything else is a "*". Paths below those of callbacks are secrets of their own. */
#include "api/http/access_log.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>

#include "api/http/routes.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/line_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/access.h"
#include "model/paths.h"
#include "net/url.h"

#define TARGET_MAX 1000 /* bytes that are shown */
#define AGENT_MAX 200

/* ---- what may be shown ----------------------------------------------------------------------- */

/* The row of the parameter that the route reads under this name; NULL: it reads none. */
static const struct parameter *row_of(const struct route *route, struct str name)
{
    for (const enum param_id *id = route->params; *id != PARAM_NONE; id++)
        if (param_is_called(*id, name))
            return param_row(*id);
    return NULL;
}

/* Is it a URL to which something is pushed? Knowing it may be enough to send something there. */
static bool is_endpoint(struct str name)
{
    return str_eqz(name, "endpoint") || str_eqz(name, "hub.callback") || str_eqz(name, "callback");
}

/* A URL without user, query and fragment; one of an endpoint without its path, too. */
static void put_url(struct buf *out, struct arena *a, struct str url, bool is_secret_path)
{
    struct str shown = url_shown(a, url);
    ssize_t query = str_chr(shown, '?'), host = str_find(shown, STR("://"));
    ssize_t path = host < 0 ? -1 : str_chr(str_slice(shown, (size_t)host + 3, shown.len), '/');

    if (is_secret_path && (host < 0 || path >= 0)) {
        if (host >= 0)
            buf_str(out, str_slice(shown, 0, (size_t)(host + 3 + path)));
        buf_puts(out, "/*");
        return;
    }
    buf_str(out, query < 0 ? shown : str_slice(shown, 0, (size_t)query));
    if (query >= 0)
        buf_puts(out, "?*");
}

static void put_value(struct buf *out, struct arena *a, const struct route *route, struct str name,
                      struct str raw)
{
    const struct parameter *row = route == NULL ? NULL : row_of(route, name);
    struct str value = url_decode(a, raw, true);

    if (row == NULL || (row->flags & PARAM_SECRET) != 0 || str_eqz(name, "key")) {
        buf_putc(out, '*');
    } else if (is_endpoint(name) || row->kind == PARAM_KIND_URL || row->kind == PARAM_KIND_URLS ||
               str_find(value, STR("://")) >= 0 || str_chr(value, '@') >= 0) {
        /* several URLs have commas between them: what follows the first one is left out */
        ssize_t more = str_find(value, STR(",http"));

        put_url(out, a, more < 0 ? value : str_slice(value, 0, (size_t)more), is_endpoint(name));
        if (more >= 0)
            buf_puts(out, ",*");
    } else {
        buf_str(out, raw);
    }
}

static void put_query(struct buf *out, struct arena *a, const struct route *route, struct str query)
{
    char sep = '?';

    while (!str_is_null(query)) {
        struct str value = str_split(&query, '&');
        struct str name = url_decode(a, str_split(&value, '='), true);
        bool is_known = route != NULL && row_of(route, name) != NULL;

        buf_putc(out, sep);
        if (is_known && (row_of(route, name)->flags & PARAM_NAMED) != 0)
            buf_puts(out, row_of(route, name)->name); /* NAME may have a value written into it */
        else if (is_known || str_eqz(name, "key"))
            buf_str(out, name);
        else
            buf_putc(out, '*'); /* a name may be a secret that was written in the wrong place */
        if (!str_is_null(value)) {
            buf_putc(out, '=');
            put_value(out, a, route, name, value);
        }
        sep = '&';
    }
}

/* Only paths of the table are shown: others may be anything. */
static void put_target(struct buf *out, struct http_request *r, const struct route *route)
{
    struct str path = http_request_path(r);

    if (route == NULL) {
        buf_puts(out, "*");
        return;
    }
    if (str_eqz(path, route->path) ||
        (strcmp(route->path, PATH_WEBSUB) != 0 && strcmp(route->path, PATH_NOTIFY) != 0))
        buf_str(out, path);
    else
        buf_printf(out, "%s/*", route->path);
    put_query(out, http_request_arena(r), route, http_request_query(r));
}

/* ---- the line -------------------------------------------------------------------------------- */

static void put_quoted(struct buf *out, const char *name, struct str value, size_t max)
{
    char text[4 * TARGET_MAX + 8];

    log_quote_into(text, sizeof text, str_slice(value, 0, max));
    buf_printf(out, " %s=%s", name, text);
}

static void put_peer(struct buf *out, const struct sockaddr *peer)
{
    char host[NI_MAXHOST];
    socklen_t len =
        peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    if (peer->sa_family == AF_UNSPEC ||
        getnameinfo(peer, len, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(host, sizeof host, "-");
    buf_printf(out, " peer=%s", host);
}

/* Who asked: the id of a token. */
static void put_caller(struct buf *out, const struct request *req)
{
    int64_t owner = req == NULL ? OWNER_ANONYMOUS : req->ask.caller.owner;

    if (req == NULL || req->ask.caller.role == ROLE_NONE || owner == OWNER_ANONYMOUS ||
        owner == OWNER_LOCAL)
        buf_puts(out, " token=-");
    else if (owner == OWNER_OPTION)
        buf_puts(out, " token=option");
    else
        buf_printf(out, " token=%" PRId64, owner);
}

char *access_log_begin(struct http_request *r, const struct http_exchange *x)
{
    AUTO(buf_release) struct buf target = BUF_INIT(BUF_ANY);
    struct buf out = BUF_INIT(BUF_ANY);
    const struct request *req = r == NULL ? NULL : http_request_own(r);
    const struct route *route = req == NULL ? NULL : req->route;
    char when[CLOCK_TEXT];
    size_t len;

    clock_rfc3339_us(clock_now_us(), when);
    buf_printf(&out, "time=%s request=%.*s", when, STR_ARG(x->id));
    put_peer(&out, x->peer);
    put_caller(&out, req);
    if (req == NULL) { /* it was refused before the API saw it */
        buf_puts(&out, " method=- target=\"*\" route=none");
        return buf_detach(&out, &len);
    }
    put_target(&target, r, route);
    buf_printf(&out, " method=%.*s", STR_ARG(str_slice(http_request_method(r), 0, 32)));
    put_quoted(&out, "target", buf_view(&target), TARGET_MAX);
    buf_printf(&out, " route=%s", route == NULL ? "none" : route->path);
    put_quoted(&out, "agent", http_request_field(r, "user-agent"), AGENT_MAX);
    return buf_detach(&out, &len);
}

void access_log_end(struct line_file *log, struct http_exchange *x)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    char json[16 * 1024];

    buf_printf(&out, "%s status=%d bytes=%" PRId64 " ms=%.3f%s", x->note, x->status, x->n_bytes,
               (double)x->total_us / 1000, x->is_cut ? " cut=1" : "");
    mem_free(x->note);
    x->note = NULL;
    if (log_get_format() == LOG_FORMAT_JSON) {
        size_t len = log_write_json(json, sizeof json, buf_view(&out));

        buf_reset(&out);
        buf_append(&out, json, len);
    }
    buf_putc(&out, '\n');
    line_file_put(log, buf_view(&out));
}
