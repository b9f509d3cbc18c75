/* api/views/named.h - what the resources of /view share. */
#pragma once

#include "api/http/request.h"
#include "api/views/view_book.h"
#include "model/value.h"

/* The name in the path of /view/NAME; null: the path is /view itself. *p is set, and false is
 * returned, if it is not a name. Arena. */
bool named_read(const struct ask *ask, struct str *name, struct problem *p) NODISCARD;

/* What GET answers beside the parameters. */
#define NAMED_TOLD "name|self|created|changed|error"

/* Returns a view as JSON: its name, title and times, and each parameter that it has. */
struct value *named_shape(struct arena *a, const struct named_view *v, struct str origin);

/* Answer with JSON. `location`: null, or the value of that field. */
void named_reply(struct request *req, int status, const struct value *v, struct str location);

/* The parameters of a query, which are listed by PUT /view. */
const enum param_id *named_params(void);

/* Where a view is. */
struct str named_url(struct arena *a, struct str origin, struct str name);

/* GET /view/NAME: the merged feed (feed.c). */
void named_serve(struct request *req);
