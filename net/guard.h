/* net/guard.h - which addresses may be contacted.
 *
 * Private, loopback, link-local, multicast, documentation and other special ranges (IPv4, IPv6, and
 * IPv4 inside IPv6: mapped, 64:ff9b::/96, 6to4) are closed unless a CIDR of the list opens them.
 * Judged is the address actually connected to, on every hop. Immutable once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"

struct guard;

/* A guard that opens the given CIDRs ("127.0.0.0/8", "::1", "10.1.2.3/32"). RC_INPUT names the bad
 * one. Free with guard_free(). */
enum rc guard_new(const struct str *cidrs, size_t n, struct guard **out, struct err *err) NODISCARD;
void guard_free(struct guard **gp);

/* May this address be contacted? */
bool guard_allows(const struct guard *g, const struct sockaddr *sa);

/* Is it loopback? (for "may we listen here without authentication") */
bool guard_is_loopback(const struct sockaddr *sa);
