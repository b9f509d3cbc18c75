/* api/rights.h - when callers lose a right that they had. */
#pragma once

#include <stdint.h>

struct api;

/* A token was deleted, or a session has ended: it counts no more, and what waits for news with it
 * ends. Any thread. */
void rights_forget(struct api *api, int64_t token_id);

/* End what waits for news and may not go on, by what is known now. Any thread; it looks at all that
 * wait. */
void rights_look(struct api *api);
