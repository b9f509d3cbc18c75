/* storage/sqlite/retain.h - statements of retention: what is old, and its removal. */
#pragma once

#include "storage/engine.h"

/* As the calls of the same names in storage/engine.h. */
enum rc old_revisions(struct db *db, int64_t feed_id, int64_t after, int64_t limit, size_t max,
                      struct arena *a, struct old_revisions *out, struct err *err) NODISCARD;
enum rc take_revisions(struct db *db, int64_t feed_id, const struct taken *what, int64_t now,
                       struct err *err) NODISCARD;
enum rc gone_feeds(struct db *db, int64_t after, int64_t before, size_t max, int64_t *ids,
                   size_t *n, struct err *err) NODISCARD;
enum rc gone_entries(struct db *db, int64_t feed_id, const struct gone_entry *after, int64_t before,
                     size_t max, struct arena *a, struct gone_entry **out, size_t *n,
                     struct err *err) NODISCARD;
enum rc end_entries(struct db *db, int64_t feed_id, const struct ended *what, int64_t now,
                    struct err *err) NODISCARD;

enum rc keep_wishes(struct db *db, int64_t after, size_t max, bool all, struct keep_wishes *out,
                    size_t *n, struct err *err) NODISCARD;

/* As reads->horizon(). */
enum rc feeds_horizon(struct db *db, const int64_t *ids, size_t n, bool all,
                      struct log_horizon *out, struct err *err) NODISCARD;
