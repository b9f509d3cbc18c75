/* storage/pg/seal_feeds.h - the secrets of feeds that are in plain are sealed. */
#pragma once

#include "storage/pg/link.h"

struct seal_key;

/* As writes->seal() (storage/engine.h). The server keeps the old rows until it cleans the table
 * (VACUUM). */
enum rc pg_seal_feeds(struct pg_link *l, const struct seal_key *key, struct err *err) NODISCARD;
