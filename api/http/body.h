/* api/http/body.h - reads parameters from the body of a request: a form, or a JSON object. Pure. */
#pragma once

#include "api/http/params.h"
#include "model/value.h"

#define BODY_HAS_NUL "A text of the JSON body has the character U+0000, which no text may have."

/* Add the parameters of the body: of a form all, of a JSON object the members that are listed. The
 * value of a member is a text, a whole number, a boolean, or an array of these. An empty body has none.
 * bad-body, unsupported-media-type: *p. */
bool body_params_add(struct params *ps, struct arena *a, struct str body, struct str content_type,
                     struct problem *p) NODISCARD;

/* Add the value of a member; NULL and null: it has none. */
bool body_params_put(struct params *ps, struct arena *a, const char *name, const struct value *v,
                     struct problem *p) NODISCARD;
