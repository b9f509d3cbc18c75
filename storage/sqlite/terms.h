/* storage/sqlite/terms.h - statements of the tables terms and indexed (storage/engine.h). */
#pragma once

#include "storage/engine.h"

enum rc terms_place(struct db *db, struct index_place *out, struct err *err) NODISCARD;
enum rc terms_are_waste(struct db *db, const struct index_place *place, bool *out,
                        struct err *err) NODISCARD;
enum rc terms_find(struct db *db, const struct term_query *q, int64_t after, int64_t before,
                   size_t max, struct arena *scratch, int64_t *seqs, size_t *n_out,
                   struct err *err) NODISCARD;
enum rc terms_among(struct db *db, const struct term_query *q, const int64_t *seqs, size_t n,
                    struct arena *scratch, bool *out, struct err *err) NODISCARD;
enum rc revision_keys(struct db *db, const int64_t *seqs, size_t n, struct revision_key *out,
                      struct err *err) NODISCARD;

/* Within a transaction. RC_CONFLICT: the index is at another place. */
enum rc terms_add(struct db *db, const struct index_group *g, struct err *err) NODISCARD;

/* Empty the index at once if it is waste. It may take long: for a file that nobody else has open. */
enum rc terms_drop_waste(struct db *db, struct err *err) NODISCARD;
