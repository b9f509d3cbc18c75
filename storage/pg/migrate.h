/* storage/pg/migrate.h - migrate_run() between a file of SQLite and PostgreSQL. */
#pragma once

#include "storage/migrate.h"

/* `to_pg`: cfg->from is the file. */
enum rc pg_migrate(const struct migrate_cfg *cfg, bool to_pg, migrate_fn *fn, void *ctx,
                   struct err *err) NODISCARD;
