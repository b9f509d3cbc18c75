/* fetcher/budget.c - see budget.h. */
#include "fetcher/budget.h"

#include <math.h>
#include <string.h>

#define PER_OCTAVE 8.0
#define ROOT_MIN 0.0078125     /* 2^-7: of a feed with an entry in 45 years */
#define OVERLAP_MIN 1.0        /* fewer are what the ceiling brings anyway */
#define OVERLAP_PER_OCTAVE 3.0
#define MOST_A_DAY (86400.0 / ADAPT_FLOOR_S)
#define LEAST_A_DAY (86400.0 / ADAPT_CEILING_S)
#define REMEMBERED 20000.0 /* fetches, for `stretch` */
#define STEPS 40
#define PRICE_LEAST 5e-13 /* with it, the rarest feed has the floor */
#define PRICE_MOST 1e12   /* with it, all have the ceiling, whatever their overlap needs */

void budget_init(struct budget *b, double per_day, int64_t n_feeds)
{
    memset(b, 0, sizeof *b);
    b->per_day = per_day;
    b->n_feeds = n_feeds;
}

void budget_take(struct budget *b, double per_day, const uint32_t counts[NEED_CLASSES])
{
    _Static_assert(NEED_CLASSES == BUDGET_ROOTS * BUDGET_OVERLAPS + 1, "0 is not a class");
    memcpy(b->table, counts + 1, sizeof b->table);
    b->per_day = per_day;
    b->n_feeds = b->n_counted = 0;
    for (size_t i = 1; i < NEED_CLASSES; i++)
        b->n_counted += counts[i];
    b->n_until_price = 0;
}

static int step_of(double x, double least, double per_octave, int n)
{
    double step = x > least ? log2(x / least) * per_octave + 0.5 : 0;

    return step < n - 1 ? (int)step : n - 1;
}

need_class budget_class(const struct need *need)
{
    int root = step_of(need->root, ROOT_MIN, PER_OCTAVE, BUDGET_ROOTS);
    int overlap = step_of(need->overlap, OVERLAP_MIN, OVERLAP_PER_OCTAVE, BUDGET_OVERLAPS);

    return (need_class)(1 + root + overlap * BUDGET_ROOTS);
}

void budget_move(struct budget *b, need_class from, need_class to)
{
    uint32_t *table = &b->table[0][0];

    if (from == to)
        return;
    if (from != 0 && table[from - 1] > 0) {
        table[from - 1]--;
        b->n_counted--;
    }
    if (to != 0) {
        table[to - 1]++;
        b->n_counted++;
    }
    b->n_until_price--;
}

static double of_feed(int overlap, int root, double price)
{
    double least = overlap > 0 ? OVERLAP_MIN * exp2(overlap / OVERLAP_PER_OCTAVE) : LEAST_A_DAY;
    double n = ROOT_MIN * exp2(root / PER_OCTAVE) / sqrt(2 * price);

    least *= adapt_overlap_part(price);
    n = n > least ? n : least;
    return n < LEAST_A_DAY ? LEAST_A_DAY : n < MOST_A_DAY ? n : MOST_A_DAY;
}

static double of_all(const struct budget *b, double price)
{
    double n = 0;

    for (int o = 0; o < BUDGET_OVERLAPS; o++)
        for (int r = 0; r < BUDGET_ROOTS; r++)
            if (b->table[o][r] > 0)
                n += b->table[o][r] * of_feed(o, r, price);
    return n;
}

static double stretch(const struct budget *b)
{
    double s = b->made > 1000 ? b->planned / b->made : 1;

    return s < 0.5 ? 0.5 : s > 2 ? 2 : s;
}

static double find_price(const struct budget *b)
{
    double lo = PRICE_LEAST, hi = PRICE_MOST, n_all = b->n_feeds > b->n_counted ? (double)b->n_feeds : (double)b->n_counted;
    double wanted = b->per_day * stretch(b) * (n_all > 0 ? (double)b->n_counted / n_all : 1);

    for (int i = 0; i < STEPS; i++) { /* the higher it is, the fewer fetches */
        double mid = sqrt(lo * hi);

        if (of_all(b, mid) < wanted)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

double budget_price(struct budget *b)
{
    if (b->n_until_price <= 0 || b->price <= 0) {
        b->price = find_price(b);
        b->n_until_price = b->n_counted / 50;
    }
    return b->price;
}

void budget_fetched(struct budget *b, need_class c, int64_t after_s)
{
    double kept = 1 - 1 / REMEMBERED;

    b->n_until_price--;
    if (c == 0 || after_s <= 0 || b->price <= 0)
        return;
    b->planned = b->planned * kept + of_feed((c - 1) / BUDGET_ROOTS, (c - 1) % BUDGET_ROOTS, b->price) *
                                         (double)after_s / 86400;
    b->made = b->made * kept + 1;
}
