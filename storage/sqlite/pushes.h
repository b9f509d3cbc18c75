/* storage/sqlite/pushes.h - what several feeds have for a subscription, from the calls for one
 * feed.
 *
 * All may give RC_IO. storage/engine.h says what they do.
 */
#pragma once

#include "storage/engine.h"

enum rc push_leads(struct db *db, const int64_t *feed_ids, size_t n, const struct subscription *sub,
                   struct arena *a, struct push_lead *out, struct err *err) NODISCARD;
enum rc push_run(struct db *db, const int64_t *feed_ids, size_t n, const struct subscription *sub,
                 size_t max, struct arena *a, int64_t *seqs, size_t *n_seqs,
                 struct feed_event **events, size_t *n_events, struct err *err) NODISCARD;
enum rc push_count_all(struct db *db, const int64_t *feed_ids, size_t n,
                       const struct subscription *sub, int64_t max, int64_t *out,
                       struct err *err) NODISCARD;
