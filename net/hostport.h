/* net/hostport.h - a host with an optional port: "name", "name:80", "192.0.2.7:80", "[::1]:80".
 *
 * It occurs in a Host field, in the authority of a URL, and in --listen. Names are not resolved.
 * Pure, any thread. The strings of a result are slices of the text that was parsed.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum host_kind { HOST_NAME, HOST_IPV4, HOST_IPV6 };

struct hostport {
    enum host_kind kind;
    struct str host;    /* without the brackets of an IPv6 address, without port */
    struct str zone;    /* the interface that an IPv6 address names; null: none */
    struct str written; /* the host with its zone, and in brackets if it is an IPv6 address */
    int port;           /* 0 to 65535; -1: there is none */
};

/* Read all of `s`. False: it is not a host with an optional port. An IPv6 address must have
 * brackets. A name may have only the characters that RFC 3986 section 3.2.2 allows. */
bool hostport_parse(struct str s, struct hostport *out);

/* The same for an address to listen on. There an IPv6 address may name an interface of this
 * machine: "[fe80::1%eth0]:80" (RFC 4007 section 11). It is not checked whether it exists. */
bool hostport_parse_listen(struct str s, struct hostport *out);

/* The host as it is written in a URL, with "%25" for the "%" before a zone (RFC 6874). Arena. */
struct str hostport_in_url(struct arena *a, const struct hostport *hp);

/* Is the host a loopback address, or a name of it (localhost, *.localhost)? */
bool hostport_is_loopback(const struct hostport *hp);

/* Is the host the address that stands for all addresses of this machine (0.0.0.0, [::])? */
bool hostport_is_any(const struct hostport *hp);
