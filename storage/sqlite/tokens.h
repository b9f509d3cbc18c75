/* storage/sqlite/tokens.h - statements of the table tokens. */
#pragma once

#include "storage/rows_tokens.h"
#include "storage/sqlite/db.h"

/* All of them, in order of their ids. Arena. */
enum rc tokens_all(struct db *db, struct arena *a, struct token **out, size_t *n_out,
                   struct err *err) NODISCARD;

enum rc tokens_count(struct db *db, int64_t *out, struct err *err) NODISCARD;

/* Hold the token with this id, if it is not held yet. */
enum rc held_token_load(struct db *db, struct rows *r, int64_t id, struct err *err) NODISCARD;
enum rc held_token_write(struct db *db, struct held *held, struct err *err) NODISCARD;
