/* api/views/draw_items.h - the items of a stream one by one, for a protocol that does not send a
 * document of them: Smart Feeds over XMPP.
 *
 * They are the same items, with the same ids and cursors, as those of draw_stream(). Runs on reader
 * threads. Results are in the arena that was given. */
#pragma once

#include "api/views/document.h"
#include "model/ports.h"
#include "storage/store.h"

struct drawn_item {
    struct item_text text;
    struct str cursor;
};

struct drawn_items {
    struct drawn_item *items;
    size_t n;
    int64_t total; /* of the whole stream, deleted ones included; -1: it has a filter, and was not
                      counted */
    int64_t index; /* of the first item in the whole stream, from 0; -1: it was not counted */
};

/* Draw the items that the spec of a FORM_STREAM asks for, as many as fit into `max_bytes`, but at
 * least one. A single item that does not fit comes without its content. `with_items` false: only
 * the total. RC_NOT_FOUND: the feed does not exist any more. */
enum rc draw_items(const struct document_spec *spec, struct store *store, struct reader *r,
                   bool with_items, size_t max_bytes, struct arena *a, struct drawn_items *out,
                   struct err *err) NODISCARD;

/* Draw revisions for a subscriber, each as an item. RC_NOT_FOUND: a feed does not exist any more.
 */
enum rc draw_revisions(struct store *store, struct reader *r, const struct items_wanted *wanted,
                       struct arena *a, struct item_text *items, struct err *err) NODISCARD;
