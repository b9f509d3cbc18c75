/* net/http_fields.h - reads the values of HTTP fields. Pure (http_date() looks at the clock for
 * years of two digits), any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* The time of an HTTP-date in any of the three forms of RFC 9110 §5.6.7; TIME_UNKNOWN: it is not a
 * date. */
int64_t http_date(struct str value);

/* How many seconds to wait before asking again, from the value of a Retry-After field. Reads both
 * forms of RFC 9110 §10.2.3 (delay-seconds, HTTP-date). A date in the past gives 0. -1: the value
 * has neither form. `now_s`: the present time. */
int64_t http_retry_after_s(struct str value, int64_t now_s);

/* The directives of Cache-Control (RFC 9111 §5.2). */
struct cache_control {
    int64_t max_age_s; /* -1: there is none */
    bool no_cache, no_store;
};
struct cache_control http_cache_control(struct str value);

/* Does an If-None-Match field match this entity tag (in quotes, perhaps with W/)? The field may
 * have a list of tags, or `*`. The comparison is weak (RFC 9110 §13.1.2). */
bool http_etag_matches(struct str if_none_match, struct str etag);

/* Take the next tag from a list of them: what stands between its quotes, whether it is weak or not. What is not a tag, such
 * as `*`, is passed over. False: there is none. */
bool http_etag_next(struct str *list, struct str *tag);

/* How much an Accept field prefers `media_type` ("application/atom+xml"), 0 to 1000. The most
 * specific range counts (RFC 9110 §12.5.1). A null or empty field accepts everything (1000). */
int http_accept_q(struct str accept, struct str media_type);

/* How much an Accept-Encoding field prefers a content coding ("gzip", "identity"), 0 to 1000
 * (RFC 9110 §12.5.3). A null field: 1000 for identity, 0 for others. */
int http_accept_encoding_q(struct str accept_encoding, struct str coding);

/* Which bytes of a body of `size` bytes a Range field wants (RFC 9110 §14): *first to *last. A
 * field that cannot be read, another unit and several ranges count as no field. */
enum http_range {
    RANGE_WHOLE, /* all */
    RANGE_PART,
    RANGE_NONE, /* none: the range is behind the end */
};
enum http_range http_range(struct str range, int64_t size, int64_t *first, int64_t *last);

/* Is `token` in a comma-separated list? Upper and lower case are the same. */
bool http_list_has(struct str list, struct str token);

/* Read the next link of a Link field (RFC 8288). Start with *rest = the value of the field. *href
 * is as written, *rel may have several relations, and *rel and *type are null if they are absent.
 * False: there are no more links. */
bool http_next_link(struct arena *a, struct str *rest, struct str *href, struct str *rel,
                    struct str *type);

/* The media type in lower case, without its parameters. */
struct str http_media_type(struct arena *a, struct str value);
