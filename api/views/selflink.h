/* api/views/selflink.h - the URL under which a document is served. Pure.
 *
 * It is the request's target as received, made absolute, with an explicit type when the type was
 * negotiated. A credential in it is replaced by a mark, which stands for the access key of the feed
 * and is filled in where the feed is at hand (D48).
 */
#pragma once

#include "api/http/params.h"
#include "base/arena.h"
#include "base/str.h"

/* `origin`: "http://host:port". `target`: as received, origin form. `type`: name of the type to
 * append, NULL: none. `urls` with `ids`: the feeds of the `url` parameters, whose credentials are
 * replaced; a credential without an id (0) is left out. */
struct str selflink_make(struct arena *a, struct str origin, struct str target, const char *type,
                         const struct wanted_url *urls, const int64_t *ids, size_t n);

/* The same link with a query parameter set to a value (replacing it). */
struct str selflink_set(struct arena *a, struct str link, const char *name, struct str value);

/* The same link without a query parameter. */
struct str selflink_unset(struct arena *a, struct str link, const char *name);

/* Fill in the marks. `key` gives the access key of a feed; null: none, then no user is named. */
typedef struct str selflink_key_fn(void *ctx, int64_t feed_id);
struct str selflink_fill(struct arena *a, struct str link, selflink_key_fn *key, void *ctx);

/* The link as a target of the Link field (RFC 8288): commas as %2C, because some clients split the
 * field at every comma, also between < and >. */
struct str selflink_target(struct arena *a, struct str link);
