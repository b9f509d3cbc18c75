/* api/rpc.c - POST /RPC2: the methods of all rooms by XML-RPC.
 *
 * Most calls are answered at once. A ping is answered when it is on disk. A registration at the
 * cloud takes longer than its call: its method is called a second time when it is over
 * (hub/cloud.h). */
#include <string.h>

#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/hub/cloud.h"
#include "api/pings/ping.h"
#include "api/pings/rpc_pings.h"
#include "api/pings/rpc_validator.h"
#include "base/limits.h"
#include "model/media_types.h"

#define ANSWER_MAX (1024 * 1024)

/* Run the method that the body calls, and write what it answers. */
static void call(struct request *req, struct buf *out)
{
    struct rpc_method methods[RPC_PING_METHODS + CLOUD_RPC_METHODS + RPC_VALIDATOR_METHODS];
    size_t n = RPC_PING_METHODS;
    struct rpc_server *server;

    memcpy(methods, rpc_ping_methods, sizeof rpc_ping_methods);
    if (req->ask.cfg->cloud) {
        memcpy(methods + n, cloud_rpc_methods, sizeof cloud_rpc_methods);
        n += CLOUD_RPC_METHODS;
    }
    if (req->ask.cfg->rpc_validator) {
        memcpy(methods + n, rpc_validator_methods, sizeof rpc_validator_methods);
        n += RPC_VALIDATOR_METHODS;
    }
    server = rpc_server_new(methods, n, req);
    rpc_server_answer(server, http_request_body(req->http),
                      http_request_field(req->http, "content-type"), out);
    rpc_server_free(&server);
}

static void answer_cloud(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(ANSWER_MAX);

    call(req, &out);
    reply_buf(req, 200, MEDIA_XML MEDIA_UTF8, &out, STR_NULL);
}

void rpc_post(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(ANSWER_MAX);
    struct str body = http_request_body(req->http);

    if (body.len > LIMIT_RPC_BODY) {
        struct problem p;

        problem_set(&p, req->ask.arena, PROBLEM_TOO_LARGE,
                    "The call has %zu bytes; at most %d are allowed.", body.len, LIMIT_RPC_BODY);
        reply_problem(req, &p);
        return;
    }
    call(req, &out);
    if (req->cloud != NULL)
        cloud_rpc_start(req, answer_cloud);
    else
        ping_answer(req, MEDIA_XML MEDIA_UTF8, &out);
}
