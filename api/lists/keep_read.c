/* api/lists/keep_read.c - see keep_read.h. */
#include "api/lists/keep_read.h"

#include "base/age.h"

/* The value as a change: whole from 0 to `max`. Ages may have a unit. */
static bool read_number(struct str value, bool is_age, int64_t max, int64_t *out)
{
    int64_t n;

    if (str_is_null(value))
        return true;
    if (value.len == 0) {
        *out = KEEP_NONE;
        return true;
    }
    if (!(is_age && age_read(value, &n)) && !str_to_i64(value, &n))
        return false;
    *out = n == 0 ? KEEP_ALL : n;
    return n >= 0 && n <= max;
}

bool keep_read(const struct params *ps, struct arena *a, struct keep *change, struct problem *p)
{
    struct str age, entries;

    *change = (struct keep){.age_s = 0};
    if (!params_one(ps, a, PARAM_keep, &age, p) ||
        !params_one(ps, a, PARAM_keep_entries, &entries, p))
        return false;
    if (!read_number(str_trim(age), true, AGE_MAX, &change->age_s))
        return problem_parameter(p, a, "keep", age, NULL,
                                 "The parameter `keep` must be an age as 90s, 30m, 36h, 7d or 2w, "
                                 "at most a hundred years, or 0 for everything.");
    if (!read_number(str_trim(entries), false, KEEP_ENTRIES_MAX, &change->entries))
        return problem_parameter(p, a, "keep_entries", entries, NULL,
                                 "The parameter `keep_entries` must be a whole number up to %d, or "
                                 "0 for everything.",
                                 KEEP_ENTRIES_MAX);
    return true;
}
