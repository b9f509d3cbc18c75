/* api/lists/sub_endpoint.h - the parameter `endpoint` of a subscription: a URL of a carrier
 * (model/carriers.def).
 *
 * A check that fails sets *p and returns false. Passwords never stand in a problem. Any thread.
 */
#pragma once

#include "api/http/config.h"
#include "api/http/params.h"

/* Get `endpoint`. It must be a URL to which some sink delivers with this configuration. out->url is
 * null when it is missing. Arena, or borrowed from `ps`. */
bool sub_endpoint_read(const struct params *ps, struct arena *a, const struct api_cfg *cfg,
                       struct wanted_url *out, struct problem *p) NODISCARD;

/* Does this sink deliver to such an endpoint? `endpoint` is canonical. */
bool sub_endpoint_fits(struct arena *a, struct str endpoint, struct str sink,
                       struct problem *p) NODISCARD;

/* The scheme of a canonical URL; null when the URL is null. */
struct str sub_endpoint_scheme(struct str endpoint);
