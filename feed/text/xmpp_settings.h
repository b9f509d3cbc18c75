/* feed/text/xmpp_settings.h - what a subscription by XMPP has of its own: the node that was
 * subscribed to. Stored as JSON. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define XMPP_SINK "xmpp"

/* Returns the settings of this node as JSON: the same text for the same node. Arena. */
struct str xmpp_settings_write(struct arena *a, struct str node);

/* Read them. *node is null when there are none. RC_INPUT: they cannot be read. Arena. */
enum rc xmpp_settings_read(struct arena *a, struct str json, struct str *node,
                           struct err *err) NODISCARD;
