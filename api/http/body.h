/* api/http/body.h - reads parameters from the body of a request: a form, or a JSON object. Pure. */
#pragma once

#include "api/http/params.h"
#include "model/value.h"

#define BODY_HAS_NUL "A text of the JSON body has the character U+0000, which no text may have."

/* Add the parameters of the body: of a form all, of a JSON object the members, which must be parameters that are listed and
 * have a JSON type that fits. `told`: names of members that are ignored, with '|' between them, because GET answers them
 * and clients put back what they have read; NULL: none. An empty body has no parameters.
 * bad-body, bad-parameter, unsupported-media-type: *p. */
bool body_params_add(struct params *ps, struct arena *a, struct str body, struct str content_type,
                     const char *told, struct problem *p) NODISCARD;

/* Is the name one of these, which have '|' between them? NULL: none. */
bool body_is_told(const char *told, struct str name);

/* Set *p to: the JSON body has a member that is not known. */
bool body_member_unknown(struct problem *p, struct arena *a, struct str name);

/* Add the value of a member; NULL and null: it has none. */
bool body_params_put(struct params *ps, struct arena *a, const char *name, const struct value *v,
                     struct problem *p) NODISCARD;
