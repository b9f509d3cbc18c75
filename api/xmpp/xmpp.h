/* api/xmpp/xmpp.h - Smart Feeds over XMPP: what the component answers.
 *
 * A node of our publish-subscribe service (XEP-0060) is the target of a GET of /smart without its
 * slash: "smart?url=U&order=created". Pull is a request for items with Result Set Management
 * (XEP-0059); push is a subscription like any other, with the sink "xmpp". */
#pragma once

#include "net/component.h"

struct api;
struct xmpp_service;

/* Make the service; `c` is borrowed. */
struct xmpp_service *xmpp_service_new(struct api *api, struct component *c);
void xmpp_service_free(struct xmpp_service **sp);

/* A request has come: it is given. Runs on the component's thread. */
void xmpp_service_request(struct xmpp_service *s, struct component_request *in);
