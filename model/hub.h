/* model/hub.h - what a subscriber has asked our hub or our cloud for, and what was agreed with it.
 *
 * A request is an intent until the subscriber's callback has confirmed it. Then it is a lease,
 * which belongs to a subscription with the sink "websub" or "rsscloud" and ends with it. An intent
 * also stands for a message that the hub must send: that the subscriber gets nothing more.
 *
 * A registration at the cloud (rssCloud) may name several feeds. It is one intent, and one lease
 * for each URL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "model/feed.h"

#define HUB_SINK "websub"
#define CLOUD_SINK "rsscloud"
#define HUB_SECRET_MAX 199    /* bytes (WebSub 5.1) */
#define HUB_PENDING_MAX 10000 /* requests that wait for their verification */

enum hub_mode { HUB_SUBSCRIBE = 0, HUB_UNSUBSCRIBE = 1, HUB_DENIED = 2 };

struct hub_intent {
    int64_t id; /* set by storage */
    enum hub_mode mode;
    enum hub_protocol protocol;
    struct str procedure;    /* CLOUD_XML_RPC: what is called; otherwise null */
    bool at_caller;          /* rssCloud: the callback is at the address of the caller, so a test
                                notification is enough. Otherwise it proves that it wants them */
    struct str topic;        /* as the subscriber named it */
    struct str callback;     /* canonical URL without credential */
    struct str credential;   /* of the callback; null. SECRET */
    struct str secret;       /* signs deliveries; null: they are not signed. SECRET */
    struct str verify_token; /* of PubSubHubbub 0.3, given back; null */
    struct str reason;       /* HUB_DENIED */
    bool legacy;             /* PubSubHubbub 0.3: signatures are SHA-1 */
    bool renews; /* the subscriber named no lease: the hub verifies the subscription again before it
                    ends */
    bool waits;  /* a client waits for the result, so the hub tries only once */
    int64_t lease_s;
    int64_t owner;     /* of the request: the id of a token, or OWNER_... (model/access.h) */
    bool by_admin;     /* who may change what others have made */
    struct str filter; /* HUB_SUBSCRIBE: of the topic, as in struct subscription; null: none */
    struct str asks;   /* HUB_SUBSCRIBE: of the topic, as in struct subscription; null: none */
    const struct sub_feed *feeds; /* HUB_SUBSCRIBE: of the topic; ids and URLs count */
    size_t n_feeds;
};

struct hub_lease {
    int64_t sub_id;
    enum hub_protocol protocol; /* all as in struct hub_intent */
    struct str procedure;
    struct str topic, secret, verify_token;
    bool legacy, renews;
    int64_t lease_s;
    int64_t ends_at;  /* nothing is delivered from then on */
    int64_t renew_at; /* TIME_UNKNOWN: it ends without being renewed */
};

struct hub_settled {
    int64_t intent_id;
    bool confirmed;
    bool unreached; /* the callback did not answer: the hub may ask it again later */
    enum rc rc;     /* of the call */
    int status;     /* of the answer; 0: there was none */
};
