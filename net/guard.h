/* net/guard.h - which addresses may be contacted.
 *
 * Private, loopback, link-local, multicast, documentation and other special ranges (IPv4, IPv6, and
 * IPv4 inside IPv6: mapped, 64:ff9b::/96, 6to4) are closed, unless a CIDR in the list opens them.
 * The guard checks the address to which the connection is actually made, and does so again after
 * every redirect. A guard does not change after it was made, so any thread may use it.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"

struct guard;

/* Make a guard that opens the given CIDRs ("127.0.0.0/8", "::1", "10.1.2.3/32"). RC_INPUT: one of
 * them cannot be read, and *err names it. Free the guard with guard_free(). */
enum rc guard_new(const struct str *cidrs, size_t n, struct guard **out, struct err *err) NODISCARD;
void guard_free(struct guard **gp);

/* May this address be contacted? */
bool guard_allows(const struct guard *g, const struct sockaddr *sa);

/* Is this a loopback address? On such an address the server may listen without authentication. */
bool guard_is_loopback(const struct sockaddr *sa);

/* How near is the host of this address? All special addresses count as private. */
enum nearness { NEAR_NOT, NEAR_PRIVATE, NEAR_SELF };
enum nearness guard_nearness(const struct sockaddr *sa);
