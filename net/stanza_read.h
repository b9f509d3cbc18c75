/* net/stanza_read.h - a stanza of libstrophe as a tree of ours. */
#pragma once

#include "net/stanza.h"

struct _xmpp_stanza_t; /* of strophe.h */

/* Copy it, within the bounds of stanza.h. Arena. */
struct stanza *stanza_read(struct arena *a, struct _xmpp_stanza_t *from);
