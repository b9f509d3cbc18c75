/* base/process.h - what the kernel says of this process (base/process.def). Any thread. */
#pragma once

#include "base/stats.h"

enum process_id {
#define PROCESS(name, kind, meaning) PROCESS_##name,
#include "base/process.def"
#undef PROCESS
    PROCESS_COUNT_
};

/* The present values, by enum process_id. What the kernel does not tell is 0. It reads one
 * small file of /proc, which takes some microseconds. */
void process_read(double out[PROCESS_COUNT_]);

/* The columns of base/process.def, for /metrics and the documentation. */
const char *process_name(enum process_id id);
const char *process_meaning(enum process_id id);
enum stat_kind process_kind(enum process_id id);
