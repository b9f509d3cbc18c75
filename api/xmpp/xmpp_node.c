/* api/xmpp/xmpp_node.c - see xmpp_node.h. */
#include "api/xmpp/xmpp_node.h"

#include "model/paths.h"

/* Does the name begin as the path of a Smart Feed? */
static bool is_stream(struct str node)
{
    struct str path = str_split(&node, '?');

    return str_eqz(path, &PATH_SMART[1]) || str_eqz(path, &(PATH_SMART "/")[1]);
}

bool xmpp_node_read(struct xmpp_request *req, struct str node, struct query *q)
{
    struct problem p;

    if (str_is_null(node) || node.len == 0) {
        xmpp_refuse(req, XMPP_BAD_REQUEST, "nodeid-required",
                    STR("A node must be named: smart?url=URL."));
        return false;
    }
    if (node.len > XMPP_NODE_MAX) {
        xmpp_refuse(req, XMPP_NOT_FOUND, NULL,
                    str_printf(req->ask.arena, "The name of the node has more than %zu bytes.",
                               XMPP_NODE_MAX));
        return false;
    }
    if (!is_stream(node)) {
        xmpp_refuse(req, XMPP_NOT_FOUND, NULL,
                    STR("There is no such node. Nodes are named smart?url=URL."));
        return false;
    }
    req->ask.target = str_concat(req->ask.arena, STR("/"), node);
    if (query_has_sets(&req->ask)) { /* whose they would be is not known here, and looking them up would wait */
        xmpp_refuse(req, XMPP_NOT_FOUND, NULL,
                    STR("This node names feeds by something that changes over time. A node must name them by `url`."));
        return false;
    }
    if (query_read(&req->ask, q, &p))
        return true;
    xmpp_refuse(req, XMPP_NOT_FOUND, NULL, p.detail); /* a node of such a name cannot exist */
    return false;
}
