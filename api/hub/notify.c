/* api/hub/notify.c - /notify/{token}: the handler that the clouds of publishers call (rssCloud).
 *
 * A GET with a challenge asks whether we want notifications. A POST is a notification: a form with
 * the URL of the feed, or a call of our procedure by XML-RPC. It is answered when it is on disk
 * that the feed must be fetched. Nothing else of it is used. */
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/hub/callback.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/http_fields.h"
#include "net/xmlrpc.h"

#define NOTIFICATION_MAX (64 * 1024) /* bytes */
#define TEXT "text/plain" MEDIA_UTF8

static void take(struct request *req, const struct upstream_notification *n, const char *media_type,
                 struct str answer)
{
    struct callback_wait *w = callback_wait_new(req, media_type, answer);

    callback_end(req, w,
                 req->ask.api->ports.upstream_notify(req->ask.api->ports.ctx, n, callback_done, w));
}

void notify_get(struct request *req)
{
    struct upstream_notification n = {.is_challenge = true};
    struct str challenge;
    struct problem p;

    if (!callback_begin(req, PATH_NOTIFY, &n.token))
        return;
    if (!params_one(&req->ask.params, req->ask.arena, PARAM_notified_url, &n.url, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_challenge, &challenge, &p))
        reply_problem(req, &p);
    else
        take(req, &n, TEXT, challenge);
}

struct call {
    struct request *req;
    struct upstream_notification *n;
};

/* Our procedure: its first parameter is the URL. */
static enum rc on_notify(void *ctx, struct arena *a, const struct value *params,
                         struct value **result, struct err *err)
{
    struct call *call = ctx;
    const struct value *url = value_at(params, 0);

    if (url == NULL || url->kind != VAL_TEXT)
        return err_set(err, RC_INPUT, "parameter 1 (url) is missing, or is not a string");
    call->n->url = str_dup(call->req->ask.arena, url->s); /* the values end with the call */
    *result = value_bool(a, true);
    return RC_OK;
}

static void by_xml_rpc(struct request *req, struct upstream_notification *n)
{
    static const struct rpc_method methods[] = {
        {"rssCloud.notify", "A feed has changed: url.", on_notify, false}};
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct call call = {req, n};
    struct rpc_server *server = rpc_server_new(methods, ARRAY_LEN(methods), &call);

    rpc_server_answer(server, http_request_body(req->http),
                      http_request_field(req->http, "content-type"), &out);
    rpc_server_free(&server);
    if (str_is_null(n->url))
        reply_buf(req, 200, MEDIA_XML MEDIA_UTF8, &out, STR_NULL); /* a fault */
    else
        take(req, n, MEDIA_XML MEDIA_UTF8, str_dup(req->ask.arena, buf_view(&out)));
}

void notify_post(struct request *req)
{
    struct str body = http_request_body(req->http);
    struct str field = http_request_field(req->http, "content-type");
    struct str type = str_is_null(field) ? field : http_media_type(req->ask.arena, field);
    struct upstream_notification n = {.url = STR_NULL};
    struct problem p;

    if (!callback_begin(req, PATH_NOTIFY, &n.token))
        return;
    if (body.len > NOTIFICATION_MAX) {
        problem_set(&p, req->ask.arena, PROBLEM_TOO_LARGE,
                    "The notification has %zu bytes; at most %d are allowed.", body.len,
                    NOTIFICATION_MAX);
        reply_problem(req, &p);
    } else if (str_eqz(type, MEDIA_XML) || str_eqz(type, "application/xml")) {
        by_xml_rpc(req, &n);
    } else if (!params_add(&req->ask.params, req->ask.arena, str_trim(body), &p) ||
               !params_one(&req->ask.params, req->ask.arena, PARAM_notified_url, &n.url, &p)) {
        reply_problem(req, &p);
    } else {
        take(req, &n, TEXT, STR_NULL);
    }
}
