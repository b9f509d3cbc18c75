/* notifier/bodies.h - the last rendered calls, for the many subscriptions that get the same
 * entries.
 *
 * A body is a front that names the subscription and a rest that does not depend on it; the rest is
 * kept by a key made of all that it depends on, so nothing is ever out of date. Any thread.
 */
#pragma once

#include <stddef.h>

#include "base/blob.h"
#include "base/compiler.h"

#define BODIES_KEY_LEN 16

struct bodies;
struct bodies *bodies_new(void);
void bodies_free(struct bodies **bp);

/* The rest kept under the key, held for the caller (blob_unref), or NULL. */
struct blob *bodies_get(struct bodies *b, const unsigned char key[BODIES_KEY_LEN]);

/* Keep a copy; the oldest goes. What is large is not kept. */
void bodies_put(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], struct str rest);
