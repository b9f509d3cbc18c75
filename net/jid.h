/* net/jid.h - addresses of XMPP, and URLs of them: "alice@example.org/desk",
 * "xmpp:alice@example.org/desk" (RFC 7622, RFC 5122). Pure; any thread. */
#pragma once

#include "net/url.h"

#define JID_MAX 3071 /* bytes (RFC 7622 section 3.1) */

/* The address without its resource; borrowed from it. */
struct str jid_bare(struct str jid);

/* Returns true when both are the same address without their resources. Letter case does not count
 * for ASCII; servers give addresses in one form. */
bool jid_same_bare(struct str a, struct str b);

/* Read "xmpp:user@host/resource", as url_parse() does, into url and host. Nothing may follow. User
 * and host are written in lower case. RC_INPUT: it is not such a URL. */
enum rc jid_url_parse(struct arena *a, struct str raw, struct url_parts *out,
                      struct err *err) NODISCARD;

/* The URL of an address, as jid_url_parse() writes it; and back. Arena. */
struct str jid_to_url(struct arena *a, struct str jid);
struct str jid_of_url(struct arena *a, struct str url);
