/* base/metrics.c - see metrics.h. What is shown and what is described come from the same loops. */
#include "base/metrics.h"

#include <inttypes.h>

#include "base/histogram.h"
#include "base/process.h"
#include "base/stats.h"

#define PREFIX "feedmill_"

static const char *kind_word(enum stat_kind kind)
{
    return kind == STAT_KIND_COUNTER ? "counter" : "gauge";
}

static void put_head(struct buf *out, const char *prefix, const char *name, const char *kind,
                     const char *meaning)
{
    buf_printf(out, "# HELP %s%s ", prefix, name);
    for (const char *c = meaning; *c != '\0'; c++) /* only these two are escaped in a help text */
        buf_puts(out, *c == '\\' ? "\\\\" : *c == '\n' ? "\\n" : (char[]){*c, '\0'});
    buf_printf(out, "\n# TYPE %s%s %s\n", prefix, name, kind);
}

static void put_stat(struct buf *out, enum stat_id stat)
{
    int64_t n = stats_get(stat);
    const char *name = stats_name(stat);

    put_head(out, PREFIX, name, kind_word(stats_kind(stat)), stats_meaning(stat));
    switch (stats_kind(stat)) {
    case STAT_KIND_AGE:
        n = stats_age_ms(stat);
        /* fall through */
    case STAT_KIND_SECONDS:
        buf_printf(out, PREFIX "%s %.3f\n", name, (double)n / 1000);
        return;
    case STAT_KIND_COUNTER:
    case STAT_KIND_GAUGE:
        buf_printf(out, PREFIX "%s %" PRId64 "\n", name, n);
        return;
    }
}

void metrics_write(struct buf *out)
{
    double process[PROCESS_COUNT_];

    for (int i = 0; i < STAT_COUNT_; i++)
        put_stat(out, (enum stat_id)i);
    for (int i = 0; i < HISTOGRAM_COUNT_; i++) {
        enum histogram_id id = (enum histogram_id)i;

        put_head(out, PREFIX, histogram_name(id), "histogram", histogram_meaning(id));
        histogram_write(out, PREFIX, id);
    }
    process_read(process);
    for (int i = 0; i < PROCESS_COUNT_; i++) {
        enum process_id id = (enum process_id)i;

        put_head(out, "", process_name(id), kind_word(process_kind(id)), process_meaning(id));
        buf_printf(out, "%s %.15g\n", process_name(id), process[i]);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static void describe(struct buf *out, const char *prefix, const char *name, const char *labels,
                     const char *kind, const char *meaning)
{
    buf_printf(out, "| `%s%s%s` | %s | %s |\n", prefix, name, labels, kind, meaning);
}

static void describe_histogram(struct buf *out, enum histogram_id id)
{
    const char *label = histogram_label(id, 0), *label2 = histogram_label(id, 1);
    AUTO(buf_release) struct buf labels = BUF_INIT(BUF_ANY);

    buf_printf(&labels, "%s%s%s%s%s", label[0] == '\0' ? "" : "{", label,
               label2[0] == '\0' ? "" : ",", label2, label[0] == '\0' ? "" : "}");
    describe(out, PREFIX, histogram_name(id), labels.len > 0 ? buf_view(&labels).ptr : "",
             "histogram", histogram_meaning(id));
}

void metrics_write_markdown(struct buf *out)
{
    buf_puts(out, "# Metrics\n\nServed at `/metrics` in the Prometheus text format.\n\n"
                  "| name | kind | meaning |\n| --- | --- | --- |\n");
    for (int i = 0; i < STAT_COUNT_; i++) {
        enum stat_id stat = (enum stat_id)i;

        describe(out, PREFIX, stats_name(stat), "", kind_word(stats_kind(stat)),
                 stats_meaning(stat));
    }
    for (int i = 0; i < HISTOGRAM_COUNT_; i++)
        describe_histogram(out, (enum histogram_id)i);
    for (int i = 0; i < PROCESS_COUNT_; i++) {
        enum process_id id = (enum process_id)i;

        describe(out, "", process_name(id), "", kind_word(process_kind(id)), process_meaning(id));
    }
}
