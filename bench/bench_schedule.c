/* bench/bench_schedule.c - what schedules of polls bring at the same number of fetches: bench/schedule.
 *
 * Feeds are made up, from a seed. How they post was measured once, on the dates of 206 of the 495 captured
 * feeds of a collection of test documents from public repositories (those with at least eight dates):
 * entries a day have the quantiles 0.01 (10 %), 0.047 (25 %), 0.24 (50 %), 4.8 (75 %), 17.6 (90 %) and 137
 * (most), their logarithms the mean -0.9 and the deviation 2.84; dates keep to an hour of the day with a
 * mean resultant of 0.68; Saturday and Sunday bring 0.85 of the mean; 20 % of the gaps are shorter than a
 * tenth of their feed's mean, where independent entries would have 9.5 %.
 *
 * Each policy sees of a feed what a fetch shows. The optimum knows how the feed is made. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define DAY 86400
#define FLOOR 300
#define CEILING DAY
#define HOURS 24
#define BINS 288 /* of five minutes, for the optimum */
#define FIRST_WITHIN 1800
#define START INT64_C(1700438400) /* a Monday, midnight */

static struct {
    int n_feeds, days, per_feed;
    uint64_t seed;
    const char *binary;
} opt = {10000, 30, 48, 1, "build/feedmill"};

/* ---- dice ------------------------------------------------------------------------------------ */

static uint64_t dice;

static uint64_t roll(void) /* splitmix64, public domain */
{
    uint64_t z = dice += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double uniform(void)
{
    return ((double)(roll() >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* ---- feeds ----------------------------------------------------------------------------------- */

enum dates { DATES_RIGHT, DATES_NONE, DATES_MIDNIGHT };

struct feed {
    double rate; /* entries a day, of the first days */
    double hours[HOURS], weekdays[7];
    int64_t changes_at; /* the rate is multiplied then */
    double change;
    enum dates dates;
    int shown;
    int64_t first_at;
    int64_t *posts; /* rising, with those of 60 days before the start */
    int n_posts;
    size_t cap;
};

static struct feed *feeds;

static void make_rhythm(struct feed *f)
{
    double kappa = 3 * uniform(), peak = 14 + 5 * normal(), weekend = 0.4 + 0.8 * uniform(), sum = 0;

    for (int h = 0; h < HOURS; h++)
        sum += f->hours[h] = exp(kappa * cos((h - peak) / HOURS * 2 * M_PI));
    for (int h = 0; h < HOURS; h++)
        f->hours[h] *= HOURS / sum;
    for (int d = 0; d < 7; d++)
        f->weekdays[d] = (d < 5 ? 1 : weekend) * 7 / (5 + 2 * weekend);
}

static void post(struct feed *f, int64_t at)
{
    if (at >= START + opt.days * (int64_t)DAY)
        return;
    f->posts = mem_grow(f->posts, &f->cap, (size_t)f->n_posts + 1, sizeof *f->posts);
    f->posts[f->n_posts++] = at;
}

static int64_t since_monday(int64_t at)
{
    return at - START + 700 * (int64_t)DAY;
}

static int weekday(int64_t at)
{
    return (int)(since_monday(at) / DAY % 7);
}

static double rate_at(const struct feed *f, int64_t at)
{
    return f->rate * (at >= f->changes_at ? f->change : 1) * f->hours[since_monday(at) % DAY / 3600] *
           f->weekdays[weekday(at)];
}

static int later(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* One event in eight brings a burst: each entry is followed by a further one with 2 of 3 chances, after
 * some minutes. So an event brings 1.25 entries. */
static void make_posts(struct feed *f)
{
    for (int64_t hour = START - 60 * (int64_t)DAY; hour < START + opt.days * (int64_t)DAY; hour += 3600) {
        double left = rate_at(f, hour) / HOURS / 1.25, t = 0;

        while (left > 0 && (t += -log(uniform()) / left) < 1) {
            int64_t at = hour + (int64_t)(t * 3600);

            post(f, at);
            if (uniform() < 0.125)
                do
                    post(f, at += 1 + (int64_t)(-log(uniform()) * 400));
                while (uniform() < 2.0 / 3 - 0.17);
        }
    }
    if (f->n_posts > 0)
        qsort(f->posts, (size_t)f->n_posts, sizeof *f->posts, later);
}

static void make_feed(struct feed *f)
{
    static const int shown[] = {8, 10, 10, 10, 15, 15, 20, 20, 25, 25, 30, 50, 100};
    double u;

    memset(f, 0, sizeof *f);
    do
        f->rate = exp(-0.9 + 2.84 * normal());
    while (f->rate < 0.001 || f->rate > 140);
    make_rhythm(f);
    f->shown = shown[roll() % (sizeof shown / sizeof *shown)];
    f->first_at = START + (int64_t)(uniform() * FIRST_WITHIN);
    u = uniform();
    f->changes_at = START + (int64_t)(uniform() * opt.days * DAY);
    f->change = u < 0.02 ? 0 : u < 0.04 ? 4 : u < 0.06 ? 0.25 : 1; /* some die, some change */
    u = uniform();
    f->dates = u < 0.02 ? DATES_NONE : u < 0.05 ? DATES_MIDNIGHT : DATES_RIGHT;
    make_posts(f);
}

/* ---- what a policy came to ------------------------------------------------------------------- */

#define LAGS 1500 /* classes of lags, a minute each */

struct tally {
    int64_t n_fetches, n_wasted, n_captured, n_missed;
    double lag;
    int64_t lags[LAGS];
};

/* What is known of a feed while it is polled. */
struct view {
    const struct feed *f;
    int i; /* posts before it are known or lost */
    int n_new, n_shown;
    int64_t at, before_at;
    double state; /* of the policy */
    int n_polls;
};

static void look(struct view *v, int64_t at, struct tally *t)
{
    const struct feed *f = v->f;
    int from = v->i;

    v->before_at = v->at;
    v->at = at;
    while (v->i < f->n_posts && f->posts[v->i] <= at)
        v->i++;
    v->n_shown = v->i < f->shown ? v->i : f->shown;
    v->n_new = v->i - from < f->shown ? v->i - from : f->shown;
    v->n_polls++;
    t->n_fetches++;
    if (v->n_polls == 1)
        return;
    t->n_wasted += v->n_new == 0;
    t->n_captured += v->n_new;
    t->n_missed += v->i - from - v->n_new;
    for (int k = v->i - v->n_new; k < v->i; k++) {
        int64_t lag = at - f->posts[k];

        t->lag += (double)lag;
        t->lags[lag / 60 < LAGS ? lag / 60 : LAGS - 1]++;
    }
}

/* ---- peers ----------------------------------------------------------------------------------- */

typedef double interval_fn(struct view *v); /* seconds, before the factor */

static double fixed(struct view *v)
{
    (void)v;
    return 3600;
}

/* entry_frequency: a week divided by the entries of the last week. */
static double miniflux(struct view *v)
{
    int k = (int)v->state, n;

    while (k < v->i && v->f->posts[k] <= v->at - 7 * DAY)
        k++;
    v->state = k;
    n = v->i - k;
    return n > 0 ? 7.0 * DAY / n : 1e9;
}

/* Half the mean interval of the document's entries; after 7, 14, 30 silent days a quarter, a half, all of
 * the longest one. */
static double commafeed(struct view *v)
{
    const int64_t *posts = v->f->posts;
    int64_t silent = v->i > 0 ? v->at - posts[v->i - 1] : 365 * (int64_t)DAY;
    int n = v->n_shown;

    if (silent >= 30 * (int64_t)DAY || n < 2)
        return DAY;
    if (silent >= 14 * (int64_t)DAY)
        return DAY / 2.0;
    if (silent >= 7 * (int64_t)DAY)
        return DAY / 4.0;
    return (double)(posts[v->i - 1] - posts[v->i - n]) / (n - 1) / 2;
}

/* The interval grows when two thirds of the document were known, and shrinks when less than one third was. */
static double mediacloud(struct view *v)
{
    double known = v->n_shown > 0 ? 1 - (double)v->n_new / v->n_shown : 1;
    bool lately = v->i > 0 && v->at - v->f->posts[v->i - 1] < 7 * DAY;

    if (v->n_polls == 1)
        v->state = 6 * 3600;
    else if (known >= 0.67)
        v->state += lately ? 600 : 3600;
    else if (known < 0.33)
        v->state = v->state > 6 * 3600 ? 6 * 3600 : v->state - 600;
    v->state = v->state < 600 ? 600 : v->state > DAY ? DAY : v->state;
    return v->state;
}

static double bounded(double s)
{
    return s < FLOOR ? FLOOR : s > CEILING ? CEILING : s;
}

static void run_peer(interval_fn *fn, double by, int step, struct tally *t)
{
    int64_t end = START + opt.days * (int64_t)DAY;

    memset(t, 0, sizeof *t);
    for (int i = 0; i < opt.n_feeds; i += step) {
        struct view v = {.f = &feeds[i]};

        for (int64_t at = v.f->first_at; at < end; at += (int64_t)bounded(by * fn(&v)))
            look(&v, at, t);
    }
}

static double budget_of(int step)
{
    return (double)opt.per_feed * opt.days * ((opt.n_feeds + step - 1) / step);
}

static void fit_peer(interval_fn *fn, struct tally *t)
{
    double lo = 1e-4, hi = 1e4, by = 1;
    int coarse = opt.n_feeds > 2000 ? opt.n_feeds / 1000 : 1;

    for (int k = 0; k < 26; k++) {
        int step = k < 18 ? coarse : 1;

        if (k == 18) { /* the sample was near */
            lo = by / 1.2;
            hi = by * 1.2;
        }
        by = sqrt(lo * hi);
        run_peer(fn, by, step, t);
        if ((double)t->n_fetches > budget_of(step))
            lo = by;
        else
            hi = by;
    }
}

/* ---- the optimum ----------------------------------------------------------------------------- */

/* Fetches on one day: its weekday and what the feed has changed to by noon are known. */
static double of_day(const struct feed *f, int day, double per_root)
{
    int64_t noon = START + day * (int64_t)DAY + DAY / 2;
    double rate = f->rate * (noon >= f->changes_at ? f->change : 1) * f->weekdays[weekday(noon)];
    double m = per_root * sqrt(rate);

    return m < 1 ? 1 : m > BINS ? BINS : m;
}

static double of_optimum(double per_root)
{
    double n = 0;

    for (int i = 0; i < opt.n_feeds; i++)
        for (int d = 0; d < opt.days; d++)
            n += of_day(&feeds[i], d, per_root);
    return n;
}

/* Entries from midnight to bin b of an average day, with parts of bins. */
static double posted(const double *upto, double b)
{
    double day = floor(b / BINS), in = b - day * BINS;
    int k = (int)in;

    return day * upto[BINS] + upto[k] + (upto[k + 1] - upto[k]) * (in - k);
}

/* Put each point where it is best between its neighbours: there the rate times the time to the next one
 * equals what came since the one before (Sia and Cho, theorem 2). */
static void improve(const double *upto, double *at, int m)
{
    for (int j = 0; j < m; j++) {
        double before = j > 0 ? at[j - 1] : at[m - 1] - BINS, after = j + 1 < m ? at[j + 1] : at[0] + BINS;
        double best = INFINITY, place = at[j];

        for (int k = 1; k < 12; k++) {
            double x = before + (after - before) * k / 12;
            double cost = (x - after) * (posted(upto, x) - posted(upto, before));

            if (cost < best) {
                best = cost;
                place = x;
            }
        }
        at[j] = place;
    }
}

static int larger(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void plan_day(const struct feed *f, int m, double *at)
{
    double upto[BINS + 1] = {0}, roots[BINS + 1] = {0};
    int k = 0;

    for (int b = 0; b < BINS; b++) {
        upto[b + 1] = upto[b] + f->hours[b / 12] / BINS;
        roots[b + 1] = roots[b] + sqrt(f->hours[b / 12]);
    }
    for (int j = 0; j < m; j++) {
        double want = (j + 0.5) / m * roots[BINS];

        while (k < BINS - 1 && roots[k + 1] < want)
            k++;
        at[j] = k + (want - roots[k]) / (roots[k + 1] - roots[k]);
    }
    if (m <= 24)
        for (int round = 0; round < 30; round++)
            improve(upto, at, m);
    for (int j = 0; j < m; j++)
        at[j] -= floor(at[j] / BINS) * BINS;
    qsort(at, (size_t)m, sizeof *at, larger);
}

/* A day has its number of fetches rounded up or down, by chance but always the same for a feed. */
static void run_planned(const struct feed *f, double per_root, struct tally *t)
{
    struct view v = {.f = f};
    double at[BINS], rest = uniform();
    int m_was = 0;

    look(&v, f->first_at, t);
    for (int d = 0; d < opt.days; d++) {
        int m = (int)(of_day(f, d, per_root) + rest);

        m = m > BINS ? BINS : m;
        if (m != m_was)
            plan_day(f, m, at);
        m_was = m;
        for (int j = 0; j < m; j++) {
            int64_t when = START + d * (int64_t)DAY + (int64_t)(at[j] * 300);

            if (when > v.at)
                look(&v, when, t);
        }
    }
}

static void run_optimum(struct tally *t)
{
    double lo = 1e-6, hi = 1e6;

    for (int k = 0; k < 60; k++) {
        double mid = sqrt(lo * hi);

        if (of_optimum(mid) > (double)opt.per_feed * opt.n_feeds * opt.days)
            hi = mid;
        else
            lo = mid;
    }
    memset(t, 0, sizeof *t);
    for (int i = 0; i < opt.n_feeds; i++)
        run_planned(&feeds[i], lo, t);
}

/* ---- ours, through the command --------------------------------------------------------------- */

struct pipes {
    FILE *in, *out;
    pid_t pid;
};

static void die(const char *why)
{
    fprintf(stderr, "bench_schedule: %s\n", why);
    exit(1);
}

static struct pipes start_ours(void)
{
    int in[2], out[2];
    char budget[32], n[32];
    struct pipes p;

    snprintf(budget, sizeof budget, "%" PRId64, (int64_t)opt.per_feed * opt.n_feeds);
    snprintf(n, sizeof n, "%d", opt.n_feeds);
    if (pipe(in) != 0 || pipe(out) != 0 || (p.pid = fork()) < 0)
        die("no process");
    if (p.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(opt.binary, opt.binary, "schedule-sim", "--budget", budget, "--feeds", n, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p.in = fdopen(in[1], "w");
    p.out = fdopen(out[0], "r");
    return p;
}

static void tell(FILE *to, int i, const struct view *v)
{
    int n = v->n_polls == 1 ? v->n_shown : v->n_new; /* what is known needs no date again */

    fprintf(to, "{\"feed\":%d,\"at\":%" PRId64 ",\"new\":%d,\"shown\":%d,\"dates\":[", i, v->at, v->n_new, v->n_shown);
    for (int k = v->i - 1; k >= v->i - n && v->f->dates != DATES_NONE; k--)
        fprintf(to, "%s%" PRId64, k < v->i - 1 ? "," : "",
                v->f->dates == DATES_MIDNIGHT ? v->f->posts[k] / DAY * DAY : v->f->posts[k]);
    fputs("]}\n", to);
}

static void run_ours(struct tally *t)
{
    struct pipes p = start_ours();
    struct view *views = mem_zalloc(sizeof *views * (size_t)opt.n_feeds);
    int64_t *next = mem_zalloc(sizeof *next * (size_t)opt.n_feeds);
    int *batch = mem_zalloc(sizeof *batch * (size_t)opt.n_feeds);
    int64_t end = START + opt.days * (int64_t)DAY;
    char line[1024];

    memset(t, 0, sizeof *t);
    for (int i = 0; i < opt.n_feeds; i++) {
        views[i].f = &feeds[i];
        next[i] = feeds[i].first_at;
    }
    for (int64_t tick = START; tick < end; tick += FLOOR) {
        int n = 0;

        for (int i = 0; i < opt.n_feeds; i++)
            if (next[i] < tick + FLOOR && next[i] < end) {
                look(&views[i], next[i], t);
                tell(p.in, i, &views[i]);
                batch[n++] = i;
            }
        if (n == 0)
            continue;
        fputs("\n", p.in);
        fflush(p.in);
        for (int k = 0; k < n; k++) {
            const char *at = fgets(line, sizeof line, p.out) != NULL ? strstr(line, "\"next\":") : NULL;

            if (at == NULL)
                die("the command gave no answer");
            next[batch[k]] = strtoll(at + 7, NULL, 10);
        }
    }
    fclose(p.in);
    fclose(p.out);
    waitpid(p.pid, NULL, 0);
    mem_free(views);
    mem_free(next);
    mem_free(batch);
}

/* ---- the table ------------------------------------------------------------------------------- */

static double p95(const struct tally *t)
{
    int64_t n = 0;

    for (int k = 0; k < LAGS; k++)
        if ((double)(n += t->lags[k]) >= 0.95 * (double)t->n_captured)
            return k + 1;
    return LAGS;
}

static double mean_lag(const struct tally *t)
{
    return t->n_captured > 0 ? t->lag / (double)t->n_captured / 60 : 0;
}

static double share(const struct tally *t)
{
    return (double)t->n_captured / (double)(t->n_captured + t->n_missed > 0 ? t->n_captured + t->n_missed : 1);
}

static void print(const char *name, const struct tally *t)
{
    printf("%-12s %10.2f %9.3f %% %8.2f %8.0f %9.1f %%\n", name,
           (double)t->n_fetches / opt.n_feeds / opt.days, 100 * share(t), mean_lag(t), p95(t),
           100 * (double)t->n_wasted / (double)t->n_fetches);
    fflush(stdout);
}

static void number(const char *text, long least, long most, long *out)
{
    char *end;

    *out = strtol(text, &end, 10);
    if (*end != '\0' || *out < least || *out > most)
        die("a number is out of range");
}

static void options(int argc, char **argv)
{
    long n;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--binary") == 0) {
            opt.binary = argv[i + 1];
            continue;
        }
        number(argv[i + 1], 1, 1000000, &n);
        if (strcmp(argv[i], "--feeds") == 0)
            opt.n_feeds = (int)n;
        else if (strcmp(argv[i], "--days") == 0)
            opt.days = (int)n;
        else if (strcmp(argv[i], "--fetches") == 0)
            opt.per_feed = (int)n;
        else if (strcmp(argv[i], "--seed") == 0)
            opt.seed = (uint64_t)n;
        else
            die("an option is not known");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        interval_fn *fn;
    } peers[] = {{"fixed", fixed}, {"Miniflux", miniflux}, {"CommaFeed", commafeed}, {"Media Cloud", mediacloud}};
    double best_lag = INFINITY, best_share = 0;
    struct tally t, ours;
    bool ok;

    options(argc, argv);
    dice = opt.seed * UINT64_C(0x2545f4914f6cdd1d);
    feeds = mem_zalloc(sizeof *feeds * (size_t)opt.n_feeds);
    for (int i = 0; i < opt.n_feeds; i++)
        make_feed(&feeds[i]);
    printf("%d feeds, %d days, %d fetches a feed and day, seed %" PRIu64 "\n\n", opt.n_feeds, opt.days,
           opt.per_feed, opt.seed);
    printf("%-12s %10s %11s %8s %8s %11s\n", "policy", "fetches", "captured", "lag, min", "p95", "wasted");
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        fit_peer(peers[i].fn, &t);
        print(peers[i].name, &t);
        best_lag = mean_lag(&t) < best_lag ? mean_lag(&t) : best_lag;
        best_share = share(&t) > best_share ? share(&t) : best_share;
    }
    run_ours(&ours);
    print("Feedmill", &ours);
    run_optimum(&t);
    print("optimum", &t);
    ok = share(&ours) >= best_share && mean_lag(&ours) <= 1.15 * mean_lag(&t) && mean_lag(&ours) <= 0.9 * best_lag &&
         (double)ours.n_fetches <= 1.01 * budget_of(1);
    printf("\nlag: %.3f of the optimum (at most 1.15), %.3f of the best peer (at most 0.9); captured: %+.3f %% "
           "(at least 0): %s\n\n",
           mean_lag(&ours) / mean_lag(&t), mean_lag(&ours) / best_lag, 100 * (share(&ours) - best_share), ok ? "holds" : "does not hold");
    for (int i = 0; i < opt.n_feeds; i++)
        mem_free(feeds[i].posts);
    mem_free(feeds);
    return ok ? 0 : 1;
}
