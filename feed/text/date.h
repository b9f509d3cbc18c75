/* feed/text/date.h - parses dates as feeds write them. Pure, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/value.h"

/* Parse a date of a feed to Unix seconds. False: no dialect fits. If the time of day is missing, it
 * is midnight; if the zone is missing, it is UTC. The result is in the years 1 to 9999. */
bool date_parse(struct str text, int64_t *at_out) NODISCARD;

/* Returns the fraction of a second in an RFC 3339 date, in microseconds; date_parse() drops it. 0:
 * there is none. */
int64_t date_fraction_us(struct str text);

/* Returns a UTC time (Unix seconds) as a list of nine numbers: year, month, day, hour, minute,
 * second, weekday (0 = Monday), day of the year (1 = January 1), 0. In the arena. */
struct value *date_nine(struct arena *a, int64_t at);

/* Returns the Unix seconds of such a list, from its first six numbers. TIME_UNKNOWN: the value is
 * not such a list. */
int64_t date_of_nine(const struct value *nine);
