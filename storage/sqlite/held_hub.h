/* storage/sqlite/held_hub.h - what SQLite loads and writes of rows of hubs (storage/rows_hub.h). */
#pragma once

#include "storage/rows_hub.h"
#include "storage/sqlite/db.h"
#include "storage/wants.h"

/* Hold what is wanted. */
enum rc held_hub_load(struct db *db, struct rows *r, const struct wants *w,
                      struct err *err) NODISCARD;

/* Hold the lease of a subscription, or that it has none, if that is not held yet. */
enum rc held_lease_load(struct db *db, struct rows *r, int64_t sub_id, struct err *err) NODISCARD;

/* Write a row that was touched. */
enum rc held_intent_write(struct db *db, struct held *row, struct err *err) NODISCARD;
enum rc held_lease_write(struct db *db, struct held *row, struct err *err) NODISCARD;
