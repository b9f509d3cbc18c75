/* api/views/shown.h - reads how much of its entries a view shows: the parameters content, chars,
 * fields and mirror. All requests that show entries read it here, so a parameter means the same in each. */
#pragma once

#include "api/http/ask.h"
#include "model/view.h"

/* Read it, for the format of the view, which is known. `fields` is not looked at if that is not
 * JSON. In the ask's arena. */
bool shown_read(struct ask *ask, struct view *view, struct problem *p) NODISCARD;
