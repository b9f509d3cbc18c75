/* api/pings/rpc.c - POST /RPC2: the ping interface of Weblogs.com (weblogUpdates.*).
 *
 * A ping that is wrong or refused is answered with flerror. A fault is sent only when the body is
 * not a call of the method. */
#include "api/http/handlers.h"

#include <string.h>

#include "api/http/reply.h"
#include "api/pings/ping.h"
#include "api/pings/rpc_validator.h"
#include "base/limits.h"
#include "model/media_types.h"
#include "net/xmlrpc.h"

#define ANSWER_MAX (1024 * 1024)

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

#define OWN_METHODS 2
static const struct rpc_method own_methods[OWN_METHODS] = {
    {"weblogUpdates.ping", "A site has changed: name, url[, changesurl[, category]].", on_ping,
     false},
    {"weblogUpdates.extendedPing", "A site has changed: name, url, checkurl, rssurl[, tags].",
     on_extended_ping, false},
};

void rpc_post(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(ANSWER_MAX);
    struct str body = http_request_body(req->http);
    struct rpc_method methods[OWN_METHODS + RPC_VALIDATOR_METHODS];
    struct rpc_server *server;

    memcpy(methods, own_methods, sizeof own_methods);
    memcpy(methods + OWN_METHODS, rpc_validator_methods, sizeof rpc_validator_methods);
    if (body.len > LIMIT_RPC_BODY) {
        struct problem p;

        problem_set(&p, req->ask.arena, PROBLEM_TOO_LARGE,
                    "The call has %zu bytes; at most %d are allowed.", body.len, LIMIT_RPC_BODY);
        reply_problem(req, &p);
        return;
    }
    server = rpc_server_new(methods, req->ask.cfg->rpc_validator ? ARRAY_LEN(methods) : OWN_METHODS,
                            req);
    rpc_server_answer(server, body, http_request_field(req->http, "content-type"), &out);
    rpc_server_free(&server);
    ping_answer(req, MEDIA_XML MEDIA_UTF8, &out);
}
