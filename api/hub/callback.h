/* api/hub/callback.h - what the callbacks for publishers' hubs (/websub/{token}) and clouds
 * (/notify/{token}) have in common.
 *
 * They need no token of ours, because hubs and clouds do not have one. The 160 random bits in the
 * path decide who may call. The answer is sent when the result is on disk. */
#pragma once

#include "api/http/request.h"

/* Begin a call below `path`: check the rate of the caller, and get the token. False: the request
 * has been answered. */
bool callback_begin(struct request *req, const char *path, struct str *token) NODISCARD;

struct callback_wait;

/* Hold the request until its verdict is known. `body` (in the request's arena, or null: empty) and
 * its media type (a constant) are the answer to VERDICT_TAKEN. */
struct callback_wait *callback_wait_new(struct request *req, const char *media_type,
                                        struct str body);

/* An upstream_done_fn: `ctx` is a callback_wait. */
void callback_done(void *ctx, enum upstream_verdict verdict);

/* What the port has returned for the wait: answer at once, unless the verdict is pending. */
void callback_end(struct request *req, struct callback_wait *w, enum upstream_verdict verdict);
