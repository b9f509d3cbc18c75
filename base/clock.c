/* base/clock.c - time and calendar; the conversion of days is Howard Hinnant's days_from_civil. */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"

static _Atomic int64_t fake_us, ahead_us;
static atomic_bool jumps;

/* The time of a real clock, in microseconds, and what is added to it. */
static int64_t now_us(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 + clock_ahead_us();
}

int64_t clock_now_us(void)
{
    int64_t fake = atomic_load_explicit(&fake_us, memory_order_relaxed);

    return fake != 0 ? fake : now_us(CLOCK_REALTIME);
}

int64_t clock_now_s(void)
{
    return clock_now_us() / 1000000;
}

int64_t clock_mono_us(void)
{
    return now_us(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

int64_t clock_steady_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct timespec clock_mono_after_ms(int64_t wait_ms)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    if (wait_ms < 0)
        wait_ms = (int64_t)100 * 365 * 86400 * 1000;
    ts.tv_sec += (time_t)(wait_ms / 1000);
    ts.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    return ts;
}

void clock_fake_us(int64_t us)
{
    atomic_store(&fake_us, us);
}

void clock_set_ahead_us(int64_t us)
{
    atomic_store(&ahead_us, us);
    atomic_store(&jumps, true);
}

int64_t clock_ahead_us(void)
{
    return atomic_load_explicit(&ahead_us, memory_order_relaxed);
}

bool clock_jumps(void)
{
    return atomic_load(&jumps);
}

static int64_t days_from_civil(int64_t y, int m, int d)
{
    int64_t era, yoe, doy;

    y -= m <= 2;
    era = (y >= 0 ? y : y - 399) / 400;
    yoe = y - era * 400;
    doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

int64_t clock_from_civil(int64_t year, int month, int day, int hour, int minute, int second)
{
    return days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

struct civil clock_civil(int64_t at)
{
    struct civil c;
    int64_t days = at / 86400, rest = at % 86400;
    int64_t z, era, doe, yoe, doy, mp;

    if (rest < 0) {
        rest += 86400;
        days--;
    }
    z = days + 719468;
    era = (z >= 0 ? z : z - 146096) / 146097;
    doe = z - era * 146097;
    yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    mp = (5 * doy + 2) / 153;
    c.day = (int)(doy - (153 * mp + 2) / 5 + 1);
    c.month = (int)(mp < 10 ? mp + 3 : mp - 9);
    c.year = yoe + era * 400 + (c.month <= 2);
    c.hour = (int)(rest / 3600);
    c.minute = (int)(rest / 60 % 60);
    c.second = (int)(rest % 60);
    c.weekday = (int)(((days % 7) + 10) % 7);
    c.yearday = (int)(days - days_from_civil(c.year, 1, 1) + 1);
    return c;
}

static const char *const month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const day_names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static struct civil printable(int64_t at)
{
    const int64_t lo = clock_from_civil(0, 1, 1, 0, 0, 0);
    const int64_t hi = clock_from_civil(9999, 12, 31, 23, 59, 59);

    return clock_civil(at < lo ? lo : at > hi ? hi : at);
}

void clock_http_date(int64_t at, char out[CLOCK_TEXT])
{
    struct civil c = printable(at);
    char *end = stpcpy(out, day_names[c.weekday]);

    end = stpcpy(end, ", ");
    end = digits_pad(end, 2, (unsigned)c.day);
    *end++ = ' ';
    end = stpcpy(end, month_names[c.month - 1]);
    *end++ = ' ';
    end = digits_pad(end, 4, (unsigned)c.year);
    *end++ = ' ';
    end = digits_pad(end, 2, (unsigned)c.hour);
    *end++ = ':';
    end = digits_pad(end, 2, (unsigned)c.minute);
    *end++ = ':';
    end = digits_pad(end, 2, (unsigned)c.second);
    strcpy(end, " GMT");
}

void clock_rfc822(int64_t at, char out[CLOCK_TEXT])
{
    clock_http_date(at, out);
}

/* Write "2024-01-31T12:00:00". Returns what follows it. */
static char *write_seconds(int64_t at, char *out)
{
    struct civil c = printable(at);
    const struct {
        int n;
        char after;
    } parts[] = {{c.month, '-'}, {c.day, 'T'}, {c.hour, ':'}, {c.minute, ':'}};

    out = digits_pad(out, 4, (unsigned)c.year);
    *out++ = '-';
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        out = digits_pad(out, 2, (unsigned)parts[i].n);
        *out++ = parts[i].after;
    }
    return digits_pad(out, 2, (unsigned)c.second);
}

void clock_rfc3339(int64_t at, char out[CLOCK_TEXT])
{
    memcpy(write_seconds(at, out), "Z", sizeof "Z");
}

void clock_rfc3339_us(int64_t at_us, char out[CLOCK_TEXT])
{
    int64_t s = at_us / 1000000, us = at_us % 1000000;
    char *p;

    if (us < 0) {
        us += 1000000;
        s--;
    }
    p = write_seconds(s, out);
    *p++ = '.';
    memcpy(digits_pad(p, 6, (unsigned)us), "Z", sizeof "Z");
}
