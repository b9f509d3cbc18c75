/* storage/pg/fault.c - looks SQLSTATEs up. */
#include "storage/pg/fault.h"

#include <string.h>

#include "base/compiler.h"

static const struct {
    enum rc rc;
    const char *sentence;
} faults[] = {
#define FAULT(name, code, text) {RC_##code, text},
#include "storage/pg/faults.def"
};

static const struct {
    const char *beginning;
    enum pg_fault fault;
} states[] = {
#define STATE(beginning, name) {beginning, PG_FAULT_##name},
#include "storage/pg/faults.def"
};

enum pg_fault pg_fault_of(const char *sqlstate)
{
    enum pg_fault found = PG_FAULT_OTHER;
    size_t best = 0;

    for (size_t i = 0; sqlstate != NULL && i < ARRAY_LEN(states); i++) {
        size_t len = strlen(states[i].beginning);

        if (len > best && strncmp(sqlstate, states[i].beginning, len) == 0) {
            best = len;
            found = states[i].fault;
        }
    }
    return found;
}

enum rc pg_fault_rc(enum pg_fault fault)
{
    return faults[fault].rc;
}

const char *pg_fault_sentence(enum pg_fault fault)
{
    return faults[fault].sentence;
}
