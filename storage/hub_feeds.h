/* storage/hub_feeds.h - the column `feeds` of table hub_intents: one feed per line,
 * "12 http://example.org/feed". Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "model/hub.h"

void hub_feeds_write(struct buf *out, const struct hub_intent *in);

/* Set out->feeds and out->n_feeds. The URLs are borrowed from the text. Arena. */
void hub_feeds_read(struct arena *a, struct str text, struct hub_intent *out);
