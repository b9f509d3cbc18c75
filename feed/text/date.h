/* feed/text/date.h - the dates of feeds in all their dialects. Pure, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/value.h"

/* Unix seconds of a date as written in a feed; false when no dialect fits. A missing time of day is
 * midnight, a missing zone UTC; the result lies in the years 1 to 9999. */
bool date_parse(struct str text, int64_t *at_out) NODISCARD;

/* The fraction of a second in a date of RFC 3339, which date_parse() drops: microseconds, 0 when
 * there is none. */
int64_t date_fraction_us(struct str text);

/* The nine numbers of a UTC time: year, month, day, hour, minute, second, weekday (0 = Monday), day
 * of the year (1 = January 1), 0. */
struct value *date_nine(struct arena *a, int64_t at);

/* Back again, from the first six of them; TIME_UNKNOWN when the value is not such a list. */
int64_t date_of_nine(const struct value *nine);
