/* notifier/bodies.h - the calls made last, for the many subscriptions that get the same ones.
 *
 * What is kept does not depend on the subscription, and its key is made of all that it depends on,
 * so nothing is ever out of date. It is made once: who asks for what another thread is making just
 * now waits for it. Any thread.
 */
#pragma once

#include <stddef.h>

#include "base/blob.h"
#include "notifier/sink.h"

#define BODIES_KEY_LEN 16

/* What came of making it: RC_OK and bytes (NULL: there is nothing to send), or why it cannot be.
 * `doc` is set for documents of topics. */
struct body {
    enum rc rc;
    struct blob *bytes; /* held: blob_unref() */
    struct topic_document doc;
};

struct bodies;
struct bodies *bodies_new(void);
void bodies_free(struct bodies **bp);

/* True: *out is what is kept under the key, strings in the arena. False: the caller makes it, and
 * calls bodies_put() or bodies_give_up() soon, for others wait. */
bool bodies_get(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], struct arena *a,
                struct body *out) NODISCARD;

/* Keep it, with a hold of its own on the bytes; the oldest go when there are too many, or too many
 * bytes. */
void bodies_put(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], const struct body *made);

/* It was not made: who waits makes it. */
void bodies_give_up(struct bodies *b, const unsigned char key[BODIES_KEY_LEN]);

/* Keep nothing of what is there: it was made by other settings. */
void bodies_clear(struct bodies *b);
