/* notifier/carrier_xmpp.h - what a sink that delivers by XMPP gives its carrier: the bytes are a
 * complete message stanza. */
#pragma once

#include "base/str.h"

struct xmpp_load {
    struct str id;   /* of the stanza */
    struct str host; /* of the receiver */
};
