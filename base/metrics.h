/* base/metrics.h - all metrics as text: base/stats.def, base/histograms.def and base/process.def.
 * Any thread. */
#pragma once

#include "base/buf.h"

/* Write all metrics with their present values in the text format of Prometheus (version 0.0.4). */
void metrics_write(struct buf *out);

/* Write the document that describes them, docs/metrics.md. */
void metrics_write_markdown(struct buf *out);
