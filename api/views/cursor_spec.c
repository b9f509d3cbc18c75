/* api/views/cursor_spec.c - see cursor_spec.h. Sources: Smart Feeds, "Position Specs" and
 * "Cursors"; RFC 3339. */
#include "api/views/cursor_spec.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

#define MAX_S INT64_C(253402300799) /* the end of year 9999 */

/* Read exactly `n` digits at s[*i], and move *i after them. */
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

/* Read an RFC 3339 date and time, or only a date, as microseconds. */
static bool read_rfc3339(struct str s, int64_t *at_us)
{
    int year, month, day, hour = 0, minute = 0, second = 0, zone_h = 0, zone_m = 0;
    int64_t us = 0, zone_s = 0;
    size_t i = 0;

    if (!digits(s, &i, 4, &year) || !literal(s, &i, "-") || !digits(s, &i, 2, &month) ||
        !literal(s, &i, "-") || !digits(s, &i, 2, &day))
        return false;
    if (i < s.len) { /* a date without time means its beginning, in UTC */
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
            /* in a query, an unescaped '+' has become a space */
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

static bool read_seconds(struct str s, int64_t *out)
{
    return str_to_i64(s, out) && *out >= 0 && *out <= MAX_S;
}

static void set_time(struct cursor_spec *out, int64_t from_us)
{
    out->kind = CURSOR_TIME;
    out->from_us = from_us;
    /* without a fraction it means the whole second */
    out->to_us = from_us % 1000000 == 0 ? from_us + 999999 : from_us;
}

static bool read_time(struct str s, struct cursor_spec *out)
{
    int64_t n;

    if (read_seconds(s, &n))
        n *= 1000000;
    else if (!read_rfc3339(s, &n))
        return false;
    set_time(out, n);
    return true;
}

static bool is_edition(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(s.ptr[i] >= '0' && s.ptr[i] <= '9') && !(s.ptr[i] >= 'a' && s.ptr[i] <= 'f'))
            return false;
    return s.len == CURSOR_EDITION_LEN;
}

/* Read fm1.LOG.SEQ.TIME or fm1.LOG.SEQ-FLOOR.TIME, and .EDITION. */
static bool read_token(struct str s, const struct cursor_log *log, struct cursor_spec *out)
{
    struct str rest = s, made_by, time, floor_text;
    int64_t seq, floor = 0, at_us;

    if (!str_starts(s, STR(CURSOR_PREFIX)))
        return false;
    rest = str_slice(s, sizeof CURSOR_PREFIX - 1, s.len);
    made_by = str_split(&rest, '.');
    if (str_is_null(rest))
        return false;
    floor_text = str_split(&rest, '.');
    if (!str_to_i64(str_split(&floor_text, '-'), &seq) || str_is_null(rest) ||
        (!str_is_null(floor_text) && (!str_to_i64(floor_text, &floor) || floor <= seq)))
        return false;
    time = str_split(&rest, '.');
    if (!str_to_i64(time, &at_us) || seq < 0 || at_us < 0 ||
        (!str_is_null(rest) && !is_edition(rest)))
        return false;
    out->edition = rest;
    if (str_eq(made_by, str_slice(log->id, 0, CURSOR_LOG_DIGITS)) && seq <= log->last_seq &&
        floor <= log->last_seq) {
        out->kind = CURSOR_SEQ;
        out->seq = seq;
        out->floor = floor;
    } else {
        out->kind = CURSOR_TIME;
        out->from_us = out->to_us = at_us;
    }
    return true;
}

/* Read T_O_C. */
static bool read_group(struct str s, struct cursor_spec *out)
{
    struct str rest = s;
    int64_t t, offset, check;

    if (!read_seconds(str_split(&rest, '_'), &t) || str_is_null(rest) ||
        !str_to_i64(str_split(&rest, '_'), &offset) || str_is_null(rest) ||
        !str_to_i64(rest, &check) || offset < 0 || check < 0 || check > UINT32_MAX)
        return false;
    set_time(out, t * 1000000);
    out->kind = CURSOR_GROUP;
    out->offset = offset;
    out->check = (uint32_t)check;
    return true;
}

static bool refuse(struct problem *p, struct arena *a, const char *parameter, struct str text,
                   const char *why)
{
    problem_parameter(p, a, parameter, text, NULL, "The parameter `%s` %s", parameter, why);
    p->kind = PROBLEM_BAD_POSITION;
    return false;
}

/* Read a position with a type before it. *typed: it has a type that we know. */
static const char *read_typed(struct str text, unsigned forms, const struct cursor_log *log,
                              struct cursor_spec *out, bool *typed)
{
    struct str value = text, type = str_split(&value, ':');
    bool has_items = (forms & CURSOR_TAKES_ITEMS) != 0;

    *typed = !str_is_null(value);
    if (*typed && has_items && str_eqz(type, "cursor")) {
        out->token = value;
        if (value.len == 0) { /* before the first item (D27) */
            out->kind = CURSOR_SEQ;
            return NULL;
        }
        return read_token(value, log, out) || read_group(value, out)
                   ? NULL
                   : "has a cursor that this server did not give.";
    }
    if (*typed && str_eqz(type, "time"))
        return read_time(value, out) ? NULL
                                     : "has a time that is not Unix seconds or an RFC 3339 date.";
    if (*typed && has_items && str_eqz(type, "id")) {
        out->kind = CURSOR_ITEM;
        out->id = value;
        return value.len > 0 ? NULL : "has an empty id.";
    }
    *typed = false;
    return NULL;
}

static bool read_plain(struct str text, unsigned forms, const struct cursor_log *log,
                       struct cursor_spec *out)
{
    if (str_eqz(text, "start") || str_eqz(text, "end")) {
        out->kind = CURSOR_SEQ;
        out->seq = str_eqz(text, "end") ? log->last_seq : 0;
        return true;
    }
    if ((forms & CURSOR_TAKES_SEQ) != 0 && read_seconds(text, &out->seq)) {
        out->kind = CURSOR_SEQ;
        return true;
    }
    return read_token(text, log, out) || read_time(text, out);
}

static bool read_spec(struct arena *a, const char *parameter, struct str text, unsigned forms,
                      const struct cursor_log *log, struct cursor_spec *out, struct problem *p)
{
    const char *why;
    bool typed;

    *out =
        (struct cursor_spec){.given = text, .token = STR_NULL, .id = STR_NULL, .edition = STR_NULL};
    if (str_is_null(text))
        return true;
    why = read_typed(text, forms, log, out, &typed);
    if (typed)
        return why == NULL || refuse(p, a, parameter, text, why);
    if ((forms & CURSOR_TAKES_PLAIN) == 0)
        return refuse(p, a, parameter, text,
                      "must be a position: `cursor:`, `time:` or `id:`, and a value.");
    if (!read_plain(text, forms, log, out))
        return refuse(
            p, a, parameter, text,
            (forms & CURSOR_TAKES_SEQ) != 0
                ? "must be `start`, `end`, a cursor, a seq, or a time after `time:` (Unix "
                  "seconds or RFC 3339)."
                : "must be `start`, `end`, a cursor, or a time (Unix seconds or RFC "
                  "3339).");
    if (out->kind == CURSOR_SEQ && out->seq > log->last_seq)
        /* the seq is wrong or of another log; a reader that waited there would miss all before it
         */
        return refuse(
            p, a, parameter, text,
            str_z(a, str_printf(a, "is a seq after the end of the log, which is %" PRId64 ".",
                                log->last_seq)));
    return true;
}

bool cursor_view_changed(struct arena *a, struct problem *p)
{
    problem_set(
        p, a, PROBLEM_VIEW_CHANGED,
        "The definition of the view has changed, so what this position has seen is not what "
        "it would have seen. Start again: without a position, or at the beginning.");
    return false;
}

bool cursor_spec_read(struct arena *a, const char *parameter, struct str text, unsigned forms,
                      const struct cursor_log *log, struct cursor_spec *out, struct problem *p)
{
    if (!read_spec(a, parameter, text, forms, log, out, p))
        return false;
    if (str_is_null(out->edition) || str_is_null(log->edition) ||
        str_eq(out->edition, log->edition))
        return true;
    cursor_view_changed(a, p);
    p->parameter = str_from(parameter);
    return false;
}
