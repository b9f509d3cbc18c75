/* api/lists/sub_sink.h - the parameters of a subscription that say by which sink it is delivered,
 * and what that sink needs: `sink`, `secret`, `header.NAME`.
 *
 * The values of `secret` and `header.NAME` never stand in a problem. Any thread.
 */
#pragma once

#include "api/http/params.h"

struct sub_sink {
    struct str name;     /* of the sink; null: there is no endpoint */
    struct str settings; /* JSON for the store; null: this sink has none. SECRET */
    struct str secret;   /* to be told once; null: this sink has none. SECRET */
};

/* Read them for a new subscription with this endpoint (canonical), or without one (null). Without
 * `sink` it is the first one that delivers to such an endpoint. Arena, or borrowed from `ps`. */
bool sub_sink_read(const struct params *ps, struct arena *a, struct str endpoint,
                   struct sub_sink *out, struct problem *p) NODISCARD;

/* Read them for a change of a subscription that has this sink (null: it has no endpoint) and these
 * settings. A new secret signs from now on, and the old one, too, for HOOK_ROTATION_S. A header
 * field is added or replaced, or removed when its value is empty. The sink itself cannot be
 * changed. *settings: what is to be stored; null: nothing of it changes. */
bool sub_sink_change(const struct params *ps, struct arena *a, struct str sink, struct str stored,
                     struct str *settings, struct problem *p) NODISCARD;
