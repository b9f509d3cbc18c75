/* fetcher/adapt.h - learns from the fetches of a feed, and decides how long the feed rests. Pure.
 *
 * An entry waits from its posting to the next fetch. If r entries come a day and a fetch costs as much
 * as `price` entries that wait for a day, a period T with r T^2 / 2 = price costs least. So the period
 * goes with 1 / sqrt(r), as in Sia and Cho, "Efficient Monitoring Algorithm for Fast News Alerts" (2007).
 * Here the rate changes with the hour and the day, so the feed is fetched when the entries that
 * are expected since the last fetch would have waited that much together. The price is the same for
 * all feeds; fetcher/budget.h finds it.
 *
 * A document holds only so many entries. It is fetched before too large a part of it is new, and
 * sooner still after it was all new.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "model/pace.h"

#define ADAPT_FLOOR_S 300
#define ADAPT_CEILING_S 86400
#define ADAPT_USUAL_RATE 10.0 /* entries a day: without a budget, who posts them has the period of level 1 */

/* One fetch. */
struct sight {
    int64_t at;          /* Unix seconds */
    int64_t n_new;       /* entries that were not known; of a first fetch, it is not looked at */
    int64_t n_shown;     /* entries of the document; 0: it was not read, as after 304 */
    const int64_t *dates; /* of the document's entries in any order, Unix seconds; may be fewer, or wrong */
    size_t n_dates;
};

void adapt_learn(struct pace *p, const struct sight *s);

/* Is it known how the feed posts? Before it was fetched a few times, or has shown entries enough of
 * late, or for weeks, what is there is little more than a guess. */
bool adapt_knows(const struct pace *p);

/* What a feed needs, whatever the price: budget.h sums it up. */
struct need {
    double root;    /* mean of the square root of the rate, per sqrt(day) */
    double overlap; /* fetches a day so that no entry is lost */
};
struct need adapt_need(const struct pace *p);

/* The price at which a feed takes so many fetches a day. */
double adapt_price_of(const struct need *need, double per_day);

/* The part of the fetches that overlaps need which there is at a price. 1, unless the price is so high
 * that feeds are fetched for nothing else any more. */
double adapt_overlap_part(double price);

/* Decide the period from p->seen_at on: sets p->period_s and p->why. `price` in entry-days, more
 * than 0. */
void adapt_decide(struct pace *p, double price);
