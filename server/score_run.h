/* server/score_run.h - lets a fetcher live through simulated days, and records what it asks.
 */
#pragma once

#include "base/err.h"
#include "score/record.h"

struct score_plan {
    int64_t days;
    double speed;      /* of the clock, if the fetcher does not follow it */
    char *const *argv; /* the fetcher; ends with NULL. NULL: this program */
};

/* Run it to its end. *rec gets a sorted record, also after an error; release it. Main thread. */
enum rc score_run(const struct score_plan *plan, struct score_record *rec,
                  struct err *err) NODISCARD;
