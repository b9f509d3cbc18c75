/* api/xmpp/xmpp_disco.c - what the service is and can do (XEP-0030, XEP-0060 section 5). */
#include "api/xmpp/xmpp_node.h"
#include "feed/text/xml_out.h"

static const char *const features[] = {NS_DISCO_INFO,
                                       NS_DISCO_ITEMS,
                                       NS_PUBSUB,
                                       NS_PUBSUB "#retrieve-items",
                                       NS_PUBSUB "#subscribe",
                                       NS_PUBSUB "#rsm",
                                       NS_RSM,
                                       "http://jabber.org/protocol/shim",
                                       NS_PING};

static void write_query(struct buf *out, const char *ns, struct str node)
{
    buf_printf(out, "<query xmlns=\"%s\"", ns);
    xml_attr(out, "node", node);
    buf_putc(out, '>');
}

void xmpp_disco_info(struct xmpp_request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str node = stanza_attribute(req->payload, "node");
    struct query q;

    if (!str_is_null(node) && !xmpp_node_read(req, node, &q))
        return;
    write_query(&out, NS_DISCO_INFO, node);
    buf_printf(&out, "<identity category=\"pubsub\" type=\"%s\" name=\"Feedmill\"/>",
               str_is_null(node) ? "service" : "leaf");
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        buf_printf(&out, "<feature var=\"%s\"/>", features[i]);
    buf_puts(&out, "</query>");
    xmpp_reply(req, buf_view(&out));
}

/* The nodes are not listed: which feeds are known is not for everybody to see. */
void xmpp_disco_items(struct xmpp_request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str node = stanza_attribute(req->payload, "node");
    struct query q;

    if (!str_is_null(node) && !xmpp_node_read(req, node, &q))
        return;
    write_query(&out, NS_DISCO_ITEMS, node);
    buf_puts(&out, "</query>");
    xmpp_reply(req, buf_view(&out));
}
