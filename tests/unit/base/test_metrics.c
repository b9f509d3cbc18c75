/* tests/unit/base/test_metrics.c - OPS-02: histograms, ages, and the text of all metrics. */
#include "tests/unit/cmocka_all.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/metrics.h"
#include "base/process.h"
#include "base/queue.h"

static bool has_line(const struct buf *text, const char *line)
{
    return str_find(buf_view(text), str_from(line)) >= 0;
}

static void test_metrics__buckets_are_cumulative(void **state UNUSED)
{
    struct histogram_series *s = histogram_series(HISTOGRAM_http_request_seconds, "/t", "2xx");
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    histogram_add(s, -5);  /* as 0 */
    histogram_add(s, 100); /* a bound belongs to its bucket */
    histogram_add(s, 101);
    histogram_add(s, 31000000); /* above all bounds */
    assert_int_equal(histogram_count(s), 4);
    histogram_write(&out, "x_", HISTOGRAM_http_request_seconds);
    assert_true(has_line(
        &out, "x_http_request_seconds_bucket{route=\"/t\",class=\"2xx\",le=\"0.0001\"} 2\n"));
    assert_true(has_line(
        &out, "x_http_request_seconds_bucket{route=\"/t\",class=\"2xx\",le=\"0.00025\"} 3\n"));
    assert_true(
        has_line(&out, "x_http_request_seconds_bucket{route=\"/t\",class=\"2xx\",le=\"30\"} 3\n"));
    assert_true(has_line(
        &out, "x_http_request_seconds_bucket{route=\"/t\",class=\"2xx\",le=\"+Inf\"} 4\n"));
    assert_true(
        has_line(&out, "x_http_request_seconds_sum{route=\"/t\",class=\"2xx\"} 31.000201\n"));
    assert_true(has_line(&out, "x_http_request_seconds_count{route=\"/t\",class=\"2xx\"} 4\n"));
}

static void test_metrics__one_series_for_the_same_labels(void **state UNUSED)
{
    struct histogram_series *s = histogram_series(HISTOGRAM_fetch_seconds, "document", NULL);

    assert_ptr_equal(s, histogram_series(HISTOGRAM_fetch_seconds, "document", NULL));
    assert_ptr_not_equal(s, histogram_series(HISTOGRAM_fetch_seconds, "gone", NULL));
    assert_ptr_not_equal(s, histogram_series(HISTOGRAM_publish_to_store_seconds, NULL, NULL));
}

#define THREADS 8
#define TIMES 20000

static void *add_many(void *arg)
{
    for (int i = 0; i < TIMES; i++)
        histogram_add(arg, i);
    return NULL;
}

static void test_metrics__no_time_is_lost_between_threads(void **state UNUSED)
{
    struct histogram_series *s = histogram_series(HISTOGRAM_fetch_seconds, "threads", NULL);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, add_many, s));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(histogram_count(s), THREADS * TIMES);
}

static void test_metrics__age_of_the_oldest_in_a_queue(void **state UNUSED)
{
    struct queue *q = queue_new(4, NULL);
    void *out[4];
    int a, b;

    queue_watch(q, STAT_list_queue_oldest_age_seconds);
    assert_int_equal(queue_try_push(q, &a), RC_OK);
    clock_set_ahead_us(7 * INT64_C(1000000));
    assert_int_equal(queue_try_push(q, &b), RC_OK);
    assert_in_range(stats_age_ms(STAT_list_queue_oldest_age_seconds), 7000, 60000);
    assert_int_equal(queue_pop(q, out, 1, 0), 1);
    assert_in_range(stats_age_ms(STAT_list_queue_oldest_age_seconds), 0, 6999);
    assert_int_equal(queue_pop(q, out, 1, 0), 1);
    clock_set_ahead_us(70 * INT64_C(1000000));
    assert_int_equal(stats_age_ms(STAT_list_queue_oldest_age_seconds), 0);
    queue_done(2);
    queue_free(&q);
    clock_set_ahead_us(0);
}

static void test_metrics__what_lasts_keeps_its_beginning(void **state UNUSED)
{
    stats_lasts(STAT_store_failing_seconds, true);
    clock_set_ahead_us(5 * INT64_C(1000000));
    stats_lasts(STAT_store_failing_seconds, true);
    assert_in_range(stats_age_ms(STAT_store_failing_seconds), 5000, 60000);
    stats_lasts(STAT_store_failing_seconds, false);
    assert_int_equal(stats_age_ms(STAT_store_failing_seconds), 0);
    clock_set_ahead_us(0);
}

/* Each name that is shown is described, and the other way round. */
static void test_metrics__shown_is_described(void **state UNUSED)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY), document = BUF_INIT(BUF_ANY);
    struct str rest, line;
    size_t n_shown = 0, n_described = 0;

    metrics_write(&text);
    metrics_write_markdown(&document);
    for (rest = buf_view(&text); !str_is_null(rest);) {
        line = str_split(&rest, '\n');
        if (!str_starts(line, STR("# TYPE ")))
            continue;
        line = str_slice(line, 7, line.len);
        line = str_slice(line, 0, (size_t)str_chr(line, ' '));
        n_shown++;
        if (str_find(buf_view(&document), line) < 0)
            fail_msg("%.*s is not described", STR_ARG(line));
    }
    for (rest = buf_view(&document); !str_is_null(rest);)
        n_described += str_starts(str_split(&rest, '\n'), STR("| `"));
    assert_int_equal(n_shown, n_described);
    assert_int_equal(n_shown, STAT_COUNT_ + (int)HISTOGRAM_COUNT_ + (int)PROCESS_COUNT_);
}

static void test_metrics__the_process(void **state UNUSED)
{
    double p[PROCESS_COUNT_], now = (double)clock_now_s();

    process_read(p);
    assert_true(p[PROCESS_process_resident_memory_bytes] > 100000);
    assert_true(p[PROCESS_process_virtual_memory_bytes] > p[PROCESS_process_resident_memory_bytes]);
    assert_true(p[PROCESS_process_threads] >= 1);
    assert_true(p[PROCESS_process_max_fds] >= 1);
    assert_true(p[PROCESS_process_cpu_seconds_total] >= 0);
    assert_true(p[PROCESS_process_start_time_seconds] > now - 3600 &&
                p[PROCESS_process_start_time_seconds] < now + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics__buckets_are_cumulative),
        cmocka_unit_test(test_metrics__one_series_for_the_same_labels),
        cmocka_unit_test(test_metrics__no_time_is_lost_between_threads),
        cmocka_unit_test(test_metrics__age_of_the_oldest_in_a_queue),
        cmocka_unit_test(test_metrics__what_lasts_keeps_its_beginning),
        cmocka_unit_test(test_metrics__shown_is_described),
        cmocka_unit_test(test_metrics__the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
