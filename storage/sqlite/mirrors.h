/* storage/sqlite/mirrors.h - statements of the tables mirrors and mirrored (storage/mirrors.h). */
#pragma once

#include "storage/mirrors.h"
#include "storage/sqlite/db.h"

/* As the reading calls of storage/engine.h. */
enum rc mirrors_of(struct db *db, const struct str *keys, size_t n, struct arena *a,
                   struct mirrored **out, size_t *n_out, struct err *err) NODISCARD;
enum rc mirrors_first(struct db *db, enum mirror_list list, int64_t until, size_t skip, size_t max,
                      struct arena *a, struct mirrored **out, size_t *n_out,
                      struct err *err) NODISCARD;
enum rc mirrors_file(struct db *db, struct str sha256, struct arena *a, struct mirrored *out,
                     struct err *err) NODISCARD;
enum rc mirrors_place(struct db *db, int64_t *seq, int64_t *bytes, struct err *err) NODISCARD;
enum rc mirrors_entries(struct db *db, int64_t after, int64_t to, struct arena *a,
                        struct mirror_entry **out, size_t *n_out, struct err *err) NODISCARD;
enum rc mirrors_wish(struct db *db, struct str key, struct arena *a, struct mirror_wish *out,
                     struct err *err) NODISCARD;
enum rc mirrors_looks(struct db *db, struct str after, size_t max, struct arena *a,
                      struct mirror_look **out, size_t *n_out, struct err *err) NODISCARD;

/* Carry out the change, inside a transaction. */
enum rc mirrors_write(struct db *db, const struct mirror_change *c, struct err *err) NODISCARD;
