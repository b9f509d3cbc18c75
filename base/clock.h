/* base/clock.h - wall and monotonic time, and dates as text. Any thread.
 *
 * A name that ends in `_at` is Unix time in seconds, one that ends in `_at_us` in microseconds. A
 * name with `mono_` is monotonic time, which can only be compared with other monotonic times.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"

#define TIME_UNKNOWN INT64_MIN /* in place of a time that is not known; NULL in the database */

/* Wall time: Unix time in seconds, and in microseconds. */
int64_t clock_now_s(void);
int64_t clock_now_us(void);

/* Monotonic time in milliseconds, and in microseconds. */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);

/* The same as clock_mono_ms(), without what clock_set_ahead_us() adds: for leases, which another
 * machine counts, too. */
int64_t clock_steady_ms(void);

/* The time of the real CLOCK_MONOTONIC `wait_ms` milliseconds from now, for
 * pthread_cond_timedwait(). If `wait_ms` is negative, the time is a century from now. */
struct timespec clock_mono_after_ms(int64_t wait_ms);

/* For tests: stop wall time at `us`, in microseconds. 0: use the real clock again. */
void clock_fake_us(int64_t us);

/* For tests of a whole daemon: from now on wall and monotonic time are ahead of the real clocks by
 * so many microseconds, or behind them if it is negative. */
void clock_set_ahead_us(int64_t us);
int64_t clock_ahead_us(void);

/* Has clock_set_ahead_us() been called? Then time may jump, and a wait for a time must be looked at
 * again each second. */
bool clock_jumps(void);

/* The date and time of day of a Unix time, and back: UTC, proleptic Gregorian calendar. Pure.
 * clock_from_civil() does not check its arguments: 31 February becomes a day in March. */
struct civil {
    int64_t year;
    int month, day, hour, minute, second; /* 1..12, 1..31, 0..23, 0..59, 0..59 */
    int weekday;                          /* 0 = Monday */
    int yearday;                          /* 1..366 */
};
struct civil clock_civil(int64_t at);
int64_t clock_from_civil(int64_t year, int month, int day, int hour, int minute, int second);

/* Write a time to `out` as NUL-terminated text, in UTC. A time outside the years 0 to 9999 is
 * replaced by the nearest time inside. Pure.
 *
 * clock_http_date    IMF-fixdate of RFC 9110 §5.6.7: Sun, 06 Nov 1994 08:49:37 GMT
 * clock_rfc3339      RFC 3339: 1994-11-06T08:49:37Z
 * clock_rfc3339_us   the same with microseconds; `at_us` is in microseconds
 * clock_rfc822       RFC 822 with a year of four digits
 */
#define CLOCK_TEXT 40
void clock_http_date(int64_t at, char out[CLOCK_TEXT]);
void clock_rfc3339(int64_t at, char out[CLOCK_TEXT]);
void clock_rfc3339_us(int64_t at_us, char out[CLOCK_TEXT]);
void clock_rfc822(int64_t at, char out[CLOCK_TEXT]);
