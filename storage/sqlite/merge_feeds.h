/* storage/sqlite/merge_feeds.h - two feeds become one, in one call. */
#pragma once

#include "storage/engine.h"

/* As writes->merge_feeds(). */
enum rc merge_feeds(struct db *db, const struct feed *from, const struct feed *to, bool with_heads,
                    struct arena *a, struct merged_feeds *out, struct err *err) NODISCARD;
