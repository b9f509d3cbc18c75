/* base/clock.h - wall and monotonic time, replaceable in tests. Any thread.
 *
 * `..._at` is Unix time in seconds UTC, `..._us` in microseconds, `mono_...` monotonic.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/compiler.h"

#define TIME_UNKNOWN INT64_MIN

int64_t clock_now_s(void);
int64_t clock_now_us(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);

/* CLOCK_MONOTONIC time `wait_ms` from now; -1: a century. For pthread_cond_timedwait. */
struct timespec clock_mono_after_ms(int64_t wait_ms);

/* Tests: freeze wall time at `us` (0: the real clock again). */
void clock_fake_us(int64_t us);

/* Civil date of a Unix time, UTC, proleptic Gregorian, and back. Pure. */
struct civil {
    int64_t year;
    int month, day, hour, minute, second; /* 1..12, 1..31, 0..23, 0..59, 0..59 */
    int weekday;                          /* 0 = Monday */
    int yearday;                          /* 1..366 */
};
struct civil clock_civil(int64_t at);
int64_t clock_from_civil(int64_t year, int month, int day, int hour, int minute, int second);

/* Formats, NUL-terminated. RFC 9110 §5.6.7 IMF-fixdate; RFC 3339 in UTC with `Z`; RFC 822 with a
 * four-digit year and GMT. Years outside 0..9999 are clamped. */
#define CLOCK_TEXT 40
void clock_http_date(int64_t at, char out[CLOCK_TEXT]);
void clock_rfc3339(int64_t at, char out[CLOCK_TEXT]);
void clock_rfc3339_us(int64_t at_us, char out[CLOCK_TEXT]);
void clock_rfc822(int64_t at, char out[CLOCK_TEXT]);
