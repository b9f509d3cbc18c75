/* storage/pg/fault.h - kinds of failures of PostgreSQL (storage/pg/faults.def). Pure; any thread.
 */
#pragma once

#include "base/err.h"

enum pg_fault {
#define FAULT(name, rc, sentence) PG_FAULT_##name,
#include "storage/pg/faults.def"
};

/* The kind of an SQLSTATE of five characters; NULL: the failure has none, so it is ours. */
enum pg_fault pg_fault_of(const char *sqlstate);

enum rc pg_fault_rc(enum pg_fault fault);

/* What it means, as the beginning of a sentence. */
const char *pg_fault_sentence(enum pg_fault fault);
