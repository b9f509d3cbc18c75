/* model/named_view.h - a view with a name, as it is stored: a question that somebody has defined
 * once, for all to ask. */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "model/access.h"

#define VIEW_NAME_MAX 64
#define VIEWS_MAX 1000               /* of all makers together */
#define VIEW_QUERY_MAX (256 * 1024)  /* bytes of a definition */
#define VIEW_USES_MAX 16             /* other views in one definition */
#define VIEW_DEPTH_MAX 8             /* of views that name views */

/* A row of `views`. */
struct named_view {
    struct str name;
    int64_t owner;         /* who made it: the id of a token, or OWNER_... */
    enum access_role role; /* of the maker then: whose subscriptions `folder` and `all` reach */
    struct str title;      /* null: none */
    struct str query;      /* its parameters, as a query: "url=...&q=..." */
    struct str uses;       /* the views that it names, with spaces between them */
    int64_t created_at, changed_at;
};
