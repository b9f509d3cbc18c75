/* api/xmpp/xmpp_request.h - one request by XMPP, from its arrival to its answer: an ask with
 * somebody who has asked.
 *
 * It lives in the arena of the component's request and belongs to one thread at a time: that of the
 * component, then those of the storer, the fetcher or a reader. Each request gets exactly one
 * answer, and the functions that answer free it. */
#pragma once

#include "api/http/ask.h"
#include "api/http/problem.h"
#include "api/xmpp/xmpp.h"
#include "base/buf.h"

#define NS_PUBSUB "http://jabber.org/protocol/pubsub"
#define NS_PUBSUB_ERRORS "http://jabber.org/protocol/pubsub#errors"
#define NS_RSM "http://jabber.org/protocol/rsm"
#define NS_DISCO_INFO "http://jabber.org/protocol/disco#info"
#define NS_DISCO_ITEMS "http://jabber.org/protocol/disco#items"
#define NS_PING "urn:xmpp:ping"

enum xmpp_refusal {
#define REFUSAL(id, type, condition) XMPP_##id,
#include "api/xmpp/answers.def"
#undef REFUSAL
};

struct xmpp_request {
    struct ask ask;
    struct xmpp_service *service;
    struct component_request *in;
    const struct stanza *payload;
    struct str bare; /* the one who asks, without resource */
    bool is_waiting; /* for a fetch (xmpp_feeds.c) */
};

/* Answer with this content, which is XML; empty: only that it was done. */
void xmpp_reply(struct xmpp_request *req, struct str content);

/* Refuse. `pubsub`: the condition of XEP-0060; NULL: none. `text`: a sentence, or null. */
void xmpp_refuse(struct xmpp_request *req, enum xmpp_refusal why, const char *pubsub,
                 struct str text);

/* Refuse with what a problem means here. */
void xmpp_refuse_problem(struct xmpp_request *req, const struct problem *p);

/* Refuse with what a failure inside the server means; it is logged. */
void xmpp_refuse_failure(struct xmpp_request *req, enum rc rc, const struct err *err);

/* Run fn(ctx, reader) for the request on a reader thread; it must answer. Only a few run at once,
 * so that requests by HTTP find the readers free. The request may be refused here. */
void xmpp_read(struct xmpp_request *req, store_read_fn *fn, void *ctx);

/* ---- what can be asked. Each answers the request ---- */
void xmpp_disco_info(struct xmpp_request *req); /* xmpp_disco.c */
void xmpp_disco_items(struct xmpp_request *req);
void xmpp_items(struct xmpp_request *req);     /* xmpp_items.c */
void xmpp_subscribe(struct xmpp_request *req); /* xmpp_subs.c */
void xmpp_unsubscribe(struct xmpp_request *req);
