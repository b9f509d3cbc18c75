/* storage/sqlite/forget_feed.h - a feed and all that it has go. */
#pragma once

#include "storage/engine.h"

/* As writes->forget_feed(). */
enum rc forget_feed(struct db *db, int64_t id, struct arena *a, int64_t **subs, size_t *n_subs,
                    struct err *err) NODISCARD;
