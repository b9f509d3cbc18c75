/* net/url.h - URLs by WHATWG-like rules on curl_url() and libidn2. Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct url_parts {         /* arena strings */
    struct str scheme;     /* "http" or "https" */
    struct str host;       /* lower case, punycode; IPv6 in brackets */
    int port;              /* explicit or the scheme's */
    struct str credential; /* "user:password", percent-decoded; null when none. SECRET */
    struct str url;        /* canonical, without credential and fragment */
};

/* Canonical form of an absolute http(s) URL: scheme and host lower case, IDN to punycode, default
 * port and fragment dropped, dot segments resolved, empty path "/", characters that are not allowed
 * in a URL percent-encoded. Existing percent-encodings stay as they are. `feed:` and `feed://` map
 * to http(s). RC_INPUT: it has no scheme or host, is not http(s), or is too long; *err says which.
 */
enum rc url_parse(struct arena *a, struct str raw, struct url_parts *out,
                  struct err *err) NODISCARD;

/* Are both valid, with the same scheme, host and port? */
bool url_same_origin(struct str one, struct str other);

/* A canonical URL without its query. */
struct str url_without_query(struct str url);

/* Are these canonical URLs the same but for the query? */
bool url_same_path(struct str one, struct str other);

/* Read "user:password@host:port", as url_parse() does, into host, port and credential. `port` is
 * meant when there is none; `shown` is what *err calls the URL. */
enum rc url_read_authority(struct arena *a, struct str authority, int port, struct str shown,
                           struct url_parts *out, struct err *err) NODISCARD;

/* Resolve `ref` against the absolute URL `base`, whatever its scheme. When `base` is missing, or
 * `ref` cannot be resolved, the result is `ref` without blanks around it. */
struct str url_resolve(struct arena *a, struct str base, struct str ref);

/* The URL without user, password and fragment, for links, logs and errors. `raw` may be any text.
 */
struct str url_public(struct arena *a, struct str raw);

/* What an error may repeat of a text that was meant as a URL: its public form, also when the whole
 * text is percent-encoded. */
struct str url_shown(struct arena *a, struct str raw);

/* The port of URLs with this scheme that name none; 0: it is not known. */
int url_default_port(struct str scheme);

/* "host:port" of a canonical URL, always with the port. */
struct str url_authority(struct arena *a, struct str url);

/* Percent-encode everything but unreserved characters. Decode %XX; with `form`, also + to space. */
struct str url_encode(struct arena *a, struct str s);
struct str url_decode(struct arena *a, struct str s, bool form);
