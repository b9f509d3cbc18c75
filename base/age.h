/* base/age.h - ages, as people write them: 90s, 30m, 36h, 7d, 2w. Pure. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define AGE_MAX ((int64_t)100 * 366 * 86400)

/* Read an age, a whole number with one unit, into *s, seconds. False: it is none, or above AGE_MAX.
 */
bool age_read(struct str text, int64_t *s) NODISCARD;
