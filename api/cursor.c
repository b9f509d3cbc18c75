/* api/cursor.c - "fm1.<eight hex digits of the log's id>.<seq>.<event time, microseconds>". */
#include "api/cursor.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

#define CURSOR_PREFIX "fm1."
#define LOG_DIGITS 8
#define MAX_S INT64_C(253402300799) /* the end of year 9999 */

void cursor_write(char out[CURSOR_TEXT], struct str log_id, int64_t seq, int64_t at_us)
{
    snprintf(out, CURSOR_TEXT, CURSOR_PREFIX "%.*s.%" PRId64 ".%" PRId64,
             (int)(log_id.len < LOG_DIGITS ? log_id.len : LOG_DIGITS), log_id.ptr, seq, at_us);
}

/* Two or more digits at s[*i...], which must be there; moves *i. */
static bool digits(struct str s, size_t *i, size_t n, int *out)
{
    *out = 0;
    for (size_t k = 0; k < n; k++, (*i)++) {
        if (*i >= s.len || s.ptr[*i] < '0' || s.ptr[*i] > '9')
            return false;
        *out = *out * 10 + (s.ptr[*i] - '0');
    }
    return true;
}

static bool literal(struct str s, size_t *i, const char *any)
{
    return *i < s.len && s.ptr[*i] != '\0' && strchr(any, s.ptr[(*i)++]) != NULL;
}

bool rfc3339_read(struct str s, int64_t *at_us)
{
    int year, month, day, hour = 0, minute = 0, second = 0, zone_h = 0, zone_m = 0;
    int64_t us = 0, zone_s = 0;
    size_t i = 0;

    if (!digits(s, &i, 4, &year) || !literal(s, &i, "-") || !digits(s, &i, 2, &month) ||
        !literal(s, &i, "-") || !digits(s, &i, 2, &day))
        return false;
    if (i < s.len) { /* a date alone is its first moment, UTC */
        if (!literal(s, &i, "Tt ") || !digits(s, &i, 2, &hour) || !literal(s, &i, ":") ||
            !digits(s, &i, 2, &minute) || !literal(s, &i, ":") || !digits(s, &i, 2, &second))
            return false;
        if (i < s.len && s.ptr[i] == '.') {
            int64_t unit = 100000;

            for (i++; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++, unit /= 10)
                us += (s.ptr[i] - '0') * unit;
        }
        if (i >= s.len)
            return false;
        if (s.ptr[i] == 'Z' || s.ptr[i] == 'z') {
            i++;
        } else {
            /* an unescaped '+' of a query has become a space */
            int sign = s.ptr[i] == '-' ? -1 : 1;

            if (!literal(s, &i, "+- ") || !digits(s, &i, 2, &zone_h) || !literal(s, &i, ":") ||
                !digits(s, &i, 2, &zone_m))
                return false;
            zone_s = sign * (zone_h * 3600 + zone_m * 60);
        }
    }
    if (i != s.len || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 60 || zone_h > 23 || zone_m > 59)
        return false;
    *at_us = (clock_from_civil(year, month, day, hour, minute, second) - zone_s) * 1000000 + us;
    return true;
}

bool cursor_read(struct str text, struct str *log, int64_t *seq, int64_t *at_us)
{
    struct str rest = text;

    if (!str_starts(text, STR(CURSOR_PREFIX)))
        return false;
    rest = str_slice(text, sizeof(CURSOR_PREFIX) - 1, text.len);
    *log = str_split(&rest, '.');
    if (str_is_null(rest) || !str_to_i64(str_split(&rest, '.'), seq) || str_is_null(rest))
        return false;
    return str_to_i64(rest, at_us) && *seq >= 0 && *at_us >= 0;
}

bool position_read(struct arena *a, const char *parameter, struct str text, struct str log_id,
                   int64_t last_seq, bool allow_seq, struct position *out, struct problem *p)
{
    bool timed = str_starts(text, STR("time:"));
    struct str time = timed ? str_slice(text, 5, text.len) : text, log;
    int64_t n, at_us;

    if (str_eqz(text, "start")) {
        *out = (struct position){.kind = POSITION_SEQ, .seq = 0};
        return true;
    }
    if (str_eqz(text, "end")) {
        *out = (struct position){.kind = POSITION_SEQ, .seq = last_seq};
        return true;
    }
    if (cursor_read(text, &log, &n, &at_us)) {
        if (str_eq(log, str_slice(log_id, 0, LOG_DIGITS)) && n <= last_seq)
            *out = (struct position){.kind = POSITION_SEQ, .seq = n};
        else
            *out = (struct position){.kind = POSITION_TIME, .at_us = at_us};
        return true;
    }
    if (str_to_i64(time, &n) && n >= 0 && n <= MAX_S) {
        if (!allow_seq || timed) {
            *out = (struct position){.kind = POSITION_TIME, .at_us = n * 1000000};
            return true;
        }
        *out = (struct position){.kind = POSITION_SEQ, .seq = n};
        if (n <= last_seq)
            return true;
        /* of another log, or a slip: who waited there would miss what comes before */
        problem_parameter(p, a, parameter, text, NULL,
                          "The parameter `%s` is a seq behind the end of the log, which is %lld.",
                          parameter, (long long)last_seq);
        p->kind = PROBLEM_BAD_POSITION;
        return false;
    }
    if (rfc3339_read(time, &at_us)) {
        *out = (struct position){.kind = POSITION_TIME, .at_us = at_us};
        return true;
    }
    problem_parameter(p, a, parameter, text, NULL,
                      "The parameter `%s` is neither `start`, `end`, a cursor%s, a Unix time in "
                      "seconds, nor an RFC 3339 time.",
                      parameter, allow_seq ? ", a seq" : "");
    p->kind = PROBLEM_BAD_POSITION;
    return false;
}
