/* api/views/selflink.h - the URL under which a document is served. Pure, any thread.
 *
 * It is the target of the request as received, made absolute. If the type was negotiated, it is
 * added explicitly. A credential in it is replaced by a mark for the access key of the feed. The
 * mark is filled in later, where the feed has been read (D48). */
#pragma once

#include "api/http/params.h"
#include "base/arena.h"
#include "base/str.h"

/* Make the link. `origin`: "http://host:port". `target`: as received, in origin form. `type`: name
 * of the type to append; NULL: none. `urls` with `ids`: the feeds of the `url` parameters, whose
 * credentials are replaced. A credential whose id is 0 is left out. In the arena. */
struct str selflink_make(struct arena *a, struct str origin, struct str target, const char *type,
                         const struct wanted_url *urls, const int64_t *ids, size_t n);

/* Returns the link with a query parameter set to a value. */
struct str selflink_set(struct arena *a, struct str link, const char *name, struct str value);

/* Returns the link without a query parameter. */
struct str selflink_unset(struct arena *a, struct str link, const char *name);

/* Fill in the marks. `key` returns the access key of a feed; null: there is none, so no user name
 * is written. */
typedef struct str selflink_key_fn(void *ctx, int64_t feed_id);
struct str selflink_fill(struct arena *a, struct str link, selflink_key_fn *key, void *ctx);

/* Returns the link as a target in the Link field (RFC 8288). Commas become %2C, because some
 * clients split the field at every comma, even between < and >. */
struct str selflink_target(struct arena *a, struct str link);
