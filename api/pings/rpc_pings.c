/* api/pings/rpc_pings.c - see rpc_pings.h.
 *
 * A ping of Weblogs.com that is wrong or refused is answered with flerror. A fault is sent only
 * when the body is not a call of the method. rssCloud has no flerror, so there it is a fault. */
#include "api/pings/rpc_pings.h"

#include "api/pings/ping.h"

/* Get parameter i, which must be a string. */
static enum rc text_at(const struct value *params, size_t i, const char *name, struct str *out,
                       struct err *err)
{
    const struct value *v = value_at(params, i);

    if (v == NULL)
        return err_set(err, RC_INPUT, "parameter %zu (%s) is missing; it must be a string", i + 1,
                       name);
    if (v->kind != VAL_TEXT)
        return err_set(err, RC_INPUT, "parameter %zu (%s) must be a string", i + 1, name);
    *out = v->s;
    return RC_OK;
}

static enum rc take(struct request *req, struct arena *a, const struct ping *ping,
                    struct value **result)
{
    struct str message;
    const char *bad;
    bool failed = ping_take(req, ping, a, &message, &bad) != PING_TAKEN;

    *result = value_dict(a);
    value_setz(a, *result, "flerror", value_bool(a, failed));
    value_set_textz(a, *result, "message", message);
    return RC_OK;
}

/* (name, url[, changesurl[, category]]) */
static enum rc on_ping(void *ctx, struct arena *a, const struct value *params,
                       struct value **result, struct err *err)
{
    struct ping ping = {.rss_url = STR_NULL, .changes_url = STR_NULL};
    struct str ignored;
    size_t n = value_len(params);

    if (n > 4)
        return err_set(err, RC_INPUT, "%zu parameters; at most name, url, changesurl, category", n);
    if (text_at(params, 0, "name", &ping.name, err) != RC_OK ||
        text_at(params, 1, "url", &ping.url, err) != RC_OK ||
        (n > 2 && text_at(params, 2, "changesurl", &ping.changes_url, err) != RC_OK) ||
        (n > 3 && text_at(params, 3, "category", &ignored, err) != RC_OK))
        return RC_INPUT;
    return take(ctx, a, &ping, result);
}

/* (name, url, checkurl, rssurl[, tags]): tags, separated by vertical bars, are accepted but
 * ignored */
static enum rc on_extended_ping(void *ctx, struct arena *a, const struct value *params,
                                struct value **result, struct err *err)
{
    struct ping ping = {.changes_url = STR_NULL};
    struct str ignored;
    size_t n = value_len(params);

    if (n > 5)
        return err_set(err, RC_INPUT, "%zu parameters; at most name, url, checkurl, rssurl, tags",
                       n);
    if (text_at(params, 0, "name", &ping.name, err) != RC_OK ||
        text_at(params, 1, "url", &ping.url, err) != RC_OK ||
        text_at(params, 2, "checkurl", &ignored, err) != RC_OK ||
        text_at(params, 3, "rssurl", &ping.rss_url, err) != RC_OK ||
        (n > 4 && text_at(params, 4, "tags", &ignored, err) != RC_OK))
        return RC_INPUT;
    return take(ctx, a, &ping, result);
}

/* rssCloud.ping(url): true, or a fault. */
static enum rc on_cloud_ping(void *ctx, struct arena *a, const struct value *params,
                             struct value **result, struct err *err)
{
    struct ping ping = {.changes_url = STR_NULL};
    struct str message;
    const char *bad;

    if (text_at(params, 0, "url", &ping.url, err) != RC_OK)
        return RC_INPUT;
    if (ping_take(ctx, &ping, a, &message, &bad) != PING_TAKEN)
        return err_set(err, RC_INPUT, "%.*s", STR_ARG(message));
    *result = value_bool(a, true);
    return RC_OK;
}

/* A client asks whether somebody is there. */
static enum rc on_hello(void *ctx UNUSED, struct arena *a, const struct value *params UNUSED,
                        struct value **result, struct err *err UNUSED)
{
    *result = value_bool(a, true);
    return RC_OK;
}

const struct rpc_method rpc_ping_methods[RPC_PING_METHODS] = {
    {"weblogUpdates.ping", "A site has changed: name, url[, changesurl[, category]].", on_ping,
     false},
    {"weblogUpdates.extendedPing", "A site has changed: name, url, checkurl, rssurl[, tags].",
     on_extended_ping, false},
    {"rssCloud.ping", "A feed has changed: url.", on_cloud_ping, false},
    {"rssCloud.hello", "Is there a cloud?", on_hello, false},
};
