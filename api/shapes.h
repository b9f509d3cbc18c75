/* api/shapes.h - stored records as JSON objects, as docs/api.md lists their members. Pure. */
#pragma once

#include "api/api.h"
#include "model/feed.h"
#include "model/value.h"

/* RFC 3339 text, or null for TIME_UNKNOWN. */
struct value *shape_time(struct arena *a, int64_t at);

/* A text, or null for an absent one; what is no UTF-8 in it becomes U+FFFD. */
struct value *shape_text(struct arena *a, struct str s);

struct value *shape_feed(struct arena *a, const struct feed_record *rec, const struct api_cfg *cfg);
/* The stored folders of a feed as a list of names. */
struct value *shape_folder(struct arena *a, struct str stored);

struct value *shape_sub(struct arena *a, const struct subscription *sub);

/* A revision without its document. `url`: its feed's. */
struct value *shape_revision(struct arena *a, const struct revision *rev, struct str url,
                             struct str log_id);
