/* storage/sqlite/named_views.h - statements of the table views. */
#pragma once

#include "storage/rows_views.h"
#include "storage/sqlite/db.h"

/* All of them, in order of their names. Arena. */
enum rc named_views_all(struct db *db, struct arena *a, struct named_view **out, size_t *n_out,
                        struct err *err) NODISCARD;

/* Hold all of them that are not held yet. */
enum rc held_views_load(struct db *db, struct rows *r, struct err *err) NODISCARD;
enum rc held_view_write(struct db *db, struct held *held, struct err *err) NODISCARD;
