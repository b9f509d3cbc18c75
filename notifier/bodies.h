/* notifier/bodies.h - keeps the bodies that were made last, because many subscriptions get the same
 * body.
 *
 * A body that is kept does not depend on the subscription. Its key is made of everything that it
 * does depend on, so it is never out of date. Each body is made once: when a thread asks for a body
 * that another thread is making, it waits until that body is made. Any thread.
 */
#pragma once

#include <stddef.h>

#include "base/blob.h"
#include "base/arena.h"
#include "base/err.h"
#include "model/ports.h"

#define BODIES_KEY_LEN 16

/* A body, or the reason why it cannot be made. With RC_OK, `bytes` is the body; NULL: there is
 * nothing to send. `doc` is set for documents of topics, `print` as the sink of entries does. */
struct body {
    enum rc rc;
    struct blob *bytes; /* held: blob_unref() */
    struct topic_document doc;
    struct str print;
};

struct bodies;
struct bodies *bodies_new(void);
void bodies_free(struct bodies **bp);

/* Look for the body with this key. True: *out is that body, with its strings in the arena. False:
 * the caller must make the body, and then call bodies_put() or bodies_give_up() soon on the same
 * thread, because other threads wait for it. */
bool bodies_get(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], struct arena *a,
                struct body *out) NODISCARD;

/* Keep a body, with a hold of its own on the bytes. When there are too many bodies, or too many
 * bytes, the oldest bodies are dropped. */
void bodies_put(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], const struct body *made);

/* The caller has not made the body. The next thread that waits for it will make it. */
void bodies_give_up(struct bodies *b, const unsigned char key[BODIES_KEY_LEN]);

/* Forget all bodies, because they were made with other settings, also those that are being made:
 * they are not kept. */
void bodies_clear(struct bodies *b);
