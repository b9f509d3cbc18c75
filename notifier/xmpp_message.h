/* notifier/xmpp_message.h - the message of a delivery by XMPP: of type headline, with an event of
 * publish-subscribe (XEP-0060), and the cursors in headers (XEP-0131).
 *
 * Its items are the same for many subscriptions, and are written once; what stands before and after
 * them is written for each. Pure; any thread.
 */
#pragma once

#include "notifier/sink.h"

/* What a message may have beside its items; and what these may have. */
#define XMPP_FRAME_MAX ((size_t)48 * 1024)

struct xmpp_message {
    const struct sink_push *push; /* without revisions: it is a test */
    struct str from, to;          /* our address, and that of the receiver */
    struct str items;             /* as xmpp_items_write() has written them */
    int64_t total;                /* items of the stream, deleted ones included */
};

/* Write as many of the items as fit into `max` bytes, from the first on, and always the first.
 * Returns how many these are. */
size_t xmpp_items_write(struct buf *out, const struct item_text *items, size_t n, size_t max);

/* Write the whole message. RC_LIMIT: it is larger than COMPONENT_STANZA_MAX. */
enum rc xmpp_message_write(struct arena *a, const struct xmpp_message *m, struct buf *out,
                           struct err *err);

/* The id of the message. It follows from what is delivered to whom, so it is the same in each try.
 * Arena. */
struct str xmpp_message_id(struct arena *a, const struct sink_push *push);
