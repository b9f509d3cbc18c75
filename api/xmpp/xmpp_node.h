/* api/xmpp/xmpp_node.h - nodes of our publish-subscribe service: "smart?url=U&order=created". Pure,
 * but for the configuration. */
#pragma once

#include "api/views/queries.h"
#include "api/xmpp/xmpp_request.h"

#define XMPP_NODE_MAX ((size_t)8 * 1024) /* bytes of a name; answers repeat it */

/* Read a node's name (null: missing) into req->ask and *q. False: there is no such node, and the
 * request has been refused. */
bool xmpp_node_read(struct xmpp_request *req, struct str node, struct query *q) NODISCARD;
