/* api/pings/rpc_pings.h - pings by XML-RPC: weblogUpdates.* (Weblogs.com), rssCloud.ping and hello.
 */
#pragma once

#include "net/xmlrpc.h"

#define RPC_PING_METHODS 4

/* Their context is the request. It must be answered by ping_answer(). */
extern const struct rpc_method rpc_ping_methods[RPC_PING_METHODS];
