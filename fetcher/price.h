/* fetcher/price.h - with a budget, what a fetch of a feed of level 1 costs now (fetcher/adapt.h): it
 * follows from the budget, and from the needs of all feeds as the directory has counted them
 * (fetcher/budget.h). Each of several nodes knows all feeds, so their prices are nearly the same.
 *
 * Both functions run on the fetch loop.
 */
#pragma once

struct fetcher;
struct job;

/* Set f->rules.price if there is a budget, and the price that is there is older than a minute, or many
 * feeds came or left. */
void price_renew(struct fetcher *f);

/* A fetch has ended. What all fetches come to is compared with the plan. */
void price_note(struct fetcher *f, const struct job *job);
