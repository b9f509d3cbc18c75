/* api/http/ask.h - what a request asks for, without its connection.
 *
 * A GET asks through a connection (request.h). A topic of the hub and a delivery have no
 * connection: their URL alone says what they ask for. All functions that read parameters and
 * describe documents take an ask, so they work for all three.
 *
 * An ask lives in its arena, and belongs to one thread at a time.
 */
#pragma once

#include "api/http/caller.h"
#include "api/http/context.h"
#include "api/http/params.h"

struct ask {
    struct api *api;
    const struct api_cfg *cfg;
    struct arena *arena;
    struct str target;    /* path and query, as they were given */
    struct str accept;    /* the Accept field (RFC 9110 section 12.5.1); null: any type */
    struct str origin;    /* of links to ourselves: "http://host:port", no slash at the end */
    struct params params; /* those of the query; for a request also those of an urlencoded body */
    struct caller caller; /* of a topic or a delivery: nobody */
    bool all_is_seen;     /* `all` means every feed that the caller may see (mcp/mcp_call.c) */
    bool is_lasting;      /* what it names is followed: subscriptions that follow something themselves are not
                             counted in folders, or they would hold one another's feeds */
    bool was_checked;     /* what it names was there when it was subscribed: a subscription that has ended since
                             has no feeds */
    bool negotiated;      /* set when `accept` was used: the answer varies with it */
};

/* Returns the origin of links for a request with this Host field: the configured one, or else that
 * of the field. In the arena. */
struct str ask_origin(struct arena *a, const struct api_cfg *cfg, struct str host);

/* Returns the role of callers without a token. *is_alone: as in struct caller. */
enum access_role ask_anonymous(const struct ask *ask, bool *is_alone);

/* May a caller who was admitted with these options go on waiting for news? Not when its token was
 * deleted or has expired, or when a reload has changed --token or --anonymous. Any thread. */
bool ask_may_go_on(struct api *api, const struct api_cfg *then, const struct caller *c);

/* Must a caller have shown a token to get what it asks for? Then no cache may share the answer. */
bool ask_is_private(const struct ask *ask);
