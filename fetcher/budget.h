/* fetcher/budget.h - finds the price of a fetch at which the fetches of all feeds together are so many a
 * day as the budget says. Pure.
 *
 * At a price, a feed takes root / sqrt(2 price) fetches a day (fetcher/adapt.h), not fewer than its overlap
 * needs, within floor and ceiling. So the price follows from how many feeds need what. When
 * overlaps alone need more than the budget, each has the same part of what it needs; only the ceiling has to be kept. Feeds are counted in
 * classes of needs, an eighth of an octave each: a feed is one byte or two, and the sums are a table.
 * That is the plan; what fetches really come to differs a little, and is put right by
 * `stretch`.
 */
#pragma once

#include "fetcher/adapt.h"

#define BUDGET_ROOTS 128
#define BUDGET_OVERLAPS 32

struct budget {
    double per_day;  /* fetches a day of all feeds together */
    int64_t n_feeds; /* in all; those that are not counted yet are taken to be as the others */
    int64_t n_counted;
    uint32_t table[BUDGET_OVERLAPS][BUDGET_ROOTS];
    double planned, made; /* of late: fetches that the plan had for the time that passed, and fetches */
    int64_t n_until_price; /* changes until it is computed anew */
    double price;          /* entry-days */
};

void budget_init(struct budget *b, double per_day, int64_t n_feeds);

/* A feed has changed from one class to another; either may be 0. */
need_class budget_class(const struct need *need);
void budget_move(struct budget *b, need_class from, need_class to);

/* Take over what a daemon's directory has counted: how many feeds each class has. Fetches that were
 * noted before still count. */
void budget_take(struct budget *b, double per_day, const uint32_t counts[NEED_CLASSES]);

/* A feed of this class was fetched so long after the fetch before. */
void budget_fetched(struct budget *b, need_class c, int64_t after_s);

/* The price now, in entry-days. */
double budget_price(struct budget *b);
