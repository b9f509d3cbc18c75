/* notifier/mask.h - takes the secrets of a subscription out of what its endpoint says. Endpoints
 * that show the request in their answer exist, and answers are kept and listed. Pure; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct push_job;

/* Returns the text with MASK in place of the password of the endpoint, also as it is sent by HTTP,
 * and of the values of the subscription's own fields, also without the scheme before them ("Bearer
 * TOKEN"), and all of these in JSON or percent-encoded. Secrets that overlap or touch become one MASK.
 * Secrets of less than 4 bytes are masked where they are a whole word. Null stays null. The text,
 * or a copy in `a`. */
#define MASK STR("***")
struct str mask_secrets(struct arena *a, const struct push_job *job, struct str text);
