/* api/views/shapes.h - turns stored rows into JSON objects with the members that docs/api.md lists.
 * Pure. */
#pragma once

#include "api/http/config.h"
#include "model/feed.h"
#include "model/value.h"

/* Returns a text; null when it is missing. Bytes that are not UTF-8 become U+FFFD. */
struct value *shape_text(struct arena *a, struct str s);

struct value *shape_feed(struct arena *a, const struct feed *feed, const struct api_cfg *cfg);
/* Returns the stored folders of a feed as a list of names. */
struct value *shape_folder(struct arena *a, struct str stored);

struct value *shape_sub(struct arena *a, const struct subscription *sub);
