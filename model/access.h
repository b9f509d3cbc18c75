/* model/access.h - roles and tokens: which caller may ask for what. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum access_role {
#define ROLE(id, name, what) ROLE_##id,
#include "model/roles.def"
#undef ROLE
    ROLES
};

#define TOKEN_NAME_MAX 200 /* bytes */
#define TOKEN_RATE_MAX 1000000
#define TOKENS_MAX 10000
#define TOKEN_PREFIX "fm_"
#define TOKEN_BYTES 32 /* random ones, after the prefix in base64url */

/* Who made a subscription, beside the ids of tokens. */
#define OWNER_ANONYMOUS INT64_C(0)
#define OWNER_OPTION INT64_C(-1) /* the token of --token */
/* Somebody on the server's own machine, while there were no tokens. What was made before there were
 * owners has this one, too. */
#define OWNER_LOCAL INT64_C(-2)

/* A row of `tokens`. */
struct token {
    int64_t id;
    struct str name;
    enum access_role role;
    int64_t rate;       /* requests a minute; 0: no bound */
    int64_t expires_at; /* TIME_UNKNOWN: never */
    int64_t created_at;
    int64_t used_at;   /* last use, to a minute or so; TIME_UNKNOWN: never */
    struct str digest; /* SHA-256 of the token, 64 hex digits */
    int64_t session_of; /* a browser signed in with the token of this id, or with OWNER_OPTION; 0: it
                           is not a session */
};

/* The name of a role; the role of a name. */
const char *role_name(enum access_role role);
bool role_read(struct str name, enum access_role *out);
