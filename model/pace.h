/* model/pace.h - what a feed's posting has taught: how many entries come, at which hours and on which days,
 * how long the feed rests between fetches, and why. Plain data, pure; any thread.
 *
 * It is a few numbers, whatever the feed posts, and the feed's row keeps them as a text of at most
 * PACE_TEXT_MAX bytes. fetcher/adapt.h computes it; the API shows it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define PACE_HOURS 24
#define PACE_WEEKDAYS 7 /* the first one is Monday */
#define PACE_TEXT_MAX 512
#define PACE_RECENT_DAYS 1.5

/* How many fetches a feed needs, as a class of fetcher/budget.h; 0: it is not counted. */
typedef uint16_t need_class;
#define NEED_CLASSES 4097

enum pace_why {
    PACE_NEW,     /* nothing is known of its entries yet */
    PACE_RATE,    /* the rate, with the rhythm of the hour */
    PACE_OVERLAP, /* else its document would lose entries before they are seen */
    PACE_FLOOR,
    PACE_CEILING,
    PACE_SCARCE, /* its document will lose entries, but the budget has no more */
    PACE_WHY_COUNT_
};

struct pace {
    int64_t seen_at;    /* the last fetch that it knows of, Unix seconds; TIME_UNKNOWN: none */
    int64_t n_fetches;  /* it knows of */
    int64_t period_s;   /* decided then */
    enum pace_why why;
    double count, days; /* entries, and the days in which they came; what is old counts less */
    double silent;      /* days since the last entry; an hour that brings more counts more */
    double recent;      /* entries, of which one of PACE_RECENT_DAYS ago counts 1 / e */
    double shown;       /* entries of a document */
    double most_new;    /* part of a document that may be new: less after one that was all new */
    double hours[PACE_HOURS], weekdays[PACE_WEEKDAYS]; /* entries of each in UTC, fewer than in `count` */
};

#define PACE_INIT ((struct pace){.seen_at = INT64_MIN, .most_new = 1})

/* Entries a day; 0: nothing is known. A long silence, or many entries of late, tell
 * more than what was before them. */
double pace_rate(const struct pace *p);

/* A feed of which nothing is known counts as one that had so many entries in so many days. It is
 * little, so a few days of watching outweigh it. */
#define PACE_PRIOR_COUNT 0.25
#define PACE_PRIOR_DAYS 0.5

/* Is the rate more than that guess? It is once an entry has come, or nothing for a day. */
bool pace_has_rate(const struct pace *p);

/* "It posts about 4.2 entries a day, so it is fetched every 40 minutes." Arena. */
struct str pace_words(struct arena *a, const struct pace *p);

/* The text of a row, and back. False: it is null or not such a text; *out is PACE_INIT then. */
struct str pace_write(struct arena *a, const struct pace *p);
bool pace_read(struct str text, struct pace *out);
