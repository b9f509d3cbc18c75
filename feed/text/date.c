/* feed/text/date.c - a table of date dialects, most common first. The first one that fits decides.
 *
 * A number is understood by its position, a word by a table of names. So the many small deviations
 * of real feeds (missing weekday, missing comma, two-digit years, a full month name, "24:00") need
 * no dialects of their own. */
#include "feed/text/date.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/compiler.h"

struct fields {
    int64_t year, month, day, hour, minute, second;
    int64_t zone_s; /* east of UTC */
};

struct cursor {
    const char *at, *end;
};

static bool take(struct cursor *c, char want)
{
    if (c->at == c->end || *c->at != want)
        return false;
    c->at++;
    return true;
}

static bool take_text(struct cursor *c, struct str want)
{
    if ((size_t)(c->end - c->at) < want.len || memcmp(c->at, want.ptr, want.len) != 0)
        return false;
    c->at += want.len;
    return true;
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Read `min` to `max` digits; any digits after these are left. */
static bool number(struct cursor *c, int min, int max, int64_t *out, int *n_out)
{
    int64_t v = 0;
    int n = 0;

    while (n < max && c->at < c->end && ascii_is_digit(*c->at)) {
        v = v * 10 + (*c->at++ - '0');
        n++;
    }
    if (n_out != NULL)
        *n_out = n;
    *out = v;
    return n >= min;
}

/* Read a word of letters (and bytes of other scripts). It may be empty. */
static struct str word(struct cursor *c)
{
    const char *from = c->at;

    while (c->at < c->end && (ascii_is_alpha(*c->at) || (unsigned char)*c->at >= 0x80))
        c->at++;
    return str_of(from, (size_t)(c->at - from));
}

/* ---------------------------------------------------------------- calendar */

static int64_t days_in_month(int64_t y, int64_t m)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

    return m == 2 && is_leap ? 29 : days[m - 1];
}

/* Convert the fields to Unix seconds. False: a field is out of range. Hour 24 and second 60 roll
 * over. */
static bool to_unix(const struct fields *f, int64_t *out)
{
    int64_t at;

    if (f->year < 1 || f->year > 9999 || f->month < 1 || f->month > 12 || f->day < 1 ||
        f->day > days_in_month(f->year, f->month) || f->hour > 24 || f->minute > 59 ||
        f->second > 60)
        return false;
    at = clock_from_civil(f->year, (int)f->month, (int)f->day, 0, 0, 0) + f->hour * 3600 +
         f->minute * 60 + f->second - f->zone_s;
    if (at < -62135596800 || at > 253402300799)
        return false;
    *out = at;
    return true;
}

/* ---------------------------------------------------------------- words */

struct date_word {
    const char *text;
    int value;
};

static bool lookup(const struct date_word *table, size_t n, struct str s, int *out)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieqz(s, table[i].text)) {
            *out = table[i].value;
            return true;
        }
    return false;
}

/* Returns true when `s` (at least three letters) begins with the three letters at `low`, in any
 * case. */
static bool begins_with_3(struct str s, const char *low)
{
    return ascii_lower(s.ptr[0]) == low[0] && ascii_lower(s.ptr[1]) == low[1] &&
           ascii_lower(s.ptr[2]) == low[2];
}

/* Find a month by the beginning of its name: three letters of the English name, or a name from the
 * table. */
static bool month_name(struct str s, int64_t *out)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    static const struct date_word foreign[] = {
        /* Greek */
        {"Ιαν", 1},
        {"Φεβ", 2},
        {"Μάώ", 3},
        {"Μαώ", 3},
        {"Μάρ", 3},
        {"Μαρ", 3},
        {"Απρ", 4},
        {"Μάι", 5},
        {"Μαϊ", 5},
        {"Μαι", 5},
        {"Μαΐ", 5},
        {"Ιούν", 6},
        {"Ιον", 6},
        {"Ιουν", 6},
        {"Ιούλ", 7},
        {"Ιολ", 7},
        {"Ιουλ", 7},
        {"Αύγ", 8},
        {"Αυγ", 8},
        {"Σεπ", 9},
        {"Οκτ", 10},
        {"Νοέ", 11},
        {"Νοε", 11},
        {"Δεκ", 12},
        /* Hungarian */
        {"január", 1},
        {"február", 2},
        {"március", 3},
        {"április", 4},
        {"máujus", 5},
        {"május", 5},
        {"június", 6},
        {"július", 7},
        {"augusztus", 8},
        {"szeptember", 9},
        {"október", 10},
        {"november", 11},
        {"december", 12},
        /* German, French, Spanish and their neighbours where the first letters differ */
        {"mär", 3},
        {"märz", 3},
        {"mai", 5},
        {"okt", 10},
        {"dez", 12},
        {"fév", 2},
        {"avr", 4},
        {"aoû", 8},
        {"août", 8},
        {"déc", 12},
        {"juin", 6},
        {"juil", 7},
        {"ene", 1},
        {"abr", 4},
        {"ago", 8},
        {"dic", 12},
        {"gen", 1},
        {"mag", 5},
        {"giu", 6},
        {"lug", 7},
        {"set", 9},
        {"ott", 10},
        {"maj", 5},
        {"fev", 2},
        {"out", 10},
        /* Russian and its neighbours */
        {"янв", 1},
        {"фев", 2},
        {"мар", 3},
        {"апр", 4},
        {"май", 5},
        {"мая", 5},
        {"июн", 6},
        {"июл", 7},
        {"авг", 8},
        {"сен", 9},
        {"окт", 10},
        {"ноя", 11},
        {"дек", 12},
        {"Янв", 1},
        {"Фев", 2},
        {"Мар", 3},
        {"Апр", 4},
        {"Май", 5},
        {"Мая", 5},
        {"Июн", 6},
        {"Июл", 7},
        {"Авг", 8},
        {"Сен", 9},
        {"Окт", 10},
        {"Ноя", 11},
        {"Дек", 12},
    };
    char first;

    for (int m = 0; s.len >= 3 && m < 12; m++)
        if (begins_with_3(s, names + 3 * m)) {
            *out = m + 1; /* foreign names that begin with these letters mean the same month */
            return true;
        }
    first = s.len > 0 ? ascii_lower(s.ptr[0]) : '\0';
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (ascii_lower(foreign[i].text[0]) == first && str_istarts(s, str_from(foreign[i].text))) {
            *out = foreign[i].value;
            return true;
        }
    return false;
}

static bool is_weekday(struct str s)
{
    static const char names[] = "montuewedthufrisatsun";

    for (int d = 0; s.len >= 3 && d < 7; d++)
        if (begins_with_3(s, names + 3 * d))
            return true;
    return false;
}

/* Find a zone by its name; zones are minutes east of UTC. Single letters are the military zones of
 * RFC 822. */
static bool zone_name(struct str s, int64_t *zone_s)
{
    static const struct date_word zones[] = {
        {"GMT", 0},    {"UTC", 0},     {"UT", 0},      {"Z", 0},      {"EST", -300},  {"EDT", -240},
        {"CST", -360}, {"CDT", -300},  {"MST", -420},  {"MDT", -360}, {"PST", -480},  {"PDT", -420},
        {"ET", -300},  {"CT", -360},   {"MT", -420},   {"PT", -480},  {"AST", -240},  {"AT", -240},
        {"ADT", -180}, {"AKST", -540}, {"AKDT", -480}, {"HST", -600}, {"HAST", -600}, {"NST", -210},
        {"NDT", -150}, {"WET", 0},     {"WEST", 60},   {"BST", 60},   {"CET", 60},    {"MET", 60},
        {"CEST", 120}, {"MEST", 120},  {"EET", 120},   {"EEST", 180}, {"MSK", 180},   {"MSD", 240},
        {"IST", 330},  {"ICT", 420},   {"HKT", 480},   {"SGT", 480},  {"AWST", 480},  {"JST", 540},
        {"KST", 540},  {"ACST", 570},  {"AEST", 600},  {"AEDT", 660}, {"NZST", 720},  {"NZDT", 780},
        {"BRT", -180}, {"BRST", -120}, {"ART", -180},  {"A", -60},    {"N", 60},      {"M", -720},
        {"Y", 720},
    };
    int minutes;

    if (!lookup(zones, ARRAY_LEN(zones), s, &minutes))
        return false;
    *zone_s = minutes * 60;
    return true;
}

/* Read a zone: "Z", "+01:00", "-0500", "+1", "GMT+2", "EST", "(PST)" ... The cursor is then always
 * after it. */
static void zone(struct cursor *c, int64_t *zone_s)
{
    int64_t h, m = 0;
    int n, sign;
    struct str w;

    skip_space(c);
    (void)take(c, '(');
    w = word(c);
    if (w.len > 0)
        (void)zone_name(w, zone_s);
    if (c->at == c->end || (*c->at != '+' && *c->at != '-'))
        return;
    sign = *c->at++ == '-' ? -1 : 1;
    if (!number(c, 1, 4, &h, &n))
        return;
    if (n > 2) {
        m = h % 100;
        h /= 100;
    } else if (take(c, ':')) {
        (void)number(c, 2, 2, &m, NULL);
    }
    if (m < 60)
        *zone_s = sign * (h * 3600 + m * 60);
}

/* Read an hour, minute or second: one or two digits, with leading zeros allowed ("012"). */
static bool clock_part(struct cursor *c, int64_t *out)
{
    const char *end = c->at;

    while (end < c->end && ascii_is_digit(*end))
        end++;
    while (end - c->at > 2 && *c->at == '0')
        c->at++;
    return number(c, 1, 2, out, NULL);
}

/* Read a time of day: "19:48", "19:48:21", "19:48:21.25", "7:48 PM", or the same with another
 * separator. False: there is no time of day. */
static bool clock_time_by(struct cursor *c, char sep, struct fields *f)
{
    struct cursor back;
    struct str w;
    int64_t skip;

    if (!clock_part(c, &f->hour) || !take(c, sep) || !clock_part(c, &f->minute))
        return false;
    if (take(c, sep) && clock_part(c, &f->second) && (take(c, '.') || take(c, ',')))
        (void)number(c, 0, 18, &skip, NULL);
    back = *c;
    skip_space(c);
    w = word(c);
    if (str_ieqz(w, "pm") && f->hour < 12)
        f->hour += 12;
    else if (str_ieqz(w, "am") && f->hour == 12)
        f->hour = 0;
    else if (!str_ieqz(w, "am") && !str_ieqz(w, "pm"))
        *c = back;
    return true;
}

static bool clock_time(struct cursor *c, struct fields *f)
{
    return clock_time_by(c, ':', f);
}

/* RFC 2822 section 4.3: two digits mean 1950 to 2049; three digits count from 1900. */
static int64_t full_year(int64_t y, int n_digits)
{
    if (n_digits == 3 || (n_digits <= 2 && y >= 50))
        return y + 1900;
    return n_digits <= 2 ? y + 2000 : y;
}

/* Set the date that is `days` after January 1st. */
static void set_day_of_year(struct fields *f, int64_t days)
{
    struct civil day = clock_civil(clock_from_civil(f->year, 1, 1, 0, 0, 0) + days * 86400);

    f->year = day.year;
    f->month = day.month;
    f->day = day.day;
}

/* ---------------------------------------------------------------- dialects */

/* Read what may follow an ISO date: a time, with or without colons, and a zone. */
static bool iso_time(struct cursor *c, struct fields *f)
{
    skip_space(c);
    if (c->at < c->end && (*c->at == 'T' || *c->at == 't'))
        c->at++;
    skip_space(c);
    if (c->at < c->end && ascii_is_digit(*c->at)) {
        struct cursor back = *c;
        int64_t v;

        if (!clock_time(c, f)) {
            *c = back;
            f->minute = f->second = 0;
            if (!number(c, 2, 2, &f->hour, NULL) || !number(c, 0, 2, &f->minute, NULL) ||
                !number(c, 0, 2, &f->second, NULL))
                return false;
            if (take(c, '.'))
                (void)number(c, 0, 18, &v, NULL);
        }
    }
    zone(c, &f->zone_s);
    return true;
}

/* ISO 8601 without the century: YYMMDD, YY-MM-DD, YYDDD, YY-DDD, -YYMM, -YY-MM, -YY. Six digits
 * that can be a year and a month (YYYYMM) do not fit. */
static bool dialect_short_iso(struct cursor c, struct fields *f)
{
    bool has_dash = take(&c, '-');
    struct cursor digits = c;
    int64_t v, part;
    int n, m;

    (void)number(&digits, 0, 9, &v, &n);
    f->month = f->day = 1;
    if (has_dash) {
        if ((n != 2 && n != 4) || !number(&c, 2, 2, &f->year, NULL))
            return false;
        if ((n == 4 || take(&c, '-')) && !number(&c, 2, 2, &f->month, NULL))
            return false;
        f->year = full_year(f->year, 2);
        return c.at == c.end;
    }
    if (n == 6 && v / 100 >= 1900 && v / 100 < 2100 && v % 100 >= 1 && v % 100 <= 12)
        return false;
    if ((n != 2 && n != 5 && n != 6) || !number(&c, 2, 2, &f->year, NULL) ||
        (n == 2 && !take(&c, '-')))
        return false;
    f->year = full_year(f->year, 2);
    if (!number(&c, 2, n == 6 ? 2 : 3, &part, &m))
        return false;
    if (m == 3) {
        if (part < 1 || part > 366)
            return false;
        set_day_of_year(f, part - 1);
    } else {
        f->month = part;
        if ((n != 6 && !take(&c, '-')) || !number(&c, 2, 2, &f->day, NULL) ||
            (c.at < c.end && ascii_is_digit(*c.at)))
            return false;
    }
    return iso_time(&c, f);
}

/* Read the week after the year: W05-1 or W051. Week 1 is the week of January 4th; day 1 is
 * Monday. */
static bool iso_week(struct cursor *c, struct fields *f)
{
    int64_t week, day = 1;
    struct civil fourth = clock_civil(clock_from_civil(f->year, 1, 4, 0, 0, 0));

    if (!number(c, 2, 2, &week, NULL) || week < 1 || week > 53)
        return false;
    if ((take(c, '-') || (c->at < c->end && ascii_is_digit(*c->at))) &&
        (!number(c, 1, 1, &day, NULL) || day < 1 || day > 7))
        return false;
    set_day_of_year(f, 3 - fourth.weekday + (week - 1) * 7 + day - 1);
    return true;
}

/* W3CDTF, RFC 3339, ISO 8601: 2004-01-01T10:00:00Z, 2004-1-1 10:00, 20040101T100000, 2004, 2004-01,
 * 2004-035 (day of the year), 2004-W05-1 (week), 2004/01/01. */
static bool dialect_iso(struct cursor c, struct fields *f)
{
    int n;
    char sep = 0;

    if (!number(&c, 4, 4, &f->year, NULL))
        return false;
    f->month = f->day = 1;
    if (c.at < c.end && (*c.at == '-' || *c.at == '/' || *c.at == '.'))
        sep = *c.at++;
    if (c.at < c.end && ascii_is_digit(*c.at)) {
        struct cursor back = c;
        int64_t v;

        (void)number(&c, 1, 4, &v, &n);
        if (n == 3) { /* day of the year */
            if (v < 1 || v > 366 || f->year < 1)
                return false;
            set_day_of_year(f, v - 1);
        } else {
            c = back;
            if (!number(&c, 1, 2, &f->month, NULL))
                return false;
            if ((sep == 0 || take(&c, sep)) && c.at < c.end && ascii_is_digit(*c.at))
                (void)number(&c, 1, 2, &f->day, NULL);
        }
    } else if (f->year > 0 && take(&c, 'W')) {
        if (!iso_week(&c, f))
            return false;
    } else if (sep != 0) {
        return false;
    }
    return iso_time(&c, f);
}

/* RFC 822 and similar dates, asctime and date(1). Words and numbers are recognised by what they
 * are: a weekday, a month, a day (the first number), a year, a time, a zone. */
static bool dialect_rfc822(struct cursor c, struct fields *f)
{
    bool has_day = false, has_month = false, has_year = false, has_time = false;
    int n_tokens = 0, n_words = 0, month_word = 0;

    while (c.at < c.end && n_tokens++ < 40) {
        char ch = *c.at;

        if (ascii_is_digit(ch)) {
            struct cursor back = c;
            int64_t v;
            int n;

            if (!number(&c, 1, 4, &v, &n))
                return false;
            if (c.at < c.end && *c.at == ':' && !has_time) {
                c = back;
                if (!clock_time(&c, f))
                    return false;
                has_time = true;
            } else if (c.at < c.end && *c.at == '.' && has_year && !has_time) {
                c = back; /* "16.31.00" */
                if (!clock_time_by(&c, '.', f))
                    return false;
                has_time = true;
            } else if (!has_day && (n <= 2 || (ch == '0' && v <= 31))) { /* "003" */
                f->day = v;
                has_day = true;
            } else if (!has_year) {
                f->year = full_year(v, n);
                has_year = true;
            } else {
                return false;
            }
        } else if ((ch == '+' || ch == '-') && (has_time || has_year) && has_month && has_day) {
            zone(&c, &f->zone_s);
        } else if (ascii_is_alpha(ch) || (unsigned char)ch >= 0x80) {
            struct str w = word(&c);

            n_words++;
            /* "mar., 05 oct. 2004": the first word was a Tuesday, not a month */
            if ((!has_month || (month_word == 1 && !has_year)) && !is_weekday(w) &&
                month_name(w, &f->month)) {
                has_month = true;
                month_word = n_words;
            } else if (has_time || has_year) {
                c.at = w.ptr;
                zone(&c, &f->zone_s);
                if (c.at == w.ptr)
                    c.at += w.len;
            } else if (!is_weekday(w) && !has_month && (has_day || w.len < 2)) {
                /* a word without meaning between the day and the month: "1st", "de" */
                if (w.len > 3)
                    return false;
            }
        } else {
            c.at++; /* comma, dash, dot, slash, blank, bracket */
        }
    }
    return has_day && has_month && has_year;
}

/* 01/31/2004 10:00:00 AM; also 31/01/2004, if the first number cannot be a month. With dots and
 * dashes, the day comes first. */
static bool dialect_numeric(struct cursor c, struct fields *f)
{
    char sep;
    int n;

    if (!number(&c, 1, 2, &f->month, NULL) || c.at == c.end)
        return false;
    sep = *c.at++;
    if ((sep != '/' && sep != '.' && sep != '-') || !number(&c, 1, 2, &f->day, NULL) ||
        !take(&c, sep) || !number(&c, 2, 4, &f->year, &n))
        return false;
    f->year = full_year(f->year, n);
    if (f->month > 12 || sep != '/') {
        int64_t m = f->month;

        f->month = f->day;
        f->day = m;
    }
    (void)take(&c, ',');
    skip_space(&c);
    if (c.at < c.end && ascii_is_digit(*c.at) && !clock_time(&c, f))
        return false;
    zone(&c, &f->zone_s);
    return true;
}

/* Korean: 2004년 05월 28일  01:31:15 and 2004-05-25 오후 11:23:17, both in Korean time. Also
 * Chinese and Japanese, which have the same signs: 2004年05月28日 01:31:15. */
static bool dialect_korean(struct cursor c, struct fields *f)
{
    bool afternoon, is_korean;

    if (!number(&c, 4, 4, &f->year, NULL))
        return false;
    is_korean = take_text(&c, STR("년"));
    if (is_korean || take_text(&c, STR("年"))) {
        skip_space(&c);
        if (!number(&c, 1, 2, &f->month, NULL) || !take_text(&c, is_korean ? STR("월") : STR("月")))
            return false;
        skip_space(&c);
        if (!number(&c, 1, 2, &f->day, NULL) || !take_text(&c, is_korean ? STR("일") : STR("日")))
            return false;
        skip_space(&c);
        f->zone_s = is_korean ? 9 * 3600 : 0;
        if (c.at == c.end)
            return true;
        if (!clock_time(&c, f))
            return false;
        zone(&c, &f->zone_s);
        return true;
    }
    if (!take(&c, '-') || !number(&c, 2, 2, &f->month, NULL) || !take(&c, '-') ||
        !number(&c, 2, 2, &f->day, NULL))
        return false;
    skip_space(&c);
    afternoon = take_text(&c, STR("오후"));
    if (!afternoon && !take_text(&c, STR("오전")))
        return false;
    skip_space(&c);
    if (!clock_time(&c, f))
        return false;
    if (afternoon && f->hour < 12)
        f->hour += 12;
    f->zone_s = 9 * 3600;
    return true;
}

/* Hungarian: 2004-július-13T9:15-05:00. */
static bool dialect_hungarian(struct cursor c, struct fields *f)
{
    if (!number(&c, 4, 4, &f->year, NULL) || !take(&c, '-') || !month_name(word(&c), &f->month) ||
        !take(&c, '-') || !number(&c, 1, 2, &f->day, NULL))
        return false;
    if (!take(&c, 'T'))
        return c.at == c.end;
    if (!clock_time(&c, f))
        return false;
    zone(&c, &f->zone_s);
    return true;
}

/* Perforce: Fri, 2006/09/15 08:19:53 EDT. */
static bool dialect_perforce(struct cursor c, struct fields *f)
{
    if (!is_weekday(word(&c)))
        return false;
    (void)take(&c, ',');
    skip_space(&c);
    return dialect_iso(c, f);
}

/* Seconds or milliseconds since 1970. */
static bool dialect_unix(struct cursor c, struct fields *f)
{
    struct civil day;
    int64_t v;
    int n;

    if (!number(&c, 9, 13, &v, &n) || c.at != c.end || n == 11 || n == 12)
        return false;
    if (n == 13)
        v /= 1000;
    day = clock_civil(v);
    *f = (struct fields){day.year, day.month, day.day, day.hour, day.minute, day.second, 0};
    return true;
}

typedef bool dialect_fn(struct cursor c, struct fields *f);

static dialect_fn *const dialects[] = {
    dialect_korean, dialect_hungarian, dialect_unix,    dialect_short_iso,
    dialect_iso,    dialect_perforce,  dialect_numeric, dialect_rfc822,
};

bool date_parse(struct str text, int64_t *at_out)
{
    text = str_trim(text);
    if (text.len < 4 || text.len > 100)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        struct fields f = {0, 0, 0, 0, 0, 0, 0};

        if (dialects[i]((struct cursor){text.ptr, text.ptr + text.len}, &f) && to_unix(&f, at_out))
            return true;
    }
    return false;
}

struct value *date_nine(struct arena *a, int64_t at)
{
    struct civil c = clock_civil(at);
    const int64_t nine[] = {c.year,   c.month,   c.day,     c.hour, c.minute,
                            c.second, c.weekday, c.yearday, 0};
    struct value *list = value_list_for(a, ARRAY_LEN(nine));

    for (size_t i = 0; i < ARRAY_LEN(nine); i++)
        value_push(a, list, value_int(a, nine[i]));
    return list;
}

int64_t date_of_nine(const struct value *nine)
{
    int64_t n[6];

    for (size_t i = 0; i < ARRAY_LEN(n); i++) {
        const struct value *part = value_at(nine, i);

        if (part == NULL || part->kind != VAL_INT || part->i < 0 || part->i > 9999)
            return TIME_UNKNOWN;
        n[i] = part->i;
    }
    return clock_from_civil(n[0], (int)n[1], (int)n[2], (int)n[3], (int)n[4], (int)n[5]);
}

int64_t date_fraction_us(struct str text)
{
    ssize_t dot = str_chr(text, '.');
    size_t i = dot < 0 ? text.len : (size_t)dot + 1;
    int64_t us = 0;

    for (int64_t unit = 100000;
         unit > 0 && i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; unit /= 10, i++)
        us += (text.ptr[i] - '0') * unit;
    return us;
}
