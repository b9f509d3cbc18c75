/* api/hub/delivery.h - makes documents for subscribers of the hub. The notifier calls this through
 * a port. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/ports.h"
#include "storage/store.h"

struct api;

/* Draw the document of a topic for a subscription, which has everything up to its position. If it
 * follows something, its own feeds and filter count. RC_OK without entries: there is nothing new.
 * RC_NOT_FOUND: the topic no longer exists. RC_LIMIT: the document is larger than the maximum of
 * `body`. RC_TIMEOUT: a part of what must be judged before is done; call it again soon. Strings in
 * the arena. Reader threads. */
enum rc api_draw_topic(struct api *a, struct reader *r, struct str url,
                       const struct subscription *sub, size_t max_entries, struct arena *arena,
                       struct buf *body, struct topic_document *out, struct err *err) NODISCARD;
