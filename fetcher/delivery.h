/* fetcher/delivery.h - the source "delivery": what an upstream hub sends (delivery.c). */
#pragma once

#include "fetcher/fetcher_priv.h"

/* So many deliveries may wait at once; more are refused for now. */
#define DELIVERIES_MAX 4096

/* Does the work of fetcher_upstream_deliver(); see there. Any thread. */
enum upstream_verdict delivery_take(struct fetcher *f, const struct upstream_delivery *d,
                                    upstream_done_fn *done, void *ctx);

/* Returns true when the signature is the HMAC of the body with the secret as its key (WebSub
 * section 7.1). The signature is "sha256=" and hex digits; sha1, sha384 and sha512 are allowed,
 * too. Pure. */
bool delivery_is_signed(struct str signature, struct str secret, struct str body);
