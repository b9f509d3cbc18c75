/* api/views/cursor_find.h - finds the position of a cursor_spec in a view. It needs a reader, so it
 * runs only on reader threads and workers. */
#pragma once

#include "api/views/cursor_spec.h"
#include "model/view.h"
#include "storage/store.h"

/* Turn a cursor into an exclusive bound of the seq by which the view is ordered. With `since`, the
 * bound is for the rows after the cursor in the view's order (older rows if the order descends);
 * otherwise for the rows before it. Only feeds and order of `view` are used. CURSOR_NONE: no bound.
 * RC_NOT_FOUND: there is no item with the id. */
enum rc cursor_find(struct reader *r, const struct cursor_spec *cursor, const struct view *view,
                    bool since, int64_t *bound, struct err *err) NODISCARD;
