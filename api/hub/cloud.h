/* api/hub/cloud.h - registrations at our cloud (rssCloud): POST /pleaseNotify, and the XML-RPC
 * method rssCloud.pleaseNotify. */
#pragma once

#include "api/http/request.h"
#include "net/xmlrpc.h"

#define CLOUD_RPC_METHODS 1

/* Their context is the request. The first call reads the parameters, and stores the registration in
 * req->cloud; its result does not count. After cloud_rpc_start() has ended, the second call gives
 * the result. */
extern const struct rpc_method cloud_rpc_methods[CLOUD_RPC_METHODS];

/* Begin the registration in req->cloud. `answer` is called now or later, and must answer the
 * request. */
void cloud_rpc_start(struct request *req, void (*answer)(struct request *req));
