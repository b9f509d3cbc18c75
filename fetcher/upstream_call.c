/* fetcher/upstream_call.c - see upstream_call.h. */
#include "fetcher/upstream_call.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/stats.h"
#include "fetcher/upstream_rules.h"
#include "model/media_types.h"
#include "net/url.h"

#define HOPS_MAX 5

struct upstream_call {
    struct arena *arena; /* this struct is in it */
    struct http_client *client;
    struct upstream_request req;
    struct str url, body, credential;
    int n_hops;
    upstream_answer_fn *done;
    void *ctx;
};

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err);

static void post(struct upstream_call *call)
{
    struct http_field type = {STR("Content-Type"), STR(MEDIA_URLENCODED)};
    struct http_call http = {
        .method = STR("POST"),
        .url = call->url,
        .credential = call->credential,
        .fields = &type,
        .n_fields = 1,
        .user_agent = STR_NULL,
        .body = call->body,
        .max_body = LIMIT_PUSH_ANSWER,
        .max_header = LIMIT_FETCH_HEADER,
        .timeout_ms = call->req.timeout_ms,
    };

    stats_inc(STAT_upstream_requests_total);
    http_client_start(call->client, &http, on_answer, call);
}

/* Only the status of the answer counts. A body that is too long, breaks off or never ends changes
 * nothing. */
static bool is_answered(enum rc rc, const struct http_answer *answer)
{
    return rc == RC_OK ||
           (answer->status >= 200 && (rc == RC_LIMIT || rc == RC_PEER || rc == RC_TIMEOUT));
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

static struct str refusal(struct arena *a, const struct upstream_request *req,
                          const struct http_answer *answer)
{
    struct str said = upstream_said(answer->body, req->token, req->secret);

    return str_printf(a, "the hub refused with status %d%s%.*s", answer->status,
                      said.len > 0 ? ": " : "", STR_ARG(said));
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct upstream_call *call = ctx;
    struct arena *arena = answer->arena, *own = call->arena;
    struct str why = STR_NULL;

    if (is_answered(rc, answer))
        rc = RC_OK;
    if (rc != RC_OK || !is_sent_on(call, answer)) {
        if (rc != RC_OK)
            why = str_printf(arena, "the hub cannot be asked: %s",
                             err->text[0] == '\0' ? rc_meaning(rc) : err->text);
        else if (answer->status < 200 || answer->status > 299)
            why = refusal(arena, &call->req, answer);
        call->done(call->ctx, &call->req, rc, why);
        arena_free(&own);
    }
    arena_free(&arena);
}

static void add(struct arena *a, struct buf *form, const char *name, struct str value)
{
    buf_printf(form, "%s%s=%.*s", form->len > 0 ? "&" : "", name, STR_ARG(url_encode(a, value)));
}

void upstream_call_start(struct http_client *client, const struct upstream_request *req,
                         upstream_answer_fn *done, void *ctx)
{
    AUTO(buf_release) struct buf form = BUF_INIT(BUF_ANY);
    struct arena *a = arena_new();
    struct upstream_call *call = ARENA_NEW(a, struct upstream_call);

    add(a, &form, "hub.mode", req->ends ? STR("unsubscribe") : STR("subscribe"));
    add(a, &form, "hub.topic", req->topic);
    add(a, &form, "hub.callback", req->callback);
    add(a, &form, "hub.verify", STR("async")); /* hubs of PubSubHubbub 0.3 need it */
    if (!req->ends) {
        add(a, &form, "hub.lease_seconds", str_printf(a, "%" PRId64, req->lease_s));
        add(a, &form, "hub.secret", req->secret);
    }
    *call = (struct upstream_call){
        .arena = a,
        .client = client,
        .req = {.token = str_dup(a, req->token),
                .secret = str_dup(a, req->secret),
                .hub = str_dup(a, req->hub),
                .ends = req->ends},
        .url = str_dup(a, req->hub),
        .body = str_dup(a, buf_view(&form)),
        .credential = str_is_null(req->credential) ? STR_NULL : str_dup(a, req->credential),
        .done = done,
        .ctx = ctx};
    call->req.timeout_ms = req->timeout_ms;
    post(call);
}
