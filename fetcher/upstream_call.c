/* fetcher/upstream_call.c - see upstream_call.h. */
#include "fetcher/upstream_call.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/stats.h"
#include "fetcher/upstream_cloud.h"
#include "model/media_types.h"
#include "net/url.h"

#define HOPS_MAX 5

struct upstream_call {
    struct arena *arena; /* this struct is in it */
    struct http_client *client;
    struct upstream_request req;
    struct str url, body, media_type, credential;
    int n_hops;
    upstream_answer_fn *done;
    void *ctx;
};

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err);

static void post(struct upstream_call *call)
{
    struct http_field fields[] = {{STR("Content-Type"), call->media_type},
                                  {STR("Accept"), STR(MEDIA_XML)}};
    struct http_call http = {
        .method = STR("POST"),
        .url = call->url,
        .credential = call->credential,
        .fields = fields,
        .n_fields = call->req.hub.protocol == HUB_WEBSUB ? 1 : 2, /* some clouds speak JSON, too */
        .user_agent = STR_NULL,
        .body = call->body,
        .max_body = LIMIT_PUSH_ANSWER,
        .max_header = LIMIT_FETCH_HEADER,
        .timeout_ms = call->req.timeout_ms,
    };

    stats_inc(STAT_upstream_requests_total);
    http_client_start(call->client, &http, on_answer, call);
}

/* Of a hub's answer only the status counts. A body that is too long, breaks off or never ends
 * changes nothing. */
static bool is_answered(const struct upstream_call *call, enum rc rc,
                        const struct http_answer *answer)
{
    return rc == RC_OK || (call->req.hub.protocol == HUB_WEBSUB && answer->status >= 200 &&
                           (rc == RC_LIMIT || rc == RC_PEER || rc == RC_TIMEOUT));
}

static bool is_same_origin(struct arena *a, struct str url, const struct url_parts *other)
{
    struct url_parts parts;

    return url_parse(a, url, &parts, NULL) == RC_OK && str_eq(parts.scheme, other->scheme) &&
           str_eq(parts.host, other->host) && parts.port == other->port;
}

/* 307 and 308 mean that the same request must be sent to another URL (WebSub §5.1.2); other
 * redirects are not followed. A secret that was sent by TLS is never sent to a URL without TLS. */
static bool is_sent_on(struct upstream_call *call, const struct http_answer *answer)
{
    struct str location = http_answer_field(answer, "location");
    struct url_parts parts;

    if ((answer->status != 307 && answer->status != 308) || call->n_hops++ == HOPS_MAX ||
        str_is_null(location) ||
        url_parse(call->arena, url_resolve(call->arena, call->url, location), &parts, NULL) !=
            RC_OK ||
        (str_starts(call->url, STR("https:")) && !str_starts(parts.url, STR("https:"))))
        return false;
    if (!is_same_origin(call->arena, call->url, &parts))
        call->credential = STR_NULL;
    call->url = parts.url;
    post(call);
    return true;
}

static bool is_success(const struct http_answer *answer)
{
    return answer->status >= 200 && answer->status <= 299;
}

/* The text without the token of our handler, which clouds like to repeat. */
static struct str without_token(struct arena *a, struct str text, struct str token)
{
    ssize_t at = str_find(text, token);

    return at < 0 ? text
                  : str_printf(a, "%.*s...%.*s", (int)at, text.ptr,
                               STR_ARG(str_slice(text, (size_t)at + token.len, text.len)));
}

/* Returns null when the hub took the request. */
static struct str hub_refusal(struct arena *a, const struct upstream_request *req,
                              const struct http_answer *answer)
{
    struct str said = upstream_said(answer->body, req->token, req->secret);

    if (is_success(answer))
        return STR_NULL;
    return str_printf(a, "the hub refused with status %d%s%.*s", answer->status,
                      said.len > 0 ? ": " : "", STR_ARG(said));
}

/* Returns null when the cloud has registered us. */
static struct str cloud_refusal(struct arena *a, const struct upstream_request *req,
                                const struct http_answer *answer)
{
    struct str said;
    bool accepted = upstream_cloud_accepted(a, req->hub.protocol, answer->body, &said);

    if (accepted && is_success(answer))
        return STR_NULL;
    if (accepted)
        said = STR("");
    said = upstream_said(without_token(a, said, req->token), req->token, req->secret);
    if (!is_success(answer))
        return str_printf(a, "the cloud refused with status %d%s%.*s", answer->status,
                          said.len > 0 ? ": " : "", STR_ARG(said));
    return said.len > 0 ? str_printf(a, "the cloud refused: %.*s", STR_ARG(said))
                        : STR("the cloud did not say that it accepts the registration");
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct upstream_call *call = ctx;
    struct arena *arena = answer->arena, *own = call->arena;
    struct str why = STR_NULL;

    if (is_answered(call, rc, answer))
        rc = RC_OK;
    if (rc != RC_OK || !is_sent_on(call, answer)) {
        if (rc != RC_OK)
            why = str_printf(arena, "the %s cannot be asked: %s",
                             upstream_noun(call->req.hub.protocol),
                             err->text[0] == '\0' ? rc_meaning(rc) : err->text);
        else if (call->req.hub.protocol == HUB_WEBSUB)
            why = hub_refusal(arena, &call->req, answer);
        else
            why = cloud_refusal(arena, &call->req, answer);
        call->done(call->ctx, &call->req, rc, why);
        arena_free(&own);
    }
    arena_free(&arena);
}

static void add(struct arena *a, struct buf *form, const char *name, struct str value)
{
    buf_printf(form, "%s%s=%.*s", form->len > 0 ? "&" : "", name, STR_ARG(url_encode(a, value)));
}

/* Append the body of a request to a hub. */
static void write_request(struct arena *a, struct buf *form, const struct upstream_request *req)
{
    add(a, form, "hub.mode", req->ends ? STR("unsubscribe") : STR("subscribe"));
    add(a, form, "hub.topic", req->topic);
    add(a, form, "hub.callback", req->callback);
    add(a, form, "hub.verify", STR("async")); /* hubs of PubSubHubbub 0.3 need it */
    if (!req->ends) {
        add(a, form, "hub.lease_seconds", str_printf(a, "%" PRId64, req->lease_s));
        add(a, form, "hub.secret", req->secret);
    }
}

void upstream_call_start(struct http_client *client, const struct upstream_request *req,
                         upstream_answer_fn *done, void *ctx)
{
    AUTO(buf_release) struct buf body = BUF_INIT(BUF_ANY);
    struct arena *a = arena_new();
    struct upstream_call *call = ARENA_NEW(a, struct upstream_call);
    struct str type = STR(MEDIA_URLENCODED);

    if (req->hub.protocol == HUB_WEBSUB)
        write_request(a, &body, req);
    else
        type = upstream_cloud_write(&body, &req->hub, req->callback, req->topic);
    *call = (struct upstream_call){
        .arena = a,
        .client = client,
        .req = {.token = str_dup(a, req->token),
                .secret = str_dup(a, req->secret),
                .hub = {str_dup(a, req->hub.url), req->hub.protocol, STR_NULL},
                .ends = req->ends},
        .url = str_dup(a, req->hub.url),
        .body = str_dup(a, buf_view(&body)),
        .media_type = type,
        .credential = str_is_null(req->credential) ? STR_NULL : str_dup(a, req->credential),
        .done = done,
        .ctx = ctx};
    call->req.timeout_ms = req->timeout_ms;
    post(call);
}
