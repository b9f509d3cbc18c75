/* api/hub/cloud_asked.h - reads what a registration at our cloud (rssCloud) asks for: which
 * handler is to be called, and how. Pure. */
#pragma once

#include <sys/socket.h>

#include "base/arena.h"
#include "model/hub.h"

#define CLOUD_URLS_MAX 100 /* of one registration */

/* The parameters as they came; null: missing. */
struct cloud_asked {
    struct str procedure, port, path, protocol, domain;
    struct str *urls; /* trimmed, without doubles */
    size_t n_urls;
};

/* Set callback, protocol, procedure and at_caller of the intent, in the arena. `caller`: the
 * address from which the request came. False: *why is a sentence that says what is wrong, and what
 * would be right. */
bool cloud_asked_read(struct arena *a, const struct cloud_asked *asked,
                      const struct sockaddr *caller, struct hub_intent *out,
                      struct str *why) NODISCARD;

/* Add a URL. False: there is no room for it. */
bool cloud_asked_add(struct arena *a, struct cloud_asked *asked, struct str url) NODISCARD;
