/* fetcher/adapt.c - see adapt.h. Times within are in days. */
#include "fetcher/adapt.h"

#include <math.h>

#include "base/clock.h"

#define DAY_S 86400.0
#define AHEAD_S 3600 /* the clock was ahead when it was seen last: what was learned then is worth nothing */
#define HOUR_S 3600
#define OLDEST_S (INT64_C(20) * 365 * 86400)

#define KNOWN_DAYS (PACE_PRIOR_DAYS + 1)
#define KNOWN_FETCHES 8
#define KNOWN_COUNT 8.0
#define KNOWN_PAST_DAYS 14.0 /* by the dates of a document alone, ... */
#define KNOWN_PAST_COUNT 4.0 /* ... if so many of them are not old */

/* What is old is forgotten, so that a feed may change: about so many entries are remembered, but
 * for no less and no more than so many days. */
#define KEPT_ENTRIES 60.0
#define KEPT_DAYS_MIN 3.0
#define KEPT_DAYS_MAX 60.0
#define KEPT_RHYTHM_DAYS 45.0

/* As many entries without a rhythm are mixed into those that were seen. */
#define EVEN_HOURS 10.0
#define EVEN_WEEKDAYS 30.0
#define ALONE_S (2 * 86400) /* nobody looked for longer: no period is so long, so the daemon was stopped */
#define WATCHED_MIN_S 43200
#define MADE_NOW_S 900 /* a publisher that gives no true dates dates all entries when it makes the document */

#define UNSEEN 100.0
#define UNSEEN_FALLS 6.0 /* a day */

#define PART_NEW 0.35 /* of a document that may be expected to be new, ... */
#define MARGIN 6.0    /* ... and so many times the root of what is expected is left for more */
#define QUIET_MIN 1.0 /* for that, no hour brings less than so much of the mean */
#define PART_NEW_MIN 0.05 /* of that, after documents that were all new */
#define PART_HEALS_DAYS 10.0
#define PRICE_MIN 1e-12 /* of a feed that posts nothing */
#define PRICE_DEAR 5e5  /* with less, a feed that posts a million entries a day has the ceiling */

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static int64_t hour_of(int64_t at)
{
    return at >= 0 ? at / HOUR_S : -((HOUR_S - 1 - at) / HOUR_S);
}

static size_t modulo(int64_t x, int64_t n)
{
    return (size_t)((x % n + n) % n);
}

/* ---- the rhythm ------------------------------------------------------------------------------ */

/* How often entries come at an hour of a day, compared with the mean. */
struct rhythm {
    double hours[PACE_HOURS], weekdays[PACE_WEEKDAYS];
};

static double sum(const double *v, size_t n)
{
    double s = 0;

    for (size_t i = 0; i < n; i++)
        s += v[i];
    return s;
}

/* Hours and weekdays that were not watched yet show no entries, too. So a rhythm does not count before the
 * feed was watched for longer than a day, or on five weekdays. These return how many times over an
 * even rhythm is mixed in. */
static double unseen_hours(const struct pace *p)
{
    return p->days < 1 ? UNSEEN : UNSEEN * exp(-UNSEEN_FALLS * (p->days - 1));
}

static double unseen_weekdays(const struct pace *p, double all)
{
    int n = 0;

    for (size_t d = 0; d < PACE_WEEKDAYS; d++)
        n += p->weekdays[d] > all / 50;
    return n < 5 ? UNSEEN : 0;
}

static void rhythm_of(const struct pace *p, struct rhythm *r)
{
    double n = sum(p->hours, PACE_HOURS), m = sum(p->weekdays, PACE_WEEKDAYS);
    double even_hours = EVEN_HOURS + n * unseen_hours(p), even_weekdays = EVEN_WEEKDAYS + m * unseen_weekdays(p, m);

    for (size_t h = 0; h < PACE_HOURS; h++) { /* an hour borrows from those beside it */
        double near = p->hours[(h + PACE_HOURS - 1) % PACE_HOURS] + p->hours[(h + 1) % PACE_HOURS];

        r->hours[h] = (PACE_HOURS * (p->hours[h] / 2 + near / 4) + even_hours) / (n + even_hours);
    }
    for (size_t d = 0; d < PACE_WEEKDAYS; d++)
        r->weekdays[d] = (PACE_WEEKDAYS * p->weekdays[d] + even_weekdays) / (m + even_weekdays);
}

static double factor(const struct rhythm *r, int64_t hour)
{
    /* 1 January 1970 was a Thursday */
    return r->hours[modulo(hour, PACE_HOURS)] *
           r->weekdays[modulo((hour - (int64_t)modulo(hour, 24)) / 24 + 3, PACE_WEEKDAYS)];
}

/* Returns the days from `from` to `to`, each hour counted by how many entries it brings. */
static double weighed_days(const struct rhythm *r, int64_t from, int64_t to)
{
    double days = 0;

    if (to - from >= 3 * (int64_t)DAY_S) /* the rhythm makes little difference */
        return (double)(to - from) / DAY_S;
    while (from < to) {
        int64_t hour = hour_of(from), end = (hour + 1) * HOUR_S < to ? (hour + 1) * HOUR_S : to;

        days += factor(r, hour) * (double)(end - from) / DAY_S;
        from = end;
    }
    return days;
}

/* ---- what a fetch teaches -------------------------------------------------------------------- */

static double kept_days(const struct pace *p)
{
    double rate = pace_rate(p);

    return rate > 0 ? clamp(KEPT_ENTRIES / rate, KEPT_DAYS_MIN, KEPT_DAYS_MAX) : KEPT_DAYS_MAX;
}

static void forget_rhythm(struct pace *p, double days)
{
    double kept = exp(-days / KEPT_RHYTHM_DAYS);

    for (size_t h = 0; h < PACE_HOURS; h++)
        p->hours[h] *= kept;
    for (size_t d = 0; d < PACE_WEEKDAYS; d++)
        p->weekdays[d] *= kept;
}

/* Of entries that came together, each counts less than the one before it, unless so many are usual: they
 * are one event. */
static void note_time(struct pace *p, int64_t at, int n_before, double weight)
{
    int64_t hour = hour_of(at);

    weight /= 1 + n_before / (1 + pace_rate(p) / 24);
    p->hours[modulo(hour, PACE_HOURS)] += weight;
    p->weekdays[modulo((hour - (int64_t)modulo(hour, 24)) / 24 + 3, PACE_WEEKDAYS)] += weight;
}

static bool is_date_only(int64_t at)
{
    return at % (int64_t)DAY_S == 0;
}

/* A date that may be that of an entry which is there now. Older ones teach nothing. */
static bool is_usable(const struct sight *s, int64_t date)
{
    return date < s->at && date > s->at - OLDEST_S;
}

/* Before the first fetch its dates are all that is known. They say how many entries came since the
 * oldest of them, if they lie in the past and differ. */
static void learn_past(struct pace *p, const struct sight *s)
{
    int64_t oldest = s->at, newest = INT64_MIN, last = INT64_MIN;
    size_t n = 0;
    int together = 0, n_events = 0;
    double kept = KEPT_DAYS_MAX, rate;
    struct rhythm r;

    for (size_t i = 0; i < s->n_dates; i++)
        if (is_usable(s, s->dates[i])) {
            oldest = s->dates[i] < oldest ? s->dates[i] : oldest;
            newest = s->dates[i] > newest ? s->dates[i] : newest;
            n++;
        }
    if (n < 2 || newest == oldest)
        return;
    rate = (double)(n - 1) / ((double)(s->at - oldest) / DAY_S);
    kept = clamp(KEPT_ENTRIES / rate, KEPT_DAYS_MIN, KEPT_DAYS_MAX);
    p->days += kept * (1 - exp(-(double)(s->at - oldest) / DAY_S / kept));
    for (size_t i = 0; i < s->n_dates; i++) {
        double age;

        if (!is_usable(s, s->dates[i]) || s->dates[i] == oldest)
            continue;
        age = (double)(s->at - s->dates[i]) / DAY_S;
        p->count += exp(-age / kept);
        p->recent += exp(-age / PACE_RECENT_DAYS);
        together = hour_of(s->dates[i]) == last ? together + 1 : 0;
        n_events += together == 0;
        last = hour_of(s->dates[i]);
        if (!is_date_only(s->dates[i]))
            note_time(p, s->dates[i], together, exp(-age / KEPT_RHYTHM_DAYS));
    }
    if (n_events > 1) /* not all at once, so the dates are worth more than the guess before them */
        p->days -= PACE_PRIOR_DAYS - PACE_PRIOR_DAYS / n_events;
    rhythm_of(p, &r);
    p->silent = weighed_days(&r, newest, s->at);
}

/* A new entry came after the fetch before. A date that says otherwise is wrong; what it is worth is
 * the number of new entries alone. */
static void learn_times(struct pace *p, const struct sight *s)
{
    int64_t last = INT64_MIN, n = 0;
    int together = 0;

    for (size_t i = 0; i < s->n_dates && n < s->n_new; i++) {
        if (s->dates[i] <= p->seen_at || s->dates[i] > s->at)
            continue;
        n++;
        together = hour_of(s->dates[i]) == last ? together + 1 : 0;
        last = hour_of(s->dates[i]);
        note_time(p, s->dates[i], together, 1);
    }
    if (n == 0 && s->n_new > 0 && s->at - p->seen_at <= 3 * HOUR_S)
        note_time(p, p->seen_at + (s->at - p->seen_at) / 2, 0, 1);
}

static bool is_all_new(const struct sight *s)
{
    return s->n_shown > 1 && s->n_new >= s->n_shown;
}

static void learn_overlap(struct pace *p, const struct sight *s, double days)
{
    p->most_new = 1 - (1 - p->most_new) * exp(-days / PART_HEALS_DAYS);
    if (s->n_shown <= 0)
        return;
    p->shown = p->shown > 0 ? p->shown + ((double)s->n_shown - p->shown) / 4 : (double)s->n_shown;
    if (p->n_fetches > 0 && is_all_new(s) && s->at - p->seen_at <= ALONE_S)
        p->most_new = clamp(p->most_new / 2, PART_NEW_MIN, 1);
}

/* Since when has nothing been missed? After days without a look, in which the document was filled anew, that
 * is since its oldest entry. What came before is lost, and counts neither as entries nor as days. */
static int64_t watched_from(const struct pace *p, const struct sight *s)
{
    int64_t from = s->at;

    if (s->at - p->seen_at <= ALONE_S || !is_all_new(s))
        return p->seen_at;
    for (size_t i = 0; i < s->n_dates; i++)
        if (s->dates[i] > p->seen_at && s->dates[i] < from)
            from = s->dates[i];
    if (s->at - from <= MADE_NOW_S) /* it has no dates, or none that say when the entries came */
        return s->at - ALONE_S;
    return from < s->at - WATCHED_MIN_S ? from : s->at - WATCHED_MIN_S;
}

/* When all of a document is new, there were more since the last fetch. */
static double came(const struct sight *s, int64_t since, int64_t seen_at)
{
    return (double)s->n_new * (is_all_new(s) && since == seen_at ? 1.5 : 1);
}

/* The part of what came in these days that is recent. Usually all of it came just now. */
static double recent_part(double days)
{
    return days * DAY_S <= ALONE_S ? 1 : PACE_RECENT_DAYS / days * (1 - exp(-days / PACE_RECENT_DAYS));
}

static void learn_since(struct pace *p, const struct sight *s)
{
    double days = (double)(s->at - p->seen_at) / DAY_S, kept = exp(-days / kept_days(p)), weighed, n;
    int64_t from = watched_from(p, s);
    struct rhythm r;

    rhythm_of(p, &r);
    weighed = weighed_days(&r, from, s->at);
    n = came(s, from, p->seen_at);
    p->count = p->count * kept + n;
    p->days = p->days * kept + weighed;
    p->silent = s->n_new > 0 ? 0 : p->silent + weighed;
    p->recent = p->recent * exp(-days / PACE_RECENT_DAYS) + n * recent_part((double)(s->at - from) / DAY_S);
    forget_rhythm(p, days);
    learn_overlap(p, s, days);
    learn_times(p, s);
}

void adapt_learn(struct pace *p, const struct sight *s)
{
    if (p->seen_at != TIME_UNKNOWN && p->seen_at > s->at + AHEAD_S)
        *p = PACE_INIT;
    if (p->n_fetches == 0 || p->seen_at == TIME_UNKNOWN) {
        p->count = PACE_PRIOR_COUNT;
        p->days = PACE_PRIOR_DAYS;
        learn_past(p, s);
        learn_overlap(p, s, 0);
    } else if (s->at >= p->seen_at) {
        learn_since(p, s);
    }
    p->n_fetches++;
    if (p->seen_at == TIME_UNKNOWN || s->at > p->seen_at)
        p->seen_at = s->at;
}

bool adapt_knows(const struct pace *p)
{
    return p->count >= KNOWN_COUNT || (p->days >= KNOWN_DAYS && p->n_fetches >= KNOWN_FETCHES) ||
           (p->days >= KNOWN_PAST_DAYS && p->count >= KNOWN_PAST_COUNT);
}

/* ---- the decision ---------------------------------------------------------------------------- */

static double mean_root(const double *v, size_t n)
{
    double s = 0;

    for (size_t i = 0; i < n; i++)
        s += sqrt(v[i]);
    return s / (double)n;
}

/* So many new entries may be expected at a fetch. */
static double most_new(const struct pace *p)
{
    double root = sqrt(MARGIN * MARGIN / 4 + p->shown) - MARGIN / 2;
    double most = root * root < p->shown * PART_NEW ? root * root : p->shown * PART_NEW;

    return p->shown > 0 ? clamp(most * p->most_new, 0.4, 1e9) : 1e9;
}

/* What the rate may be, as little as is known of it. */
static double most_rate(const struct pace *p)
{
    return pace_rate(p) * (1 + 2 / sqrt(p->count + 1));
}

struct need adapt_need(const struct pace *p)
{
    struct rhythm r;

    rhythm_of(p, &r);
    return (struct need){.root = sqrt(pace_rate(p)) * mean_root(r.hours, PACE_HOURS) *
                                 mean_root(r.weekdays, PACE_WEEKDAYS),
                         .overlap = most_rate(p) / most_new(p)};
}

double adapt_price_of(const struct need *need, double per_day)
{
    double root = need->root / per_day;

    return root * root / 2 > PRICE_MIN ? root * root / 2 : PRICE_MIN;
}

double adapt_overlap_part(double price)
{
    return price > PRICE_DEAR ? sqrt(PRICE_DEAR / price) : 1;
}

/* Returns after how long `waited` + `n` t + `rate` t^2 / 2 reaches the price. */
static double until_waited(double waited, double n, double rate, double price)
{
    double missing = price - waited, root = sqrt(n * n + 2 * rate * missing);

    return missing <= 0 ? 0 : 2 * missing / (n + root); /* infinite without entries */
}

void adapt_decide(struct pace *p, double price)
{
    double rate = pace_rate(p), n = 0, n_most = 0, waited = 0;
    double part = adapt_overlap_part(price), most = most_new(p) / part;
    int64_t at = p->seen_at, ceiling_at = at + ADAPT_CEILING_S;
    struct rhythm r;

    rhythm_of(p, &r);
    p->why = PACE_CEILING;
    while (at < ceiling_at) {
        int64_t end = (hour_of(at) + 1) * HOUR_S < ceiling_at ? (hour_of(at) + 1) * HOUR_S : ceiling_at;
        double factor_now = factor(&r, hour_of(at)), now = rate * factor_now, len = (double)(end - at) / DAY_S;
        double by_wait = until_waited(waited, n, now, price);
        double most_now = most_rate(p) * (factor_now > QUIET_MIN ? factor_now : QUIET_MIN);
        double by_overlap = most_now > 0 ? (most - n_most) / most_now : INFINITY;
        double t = by_wait < by_overlap ? by_wait : by_overlap;

        if (t < len) {
            at += (int64_t)(t * DAY_S + 0.5);
            p->why = by_wait <= by_overlap ? PACE_RATE : part < 1 ? PACE_SCARCE : PACE_OVERLAP;
            break;
        }
        waited += n * len + now * len * len / 2;
        n += now * len;
        n_most += most_now * len;
        at = end;
    }
    if (p->count <= 0 && p->n_fetches < KNOWN_FETCHES && p->why == PACE_RATE)
        p->why = PACE_NEW; /* the rate is a guess, and its hours have no habits yet */
    p->period_s = at - p->seen_at;
    if (p->period_s < ADAPT_FLOOR_S) {
        p->period_s = ADAPT_FLOOR_S;
        p->why = PACE_FLOOR;
    }
}
