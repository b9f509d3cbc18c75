/* api/http/token_terms.h - what is said when a token is made. Pure, but for random bytes; any
 * thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "model/access.h"

/* Read the terms of a token; `rate` and `expires` may be null. RC_INPUT: *err says what is wrong,
 * and *wrong names it. The name is borrowed. */
enum rc token_terms_read(struct str name, struct str role, struct str rate, struct str expires,
                         struct token *out, const char **wrong, struct err *err) NODISCARD;

/* Make the token itself, and set t->digest. Arena. SECRET. */
struct str token_make(struct arena *a, struct token *t);
