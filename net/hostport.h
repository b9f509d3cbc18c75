/* net/hostport.h - a host with an optional port: "name", "name:80", "192.0.2.7:80", "[::1]:80".
 *
 * As in a Host field, in the authority of a URL, and in --listen. Names are not resolved. Pure, any
 * thread; strings are slices of what was parsed.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum host_kind { HOST_NAME, HOST_IPV4, HOST_IPV6 };

struct hostport {
    enum host_kind kind;
    struct str host;    /* without the brackets of an IPv6 address, without port */
    struct str written; /* the same with its brackets */
    int port;           /* 0 to 65535; -1: none is given */
};

/* Read all of `s`. False: it is not a host with an optional port. An IPv6 address needs brackets, a
 * name has only characters that RFC 3986 allows in one. */
bool hostport_parse(struct str s, struct hostport *out);

/* Is it this machine by its loopback address, or by a name of it (localhost, *.localhost)? */
bool hostport_is_loopback(const struct hostport *hp);

/* Is it the address that means all addresses of this machine (0.0.0.0, [::])? */
bool hostport_is_any(const struct hostport *hp);
