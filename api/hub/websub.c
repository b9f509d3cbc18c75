/* api/hub/websub.c - /websub/{token}: the callback at which the hubs of publishers verify our
 * subscriptions and deliver. The signature of a delivery decides, too, who may call. */
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/hub/callback.h"
#include "model/paths.h"
#include "net/decode.h"

#define DELIVERY_MAX (8 * 1024 * 1024) /* bytes of a delivery */
#define TEXT "text/plain; charset=utf-8"

void websub_get(struct request *req)
{
    struct upstream_verification hub = {0};
    struct callback_wait *w;
    struct str challenge;
    struct problem p;

    if (!callback_begin(req, PATH_WEBSUB, &hub.token))
        return;
    if (!params_one(&req->ask.params, req->ask.arena, PARAM_verified_mode, &hub.mode, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_verified_topic, &hub.topic, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_verified_challenge, &challenge, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_verified_lease, &hub.lease, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_verified_reason, &hub.reason, &p)) {
        reply_problem(req, &p);
        return;
    }
    if (challenge.len == 0 && !str_eqz(hub.mode, "denied"))
        hub.mode = STR_NULL; /* without a challenge to echo, it does not verify anything */
    w = callback_wait_new(req, TEXT, challenge);
    callback_end(
        req, w,
        req->ask.api->ports.upstream_verify(req->ask.api->ports.ctx, &hub, callback_done, w));
}

void websub_post(struct request *req)
{
    struct upstream_delivery hub = {
        .signature = http_request_field(req->http, "x-hub-signature"),
        .content_type = http_request_field(req->http, "content-type"),
        .content_coding = http_request_field(req->http, "content-encoding"),
        .content_language = http_request_field(req->http, "content-language"),
        .content_location = http_request_field(req->http, "content-location"),
        .body = http_request_body(req->http),
    };
    struct callback_wait *w;
    struct problem p;

    if (!callback_begin(req, PATH_WEBSUB, &hub.token))
        return;
    if (hub.body.len > DELIVERY_MAX) {
        problem_set(&p, req->ask.arena, PROBLEM_TOO_LARGE,
                    "The delivery has %zu bytes; at most %d are allowed.", hub.body.len,
                    DELIVERY_MAX);
        reply_problem(req, &p);
    } else if (!decoder_knows(hub.content_coding)) {
        problem_set(&p, req->ask.arena, PROBLEM_MEDIA_TYPE,
                    "The content coding of a delivery must be one of: " DECODER_ACCEPTS ".");
        p.fields = STR("Accept-Encoding: " DECODER_ACCEPTS "\r\n");
        reply_problem(req, &p);
    } else {
        w = callback_wait_new(req, TEXT, STR_NULL);
        callback_end(
            req, w,
            req->ask.api->ports.upstream_deliver(req->ask.api->ports.ctx, &hub, callback_done, w));
    }
}
