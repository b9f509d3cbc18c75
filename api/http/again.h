/* api/http/again.h - a request that is handled again when this node has caught up with others. */
#pragma once

#include "api/http/request.h"

/* It is held, 4.5 s at most: a request is answered within 5 s. */
struct again {
    struct again *next; /* for lists of the holder */
};

/* Hold the request, to call `handle` for it later. The request's loop. */
struct again *again_take(struct request *req, request_handler_fn *handle);

/* Go on with it on its loop, unless it is over. Anything but RC_OK: it is answered with 503. *a is
 * given. Any thread. */
void again_post(struct again *a, enum rc rc);

/* The loops have ended: free it. */
void again_free(struct again *a);
