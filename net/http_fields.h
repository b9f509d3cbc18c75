/* net/http_fields.h - the grammar of HTTP fields. Pure, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Unix seconds of an HTTP-date in any of the three forms of RFC 9110 §5.6.7, or TIME_UNKNOWN. */
int64_t http_date(struct str value);

/* Seconds to wait before asking again, from a Retry-After field value. Reads both forms of RFC 9110
 * §10.2.3 (delay-seconds, HTTP-date); a date in the past is 0. Returns -1 if it is neither. */
int64_t http_retry_after_s(struct str value, int64_t now_s);

/* The directives of Cache-Control (RFC 9111 §5.2): max_age_s is -1 when absent. */
struct cache_control {
    int64_t max_age_s;
    bool no_cache, no_store;
};
struct cache_control http_cache_control(struct str value);

/* If-None-Match against one entity tag (quoted, maybe W/): lists, weak comparison, `*`
 * (RFC 9110 §13.1.2). */
bool http_etag_matches(struct str if_none_match, struct str etag);

/* Preference for `media_type` ("application/atom+xml") in an Accept field, 0..1000; the most
 * specific range wins (RFC 9110 §12.5.1). A null or empty field accepts everything (1000). */
int http_accept_q(struct str accept, struct str media_type);

/* Preference for a content coding ("gzip", "identity"), 0..1000 (§12.5.3). A null field: identity
 * 1000, others 0. */
int http_accept_encoding_q(struct str accept_encoding, struct str coding);

/* Is `token` in a comma-separated list, in any case? */
bool http_list_has(struct str list, struct str token);

/* One link of a Link field (RFC 8288): href as written; rel may hold several tokens. False at the
 * end. Start with *rest = the field value. */
bool http_next_link(struct arena *a, struct str *rest, struct str *href, struct str *rel,
                    struct str *type);

/* Media type without parameters, lower case. */
struct str http_media_type(struct arena *a, struct str value);
