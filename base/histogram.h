/* base/histogram.h - distributions of times, as base/histograms.def lists them. Any thread.
 *
 * A histogram has a series for each combination of its labels. Adding to a series takes two relaxed
 * atomic additions, to memory that few other threads write: some nanoseconds. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum histogram_id {
#define HISTOGRAM(name, buckets, label, label2, meaning) HISTOGRAM_##name,
#include "base/histograms.def"
    HISTOGRAM_COUNT_
};

#define HISTOGRAM_BOUNDS 18

struct histogram_series; /* lives as long as the process */

/* The series with these values of the labels (NULL: the histogram has no such label). It is made if
 * it does not exist. The values are copied; they may not contain quotes or backslashes. It takes a
 * lock, so keep the result where it is needed often. */
struct histogram_series *histogram_series(enum histogram_id id, const char *value,
                                          const char *value2);

/* Add one time in microseconds; what is below 0 counts as 0. */
void histogram_add(struct histogram_series *s, int64_t us);

/* How many times were added. */
int64_t histogram_count(const struct histogram_series *s);

/* Write all series of a histogram in the text format of Prometheus, each name with `prefix`. */
void histogram_write(struct buf *out, const char *prefix, enum histogram_id id);

/* The columns of base/histograms.def, for the documentation. */
const char *histogram_name(enum histogram_id id);
const char *histogram_label(enum histogram_id id, int n); /* n 0 or 1; "": there is none */
const char *histogram_meaning(enum histogram_id id);
