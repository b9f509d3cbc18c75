/* notifier/sink.h - a push protocol: how revisions become a call, and what its answer means.
 *
 * judge() runs on the notify loop, the others on reader threads. All are pure.
 */
#pragma once

#include "base/arena.h"
#include "base/blob.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/feed.h"
#include "model/hub.h"
#include "net/http_client.h"

#define SINK_FIELDS_MAX 8
/* Bytes of one call; what does not fit goes with fewer entries at once. */
#define SINK_BODY_MAX ((size_t)32 * 1024 * 1024)

/* What is to be pushed: revisions (new and changed) of one feed, oldest first. */
struct sink_push {
    int64_t sub_id;
    struct str url; /* as it was subscribed */
    const struct revision *revisions;
    size_t n;
};

struct sink_call {
    struct str method;
    struct http_field fields[SINK_FIELDS_MAX]; /* the content type among them */
    size_t n_fields;
    struct buf body;     /* of the caller, with its maximum set */
    struct blob *shared; /* the bytes to be sent instead, held; NULL: those of `body` */
};

/* The bytes that are sent. */
static inline struct str sink_call_bytes(const struct sink_call *call)
{
    return call->shared != NULL ? blob_bytes(call->shared) : buf_view(&call->body);
}

enum sink_verdict {
    SINK_DELIVERED,
    SINK_FAULT,  /* delivered; the receiver said that something went wrong on its side */
    SINK_FAILED, /* to be tried again */
    SINK_GONE,   /* the receiver wants no more: suspended at once */
};

/* The document of a topic, for one delivery: what is new behind a position. */
struct topic_document {
    const char *media_type;
    struct str self, hub; /* URLs */
    size_t n_entries;     /* new in it; 0: there is nothing to deliver */
    int64_t position;     /* everything up to it is delivered once this is */
    bool is_last;         /* nothing followed, when it was drawn */
};

/* render() and head() are NULL where the call is a topic's document. */
struct sink {
    const char *name; /* as in struct subscription */

    /* Method and fields of the call; strings in `a` or static. */
    void (*head)(struct arena *a, const struct sink_push *push, struct sink_call *call);

    /* Its body. RC_LIMIT: it passed its maximum. */
    enum rc (*render)(struct arena *a, const struct sink_push *push, struct buf *body,
                      struct err *err);

    /* Append the bytes at the front of a body that name the subscription; what follows them is the
     * same for all subscriptions of these entries by this URL, and may be shared. NULL: no such
     * front. */
    void (*front)(struct buf *body, int64_t sub_id);

    /* `rc`, `answer` and `err` as the HTTP client gave them. When the verdict is no delivery, or a
     * fault, *why gets a sentence in `a`. */
    enum sink_verdict (*judge)(struct arena *a, enum rc rc, const struct http_answer *answer,
                               const struct err *err, struct str *why);
};

/* The sink of this name, or NULL. */
const struct sink *sink_find(struct str name);

extern const struct sink sink_xmlrpc; /* sink_xmlrpc.c: feedReceived(id, url, entries) */
extern const struct sink sink_websub; /* sink_websub.c: documents of topics, by leases */

/* Method and fields of a delivery whose body is there: its type, its links, its signature. */
void websub_head(struct arena *a, const struct hub_lease *lease, const struct topic_document *doc,
                 struct sink_call *call);
