/* storage/pg/check.h - looks whether a log in PostgreSQL keeps its rules. */
#pragma once

#include "storage/upkeep.h"

/* Of the calls there are check() and shown(): for the rest the server has programs. */
extern const struct upkeep_calls pg_upkeep;
