/* model/ports.h - what the API, the fetcher and the notifier tell each other.
 *
 * These three parts do not include one another; server/daemon.c connects them. The types here are
 * the ones that they exchange. Strings are borrowed for the call; null means absent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "model/feed.h"

/* The result of the fetch of a feed. */
struct fetch_result {
    enum rc rc;      /* RC_OK: the store holds the present document; RC_UNSUPPORTED: no feed, or
                        a web page that leads to none; RC_RESTING: its host asked for a pause;
                        RC_PEER, RC_TIMEOUT, RC_DENIED, RC_LIMIT */
    int64_t feed_id; /* the feed after discovery and redirects */
    int status;      /* of the publisher's answer; 0: there was none */
    int64_t rest_s;  /* RC_RESTING: for so long */
    struct str url;  /* what was asked for, without credentials */
    struct str text; /* why it failed */
};
typedef void fetch_done_fn(void *ctx, const struct fetch_result *res);

/* A document that was fetched and not stored (an OPML list). */
struct document_result {
    enum rc rc;
    int status;
    int64_t rest_s; /* as above */
    struct str body, content_type, text;
    struct str url; /* its URL after redirects, which is the base of its references; null: no
                       document came */
};
typedef void document_done_fn(void *ctx, const struct document_result *res);

/* How many of `n` feeds that are not known here may be fetched now for anonymous callers, whose lists
 * name them? Any thread. */
typedef size_t list_let_fn(void *ctx, size_t n);

/* A publisher's hub verifies a subscription of ours, or denies it (WebSub sections 5.3, 5.2). */
struct upstream_verification {
    struct str token, mode, topic, lease, reason;
};

/* A publisher's hub delivers a document (WebSub section 7). */
struct upstream_delivery {
    struct str token, signature;
    struct str content_type, content_coding, content_language, content_location;
    struct str body; /* as it was sent and signed */
};

/* A publisher's cloud calls our handler (rssCloud). */
struct upstream_notification {
    struct str token, url; /* `url`: the feed that has changed, as we registered it */
    bool is_challenge;     /* it asks whether we want its notifications */
};

/* What Feedmill answers to the hub or cloud. */
enum upstream_verdict {
    VERDICT_PENDING,   /* not known yet: `done` is called with the verdict later */
    VERDICT_TAKEN,     /* the delivery is on disk, or its entries were known already */
    VERDICT_IGNORED,   /* the signature does not fit, which the sender is not told */
    VERDICT_UNKNOWN,   /* there is no such subscription */
    VERDICT_ENDED,     /* the subscription has ended */
    VERDICT_UNSIGNED,  /* a delivery without signature */
    VERDICT_UNDECODED, /* its content coding cannot be undone */
    VERDICT_TOO_LARGE, /* more than LIMIT_FETCH_BODY, decoded */
    VERDICT_BUSY,      /* no room, or the store has failed: the hub may try again */
};

/* Runs once, on any thread: be quick. */
typedef void upstream_done_fn(void *ctx, enum upstream_verdict verdict);

/* What an endpoint said to a test of a subscription: one call that delivers nothing. */
struct push_test_result {
    enum rc rc;        /* RC_OK: it was called. RC_NOT_FOUND: there is no such subscription;
                          RC_UNSUPPORTED: it cannot be tested, and `error` says why; RC_FULL: too many
                          tests wait; RC_IO; RC_CLOSED: the daemon stops */
    int status;        /* of the answer; 0: none came */
    struct str answer; /* its first bytes, as they came; null: none came */
    struct str error;  /* why it would not count as delivered; null: it would */
};
typedef void push_test_done_fn(void *ctx, const struct push_test_result *res);

/* The document of a topic that is delivered to one subscriber of our hub. */
struct topic_document {
    const char *media_type;
    struct str self, hub; /* URLs */
    size_t n_entries;     /* new ones in it; 0: there is nothing to deliver */
    int64_t news_at_us;   /* when the first of them was stored */
    int64_t position;     /* its delivery delivers everything up to here */
    bool is_last;         /* the log had nothing more for the topic when the document was drawn */
};

/* An entry as an item of a stream (Smart Feeds). */
struct item_text {
    struct str id;  /* of the item: the entry's, unless items of two feeds have the same */
    struct str xml; /* an Atom entry, without an XML declaration */
};

/* Revisions that a subscriber is to get as items. */
struct items_wanted {
    const int64_t *feed_ids; /* of the stream */
    size_t n_feeds;
    const struct revision *revisions;
    size_t n;
    size_t max_bytes; /* of an item; one that is larger comes without its content */
};
