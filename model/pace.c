/* model/pace.c - see pace.h. The text is a line of whole numbers; amounts are in units of 1/SCALE. */
#include "model/pace.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digits.h"

#define VERSION 2
#define SCALE 100000 /* what is forgotten from one fetch to the next must not be rounded away */
#define SILENT 6.0 /* so many entries are missed before a silence is taken for a lower rate */
#define MOST 1e15 /* an amount that is more was not written here; nor was a later time than this: */
#define MOST_S ((int64_t)1000000000000)

double pace_rate(const struct pace *p)
{
    double rate = p->days > 0 ? p->count / p->days : 0;
    double lately = (p->recent - 2 * sqrt(p->recent) - 2) / PACE_RECENT_DAYS; /* at least */

    rate = lately > rate ? lately : rate;
    return rate * p->silent > SILENT ? SILENT / p->silent : rate;
}

bool pace_has_rate(const struct pace *p)
{
    return p->count > PACE_PRIOR_COUNT || p->days >= PACE_PRIOR_DAYS + 1;
}

static struct str span(struct arena *a, int64_t s)
{
    return s < 120      ? str_printf(a, "%" PRId64 " seconds", s)
           : s < 7200   ? str_printf(a, "%" PRId64 " minutes", (s + 30) / 60)
           : s < 172800 ? str_printf(a, "%.1f hours", (double)s / 3600)
                        : str_printf(a, "%.1f days", (double)s / 86400);
}

struct str pace_words(struct arena *a, const struct pace *p)
{
    double rate = pace_rate(p);
    struct str every = span(a, p->period_s), posts;

    if (p->why == PACE_NEW)
        return str_printf(a, "Too little is known of what it posts, so it is fetched after %.*s.", STR_ARG(every));
    posts = rate >= 0.095 ? str_printf(a, "It posts about %.1f entries a day", rate)
                          : str_printf(a, "It posts about %.1f entries in a hundred days", rate * 100);
    switch (p->why) {
    case PACE_OVERLAP:
        return str_printf(a, "%.*s and its document holds %.0f, so it is fetched after %.*s lest any be lost.",
                          STR_ARG(posts), p->shown, STR_ARG(every));
    case PACE_SCARCE:
        return str_printf(a,
                          "%.*s and its document holds %.0f, but the budget has no more fetches for it than one after"
                          " %.*s.",
                          STR_ARG(posts), p->shown, STR_ARG(every));
    case PACE_FLOOR:
        return str_printf(a, "%.*s, so it is fetched after %.*s, the shortest period.", STR_ARG(posts),
                          STR_ARG(every));
    case PACE_CEILING:
        return str_printf(a, "%.*s, so it is fetched after %.*s, the longest period.", STR_ARG(posts),
                          STR_ARG(every));
    default:
        return str_printf(a, "%.*s, by the habits of its hours, so it is fetched after %.*s.", STR_ARG(posts),
                          STR_ARG(every));
    }
}

static void write_amounts(struct buf *out, const double *v, size_t n)
{
    char text[1 + DIGITS_MAX] = " ";

    for (size_t i = 0; i < n; i++)
        buf_append(out, text, 1 + digits_write(text + 1, (int64_t)(v[i] * SCALE + 0.5)));
}

struct str pace_write(struct arena *a, const struct pace *p)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const double amounts[] = {p->count, p->days, p->silent, p->recent, p->shown, p->most_new};

    buf_printf(&out, "%d %" PRId64 " %" PRId64 " %" PRId64 " %d", VERSION, p->seen_at, p->n_fetches, p->period_s,
               (int)p->why);
    write_amounts(&out, amounts, ARRAY_LEN(amounts));
    write_amounts(&out, p->hours, PACE_HOURS);
    write_amounts(&out, p->weekdays, PACE_WEEKDAYS);
    return str_dup(a, buf_view(&out));
}

static bool read_amounts(struct str *text, double *v, size_t n)
{
    int64_t x;

    for (size_t i = 0; i < n; i++) {
        if (str_is_null(*text) || !str_to_i64(str_split(text, ' '), &x) || x < 0 || (double)x > MOST)
            return false;
        v[i] = (double)x / SCALE;
    }
    return true;
}

static bool read_head(struct str *text, struct pace *p)
{
    int64_t n[5];
    double amounts[6];

    for (size_t i = 0; i < ARRAY_LEN(n); i++)
        if (str_is_null(*text) || !str_to_i64(str_split(text, ' '), &n[i]))
            return false;
    if (n[0] != VERSION || (n[1] != TIME_UNKNOWN && (n[1] < 0 || n[1] > MOST_S)) || n[2] < 0 ||
        n[2] > INT32_MAX || n[3] < 0 || n[3] > INT32_MAX || n[4] < 0 || n[4] >= PACE_WHY_COUNT_ ||
        !read_amounts(text, amounts, ARRAY_LEN(amounts)) || amounts[5] > 1)
        return false;
    *p = (struct pace){.seen_at = n[1],
                       .n_fetches = n[2],
                       .period_s = n[3],
                       .why = (enum pace_why)n[4],
                       .count = amounts[0],
                       .days = amounts[1],
                       .silent = amounts[2],
                       .recent = amounts[3],
                       .shown = amounts[4],
                       .most_new = amounts[5]};
    return true;
}

bool pace_read(struct str text, struct pace *out)
{
    struct pace p = PACE_INIT;
    bool ok = text.len > 0 && read_head(&text, &p) && read_amounts(&text, p.hours, PACE_HOURS) &&
              read_amounts(&text, p.weekdays, PACE_WEEKDAYS) && str_is_null(text);

    *out = ok ? p : PACE_INIT;
    return ok;
}
