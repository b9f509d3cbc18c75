/* storage/sqlite/seal_feeds.h - the secrets of feeds that are in plain are sealed. */
#pragma once

#include "storage/sqlite/db.h"

struct seal_key;

/* As writes->seal() (storage/engine.h). What was in plain is overwritten in the file. */
enum rc seal_feeds(struct db *db, const struct seal_key *key, struct err *err) NODISCARD;
